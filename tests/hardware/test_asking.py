"""Query the machine through a process: there is an answer whatever becomes of the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE_S
from plan_strategies import machines

from gpu_studio.hardware import InventoryError, inventory, parse_inventory
from gpu_studio.hardware.asking import WITH_USERS
from gpu_studio.hardware.probe import known_here
from gpu_studio.hardware.source import SIMULATE
from gpu_studio.plan import Card, Machine


def facts_of(code: str, timeout: float = PATIENCE_S) -> Machine:
    """The inventory, where the process that asks runs this code."""
    return inventory(timeout, (sys.executable, "-c", code))


def test_that_this_machine_is_told():
    machine = inventory(PATIENCE_S)

    assert machine.cpu_cores == len(os.sched_getaffinity(0))
    assert machine.memory_mib > 0
    assert bool(machine.cards) != bool(machine.why_no_cards)


def test_that_the_process_prints_one_line_of_json_and_nothing_else():
    done = subprocess.run(
        [sys.executable, "-m", "gpu_studio.hardware"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )

    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1
    keys = {"cards", "cpu_cores", "cpu_name", "memory_mib", "why_no_cards", "simulated", "practice"}
    assert set(json.loads(done.stdout)) == keys


def test_that_who_uses_a_card_is_told_only_where_it_is_asked(monkeypatch):
    monkeypatch.setenv(SIMULATE, "2xH100")
    assert [card.users for card in inventory(PATIENCE_S).cards] == [(), ()]
    first, second = inventory(PATIENCE_S, command=WITH_USERS).cards
    assert [(user.command, user.user) for user in first.users] == [("python train.py", "ada")]
    assert first.users[0].used_mib <= first.total_mib
    assert second.users[0].command == "the run digits"


def test_that_this_host_knows_its_own_processes_and_no_others():
    mine = known_here(os.getpid())
    assert mine is not None
    assert "python" in mine.command
    assert known_here(2**22 + 1) is None


def test_that_the_process_starts_without_anything_heavy():
    code = (
        "import sys, gpu_studio.hardware.__main__ as m; m.main(); print(' "
        "'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=True, text=True
    )
    loaded = set(done.stderr.split())

    assert "pynvml" in loaded
    assert loaded.isdisjoint(
        {"numpy", "PySide6", "tensorflow", "keras", "msgspec", "psutil", "gpu_studio.plan"}
    )


def test_that_a_process_that_hangs_is_given_up():
    machine = facts_of("import signal; signal.pause()", timeout=0.2)

    assert machine.cards == ()
    assert machine.why_no_cards == "the NVIDIA driver did not answer within 0.2 s"
    assert machine.cpu_cores == len(os.sched_getaffinity(0))


def test_that_a_process_that_crashes_is_told():
    machine = facts_of("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")

    assert machine.why_no_cards == "asking the NVIDIA driver ended in a crash (SIGSEGV)"
    assert machine.memory_mib > 0


def test_that_a_process_that_fails_is_told_with_its_last_words():
    assert (
        facts_of("raise SystemExit('first\\nno luck')").why_no_cards
        == "asking the NVIDIA driver failed (no luck)"
    )
    assert (
        facts_of("raise SystemExit(3)").why_no_cards
        == "asking the NVIDIA driver failed (exit code 3)"
    )


@pytest.mark.parametrize(
    "code", ["", "print('nonsense')", "print('[]')", "print('{\"cards\": 3}')"]
)
def test_that_an_answer_that_is_none_is_told(code):
    assert facts_of(code).why_no_cards.startswith("asking the NVIDIA driver failed (the answer is ")


def test_that_a_process_that_cannot_be_started_is_told():
    why = inventory(1.0, ("/nowhere/python",)).why_no_cards

    assert why == (
        "the process that asks the NVIDIA driver could not be started (No such file or directory)"
    )


def test_that_a_driver_that_chatters_is_still_understood():
    assert parse_inventory('NVRM: hello\n{"cpu_cores": 8}\n') == Machine(cpu_cores=8)


def test_that_a_card_is_read_with_everything_that_is_known_of_it():
    text = """{"cards": [{"index": 0, "uuid": "GPU-1", "name": "Card", "bus_id": "0000:01:00.0",
        "total_mib": 8192, "used_mib": 1, "reserved_mib": 2}],
        "cpu_cores": 4, "memory_mib": 16000, "something_newer": true}"""

    assert parse_inventory(text.replace("\n", "")) == Machine(
        (Card(0, "GPU-1", "Card", "0000:01:00.0", 8192, 1, 2),), 4, 16_000
    )


@given(machines())
def test_that_what_is_printed_is_what_is_read(machine):
    assert parse_inventory(json.dumps(asdict(machine))) == machine


JSON_VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(
    st.text()
    | JSON_VALUES.map(json.dumps)
    | st.builds('{{"cards": {}}}'.format, JSON_VALUES.map(json.dumps))
)
def test_that_any_text_is_an_inventory_or_refused_as_none(text):
    with suppress(InventoryError):
        assert isinstance(parse_inventory(text), Machine)
