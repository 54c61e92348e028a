"""The largest batch of each device: predicted, proven by a stand-in for TensorFlow, and told."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import fake_proof_asker
import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS

from gpu_studio.lab.largest_batch import LargestBatch
from gpu_studio.plan import AbsolutePlan, Machine, loads, with_absolute_files
from gpu_studio.runs.batch_search import BatchSearchError, ProofAsking, largest_batches
from gpu_studio.runs.questions.ask import AskCancelledError

PLAN = """
version = 1
name = "digits"
[model]
name = "mlp"
[data]
name = "digits"
options = { samples = 600 }
[training]
batch_size = 32
"""
Search = Callable[..., tuple[LargestBatch, ...]]


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[], list[str]]:
    """What was asked to be proven, one after the other."""

    def lines() -> list[str]:
        written = (tmp_path / "asked").read_text().splitlines()
        return [each.removeprefix("proof ") for each in written if each.startswith("proof ")]

    return lines


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def searched(tmp_path, monkeypatch, said) -> Search:
    """Search with a stand-in whose memory holds a batch of so many."""
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "asked"))

    def search(
        holds: int,
        machine: Machine = TWO_CARDS,
        more: str = "",
        flags: Sequence[str] = (),
        cancel: threading.Event | None = None,
    ) -> tuple[LargestBatch, ...]:
        monkeypatch.setenv("FAKE_LARGEST", str(holds))
        plan: AbsolutePlan = with_absolute_files(loads(PLAN + more), tmp_path)
        command = [sys.executable, fake_proof_asker.__file__, *flags]
        return largest_batches(plan, tmp_path, machine, ProofAsking(said.append, cancel, command))

    return search


def test_that_the_largest_of_a_card_runs_and_the_next_size_up_is_tried_and_does_not(
    searched, asked
):
    (found,) = searched(100)
    assert (found.devices, found.like) == (("GPU:0",), ("GPU:1",))
    assert (found.batch, found.above) == (96, 112)
    assert found.why_not == "it found no memory when it was tried, with an eighth kept back"
    assert found.held == 96 << 10
    assert "96 on GPU:0 host False kept 8" in asked()
    assert "112 on GPU:0 host False kept 8" in asked()


def test_that_nothing_is_said_to_be_kept_back_where_no_limit_was_known(searched, asked):
    (found,) = searched(100, flags=("unlimited",))
    assert (found.above, found.why_not) == (112, "it found no memory when it was tried")


def test_that_a_batch_that_was_predicted_to_fit_and_did_not_is_told(searched, said):
    (found,) = searched(500)
    assert (found.batch, found.above) == (448, 512)
    assert 600 in found.failed
    assert any("a batch of 600 does not run: Out of memory on GPU:0." in each for each in said)


def test_that_a_process_which_is_ended_for_want_of_memory_is_a_failed_proof(searched, said):
    (found,) = searched(500, flags=("crash",))
    assert found.batch == 448
    assert any("does not run: TensorFlow crashed" in each for each in said)


def test_that_no_more_than_all_samples_are_trained_with_at_once(searched, asked):
    (found,) = searched(10_000)
    assert (found.batch, found.above) == (600, 0)
    assert found.why_not == "there are no more samples to train with"
    assert asked() == ["600 on GPU:0 host False kept 8"]


def test_that_a_cpu_has_no_more_tried_than_is_predicted_to_fit(searched, asked, monkeypatch):
    class Memory:
        available = 1 << 30

    monkeypatch.setattr("psutil.virtual_memory", Memory)
    (found,) = searched(10_000, WITHOUT_CARDS)
    assert found.batch == 600
    Memory.available = 100
    (none,) = searched(10_000, WITHOUT_CARDS)
    assert (none.batch, none.above) == (0, 1)
    assert "is predicted to need" in none.why_not
    assert asked() == ["600 on CPU:0 host True kept 8"]


def test_that_a_model_of_which_nothing_is_predicted_begins_with_the_plans_own_batch(
    searched, asked, monkeypatch
):
    monkeypatch.setattr("gpu_studio.runs.batch_search.predict", lambda *_: ())
    (on_card,) = searched(100)
    assert (on_card.batch, on_card.above, asked()[0]) == (96, 112, "32 on GPU:0 host False kept 8")
    (on_cpu,) = searched(100, WITHOUT_CARDS)
    assert (on_cpu.batch, on_cpu.above) == (32, 40)
    assert "is not known" in on_cpu.why_not


def test_that_a_mirrored_plan_is_searched_as_it_is_and_each_kind_of_device_alone(searched, asked):
    larger = replace(TWO_CARDS.cards[1], total_mib=49_152)
    other = replace(TWO_CARDS, cards=(TWO_CARDS.cards[0], larger))
    found = searched(100, other, '[distribution]\nstrategy = "mirrored"\n')
    assert [each.devices for each in found] == [("GPU:0", "GPU:1"), ("GPU:0",), ("GPU:1",)]
    assert [each.batch for each in found] == [96, 96, 96]
    assert all(int(line.split()[0]) % 2 == 0 for line in asked() if "GPU:0 GPU:1" in line)


@pytest.mark.parametrize(
    ("machine", "more", "words"),
    [
        (replace(TWO_CARDS, simulated=True), "", "Simulated cards compute nothing"),
        (TWO_CARDS, '[distribution]\nstrategy = "multi_worker"\n', "on this machine only"),
    ],
)
def test_that_what_cannot_be_proven_here_is_refused(searched, machine, more, words):
    with pytest.raises(BatchSearchError, match=words):
        searched(100, machine, more)


def test_that_a_plan_which_cannot_be_trained_says_why_instead_of_stepping_down(searched, asked):
    with pytest.raises(BatchSearchError, match="With a batch of 600: No such loss"):
        searched(100, flags=("refuse",))
    assert len(asked()) == 1


def test_that_it_can_be_cancelled(searched):
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(AskCancelledError):
        searched(100, flags=("hang",), cancel=cancel)
