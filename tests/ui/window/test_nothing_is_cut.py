"""At its smallest the window cuts no text, in either theme, at single or double density."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import shown_parts
from cut_text import cut_text
from made_machines import TWO_CARDS, WITHOUT_CARDS
from patience import PATIENCE_S
from PySide6.QtWidgets import QWidget
from shown_parts import everything

from gpu_studio.ui.kit.basic_widgets import Label
from gpu_studio.ui.window.frame import SMALLEST
from gpu_studio.ui.window.main_window import MainWindow

MACHINES = pytest.mark.parametrize(
    "machine",
    [pytest.param(WITHOUT_CARDS, marks=pytest.mark.whole(__file__)), TWO_CARDS],
    ids=["no card", "two cards"],
)


@pytest.mark.slow
@MACHINES
def test_that_nothing_is_cut_in_the_smallest_window(open_window, dressed, qtbot, machine) -> None:
    window: MainWindow = open_window(machine=machine)
    window.resize(SMALLEST)
    qtbot.waitUntil(lambda: window.document.plan is not None)
    assert {place: cut for place in everything(window) if (cut := cut_text(window))} == {}


@pytest.mark.whole(__file__)
@pytest.mark.slow
def test_that_nothing_is_cut_on_a_screen_of_double_density(tmp_path: Path) -> None:
    folder = Path(shown_parts.__file__).parent
    environment = {
        **os.environ,
        "QT_SCALE_FACTOR": "2",
        "FAKE_ASKER_STARTS": str(tmp_path / "questions"),
        "PYTHONPATH": f"{folder.parents[1]}:{folder}",
    }
    command = [sys.executable, shown_parts.__file__, str(tmp_path)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["scale"] == 2.0
    assert len(told["seen"]) > 10
    assert told["cut"] == {}


def test_that_a_cut_label_is_found(qtbot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    label = Label("More words than there is room for", parent=widget)
    label.setFixedWidth(40)
    widget.show()
    (told,) = cut_text(widget)
    assert told.startswith("Label 'More words")
