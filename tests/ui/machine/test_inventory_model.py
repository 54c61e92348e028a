from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS, answering

from gpu_studio.plan import starter
from gpu_studio.ui.machine import live_machine as module
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.readiness import Readiness


def python(program: str) -> tuple[str, ...]:
    return sys.executable, "-S", "-c", program


@pytest.fixture
def ask(qtbot):
    """Ask a process for the inventory, and wait for how it ends."""
    asked: list[Inventory] = []

    def ask_it(*command: str) -> Inventory:
        made = Inventory(command)
        asked.append(made)
        made.refresh()
        qtbot.waitUntil(lambda: not made.looking and (made.machine is not None or made.error != ""))
        return made

    yield ask_it
    for made in asked:
        made.close()


@pytest.mark.parametrize("machine", [WITHOUT_CARDS, TWO_CARDS], ids=["no card", "two cards"])
def test_that_the_answer_of_the_process_is_the_machine(ask, machine) -> None:
    found = ask(*answering(machine))
    assert found.machine == machine
    assert found.error == ""


def test_that_the_real_process_knows_this_machine(ask) -> None:
    found = ask(*module.COMMAND)
    assert found.machine is not None
    assert 1 <= found.machine.cpu_cores <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (python("print('no inventory')"), "cannot be read"),
        (python("import os; os.abort()"), "crash"),
        (python("import sys; sys.exit('the driver is upset')"), "the driver is upset"),
        (python("raise SystemExit(3)"), "exit code 3"),
        (("/nowhere/at-all",), "could not be started"),
    ],
    ids=["nonsense", "crash", "message", "exit code", "missing"],
)
def test_that_a_failure_is_said_in_words(ask, command: tuple[str, ...], words: str) -> None:
    found = ask(*command)
    assert found.machine is None
    assert words in found.error


def test_that_a_process_that_hangs_is_ended_and_told(ask, monkeypatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_MS", 100)
    found = ask(*python("import signal; signal.pause()"))
    assert "did not answer" in found.error


def test_that_what_was_known_stays_when_a_later_look_fails(ask, qtbot, tmp_path) -> None:
    once = tmp_path / "once"
    program = f"import os; os.mkdir({str(once)!r}); print({answering(TWO_CARDS)[-1]!r})"
    found = ask(*python(program))
    found.refresh()
    qtbot.waitUntil(lambda: not found.looking and bool(found.error))
    assert found.machine == TWO_CARDS


def test_that_closing_while_it_looks_leaves_no_process(qtbot) -> None:
    asked = Inventory(python("import signal; signal.pause()"))
    asked.refresh()
    qtbot.waitUntil(lambda: asked.process.processId() > 0)
    asked.close()
    assert not asked.looking


def test_that_a_machine_that_cannot_be_asked_still_trains_on_its_cpu(ask) -> None:
    document = PlanDocument()
    readiness = Readiness(document, ask(*python("raise SystemExit(3)")))
    assert readiness.machine is not None
    assert readiness.machine.cards == ()

    document.begin(starter(readiness.machine))
    assert readiness.why_not == ""


def test_that_a_plan_waits_for_the_machine(qtbot) -> None:

    document = PlanDocument()
    inventory = Inventory(answering(WITHOUT_CARDS))
    readiness = Readiness(document, inventory)
    document.begin(starter(WITHOUT_CARDS))
    assert "Looking" in readiness.why_not
    with qtbot.waitSignal(readiness.changed, check_params_cb=lambda: readiness.machine is not None):
        inventory.refresh()
    assert readiness.why_not == ""
    inventory.close()


def test_that_nothing_is_trained_on_simulated_cards(ask) -> None:
    machine = replace(TWO_CARDS, simulated=True)
    document = PlanDocument()
    readiness = Readiness(document, ask(*answering(machine)))
    document.begin(starter(machine))
    assert "simulated" in readiness.why_not
