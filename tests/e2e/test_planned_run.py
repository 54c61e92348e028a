"""What the Plan page promised is what the run says it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan_bench import type_over
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs import catalogue
from gpu_studio.runs.lineage import events_of
from gpu_studio.ui.window.main_window import MainWindow

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_trainer")]

ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


def decide(qtbot, window: MainWindow) -> None:
    """By keys alone: two logical CPUs, mirrored, their gradients by hierarchical copy."""
    page = window.plan_page
    type_over(page.training.epochs, "1")
    qtbot.keyClick(window, Qt.Key.Key_1, ALT)
    type_over(page.workspace.editor("Devices").cpu.count, "2")
    tiles = page.distribution.buttons
    tiles["mirrored"].setFocus()
    qtbot.keyClick(tiles["mirrored"], Qt.Key.Key_Left)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert page.distribution.group.buttons["one_device"].isChecked()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Right)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    qtbot.keyClick(window, Qt.Key.Key_5, ALT)
    rows = page.workspace.editor("Strategy").all_reduce.rows
    row = rows["hierarchical_copy"]
    row.setFocus()
    qtbot.keyClick(row, Qt.Key.Key_Space)
    assert row.isChecked()


def the_end(run: RunDirectory) -> list[events.Finished]:
    return [event for event in events_of(run) if isinstance(event, events.Finished)]


def test_that_the_run_has_the_devices_replicas_and_all_reduce_that_the_page_promised(
    qtbot, open_window, runs: Path
) -> None:
    window: MainWindow = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None and not window.readiness.why_not)
    decide(qtbot, window)
    promised = {name: row.prospect for name, row in window.plan_page.outlook.rows.items()}
    assert {name: each.share for name, each in promised.items()} == {
        "CPU:0": "32 samples",
        "CPU:1": "32 samples",
    }
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    (run,) = catalogue.directories(runs)
    qtbot.waitUntil(lambda: bool(the_end(run)))
    (devices,) = [event for event in events_of(run) if isinstance(event, events.Devices)]
    assert [each.name for each in devices.logical] == list(promised)
    assert devices.replicas == [name for name, each in promised.items() if each.replica]
    assert devices.strategy == "mirrored"
    assert devices.all_reduce == "hierarchical_copy"
    qtbot.waitUntil(lambda: window.train_page.live_run.state == "finished")
