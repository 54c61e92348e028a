"""A plan that waits long.

It says since when and for whom, lets others pass if asked to, and never waits forever.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS
from real_runs import PLAN

from gpu_studio import hardware
from gpu_studio.cli import given_plan
from gpu_studio.cli.queue_runner import Runner
from gpu_studio.plan import MIB, CardUser
from gpu_studio.runs import queue as queueing
from gpu_studio.runs.queue import Queue
from gpu_studio.runs.results.prediction import Prediction

GIB = 1024 * MIB


@pytest.fixture
def crowded(monkeypatch):
    """A machine whose first card is almost full, and whose second is free."""
    first = TWO_CARDS.cards[0]
    users = (CardUser(4312, 20_480, "python train.py", "anna"),)
    machine = replace(
        TWO_CARDS,
        cards=(replace(first, used_mib=first.usable_mib - 1024, users=users), *TWO_CARDS.cards[1:]),
    )
    monkeypatch.setattr(hardware, "inventory", lambda **_options: machine)
    return machine


def looked_at_once(queue: Queue, machine) -> list[str]:
    """What a runner says that decides once."""
    said: list[str] = []
    Runner(queue.runs, said.append, lambda: machine).step()
    return said


def add(queue: Queue, name: str, needs: int) -> str:
    return queue.add(replace(PLAN, name=name), queue.runs, predicted={"GPU:0": needs}).id


def test_that_the_row_says_since_when_it_waits_and_who_holds_the_memory(gpu_studio, queue, crowded):
    entry = add(queue, "big", 8 * GIB)
    said = looked_at_once(queue, crowded)
    waits = (
        "waits for 8 GiB on GPU 0: 0.3 GiB can be had now; held by python "
        "train.py 4312 of anna (20 GiB)"
    )
    assert said == [f"big {waits}"]
    assert queue.waits()[entry].text == waits
    assert queue.waits()[entry].since >= queue.find(entry).added
    fuller = replace(
        crowded, cards=(replace(crowded.cards[0], used_mib=crowded.cards[0].used_mib + 256),)
    )
    assert looked_at_once(queue, fuller) == []  # it still waits for the same
    assert "< 0.1 GiB can be had now" in queue.waits()[entry].text


def test_that_an_entry_is_told_to_let_others_pass_and_to_keep_its_card(
    gpu_studio, queue, crowded, monkeypatch
):
    monkeypatch.setattr(queueing, "ensure_runner", lambda _runs: None)
    big, small = add(queue, "big", 8 * GIB), add(queue, "small", 2 * GIB)
    looked_at_once(queue, crowded)
    assert queue.waits()[small].text == "waits for its turn on GPU 0, after big"
    assert "lets others pass" in gpu_studio("queue", "let-pass", big).err
    looked_at_once(queue, crowded)
    assert queue.waits()[small].what == "waits for 2 GiB on GPU 0"
    documents = gpu_studio("queue", "list", "--json").document
    assert [each["lets_pass"] for each in documents] == [True, False]
    assert "kept for it" in gpu_studio("queue", "keep", big).err
    assert not queue.find(big).lets_pass


def test_that_a_plan_that_no_card_can_hold_is_refused_with_the_reason_and_held_if_queued_already(
    gpu_studio, queue, crowded, plan_file, monkeypatch
):
    monkeypatch.setattr(queueing, "ensure_runner", lambda _runs: None)
    monkeypatch.setattr(given_plan, "predicted", lambda *_: Prediction(bytes={"GPU:0": 99 * GIB}))
    answer = gpu_studio("queue", "add", plan_file)
    assert answer.code == 2
    assert "needs 99 GiB on GPU 0, which can give 21.4 GiB: it would wait for ever" in answer.err
    assert queue.entries() == ()
    assert gpu_studio("queue", "add", plan_file, "--hold").code == 0
    (held,) = queue.entries()
    entry, behind = add(queue, "big", 99 * GIB), add(queue, "small", 2 * GIB)
    looked_at_once(queue, crowded)
    assert queue.find(entry).held == "needs 99 GiB on GPU 0, which can give 21.4 GiB"
    assert queue.waits().keys() == {behind}
    assert queue.find(held.id).held == "held by hand"
