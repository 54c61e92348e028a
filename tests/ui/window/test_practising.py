"""Practising with cards that are not there, from the window."""

from __future__ import annotations

import threading

import pytest
from made_runs import Script, make_run
from patience import PATIENCE_S
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from gpu_studio.common.practice import (
    CARDS_FILE,
    PRACTICE,
    STATE,
    PracticeCards,
    PracticeError,
    identity,
)
from gpu_studio.hardware import practice
from gpu_studio.runs.results.report.writing import report
from gpu_studio.runs.results.run_figures import figures_of
from gpu_studio.ui.devices.devices_page import WITHOUT_CARDS
from gpu_studio.ui.kit import settings
from gpu_studio.ui.kit.basic_widgets import ActionButton, Paragraph
from gpu_studio.ui.machine.live_machine import COMMAND, Inventory
from gpu_studio.ui.machine.sampler import SamplerClient
from gpu_studio.ui.runs.summary_card import SummaryCard
from gpu_studio.ui.window import practising
from gpu_studio.ui.window.practising import PracticeDialog

pytestmark = pytest.mark.processes
CARDS = PracticeCards(2, 512)


@pytest.fixture
def library(monkeypatch, tmp_path):
    """A library that takes no time to build and is never loaded; no variable stays."""
    for name in practice.environment(CARDS, tmp_path, tmp_path):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / CARDS_FILE).touch()
    monkeypatch.setattr(practice, "build", lambda **_: tmp_path)
    return tmp_path


@pytest.fixture
def window(open_window, library):
    """A window on this very machine."""
    inventory = Inventory(COMMAND)
    inventory.refresh()
    return open_window(inventory=inventory, sampler=SamplerClient())


def asked(window) -> PracticeDialog:
    window.actions_["practise"].trigger()
    return window.findChild(PracticeDialog)


def test_that_cards_are_chosen_by_keys_seen_everywhere_remembered_and_given_back(window, qtbot):
    dialog = asked(window)
    for field, text in ((dialog.count, "2"), (dialog.memory, "512")):
        field.selectAll()
        qtbot.keyClicks(field, text)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(window.inventory.machine.cards) == 2)

    machine = window.inventory.machine
    assert (machine.practice, machine.cards[0].uuid) == ("2 × 512 MiB", identity(0)[0])
    assert all(card.practice for card in machine.cards)
    assert window.page == "devices"
    marked = window.devices_page.marked
    qtbot.waitUntil(lambda: marked.text() == "practice: 2 × 512 MiB")
    assert window.devices_page.stop_practising.isVisible()
    qtbot.waitUntil(lambda: "practice: 2 × 512 MiB" in status(window))
    window.show_page("plan")
    assert "practice: 2 × 512 MiB" in window.plan_page.caption.text()
    window.show_page("devices")
    assert window.settings.get(settings.PRACTICE) == "2x512MiB"
    assert window.readiness.machine.practice

    window.devices_page.stop_practising.click()
    qtbot.waitUntil(lambda: not window.inventory.machine.practice)
    qtbot.waitUntil(lambda: marked.text() == "")
    assert not window.actions_["stop_practising"].isEnabled()
    assert PRACTICE not in practice.os.environ
    assert STATE not in practice.os.environ


def status(window) -> str:
    return " ".join(label.text() for label in window.status_line.findChildren(QLabel))


def test_that_without_a_compiler_the_dialog_says_what_to_install(window, qtbot, monkeypatch):
    def refuses(**_):
        raise PracticeError(practice.NO_COMPILER)

    monkeypatch.setattr(practice, "build", refuses)
    dialog = asked(window)
    dialog.start.click()
    qtbot.waitUntil(lambda: "apt-get install g++" in dialog.words.text())
    assert dialog.start.isEnabled()
    assert not dialog.progress.isVisible()
    assert not window.inventory.machine.practice


def test_that_escape_stops_what_is_being_compiled(window, qtbot, monkeypatch):
    stopped = threading.Event()

    def slow(*, stop):
        while not stop():
            stopped.wait(0.01)
        stopped.set()
        raise PracticeError("stopped")

    monkeypatch.setattr(practice, "build", slow)
    dialog = asked(window)
    dialog.start.click()
    assert dialog.progress.isVisible()
    assert dialog.words.text() == practising.BUILDING
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert stopped.wait(PATIENCE_S)
    assert not window.inventory.machine.practice


def test_that_a_stopped_compiler_leaves_neither_process_nor_file(monkeypatch, tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nsleep 1000\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(PracticeError, match="was stopped"):
        practice.build(tmp_path / "cache", stop=lambda: True)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_that_a_machine_without_a_card_is_offered_practice_cards_in_a_sentence(open_window):
    window = open_window()
    offer = window.plan_page.workspace.editor("Devices").cpu.offer
    assert offer.isVisible()
    assert "practice cards" in offer.findChild(Paragraph).text()
    window.show_page("devices")
    assert "practise with cards that are not there" in WITHOUT_CARDS
    window.devices_page.absence.findChild(ActionButton).click()
    assert window.findChild(PracticeDialog).isVisible()


def test_that_a_run_of_practice_is_marked_and_its_plan_says_where_it_was_made(
    open_window, runs, qtbot
):
    run = make_run(runs, Script(practice="1x4GiB"))
    window = open_window()
    window.run_plans.duplicate(run)
    assert "made in practice, on cards that are not there (1 × 4 GiB)" in window.notice.text
    window.notice.say("")
    window.show_page("runs")
    page = window.run_list.page
    qtbot.waitUntil(lambda: [row.summary.practice for row in page.model.rows] == ["1 × 4 GiB"])
    page.table.selectRow(0)
    summary = page.outcome.findChild(SummaryCard)
    qtbot.waitUntil(lambda: "practice cards: 1 × 4 GiB" in summary.words.text())
    assert "practice cards 1 × 4 GiB" in report([figures_of(run)])
    window.actions_["open_run_plan"].trigger()
    qtbot.waitUntil(lambda: "made in practice" in window.notice.text)
