"""Nothing is read before it is named, and of a source that is gone nothing stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from edited_part import click

from gpu_studio.plan import Data, ModelSettings
from gpu_studio.ui.window.main_window import MainWindow


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return tmp_path / "questions"


def known(window: MainWindow, qtbot) -> None:
    qtbot.waitUntil(lambda: not window.facts.asking and window.facts.facts is not None)


@pytest.mark.parametrize(
    ("part", "kind"), [("data", "folder"), ("data", "file"), ("model", "python")]
)
def test_that_a_source_which_is_only_chosen_is_neither_read_nor_called_wrong(
    window: MainWindow, qtbot, questions: Path, part: str, kind: str
) -> None:
    known(window, qtbot)
    page, before = window.plan_page, questions.read_text()
    tab = page.workspace.open(part.capitalize())
    click(qtbot, tab.form.kinds.buttons[kind])
    assert getattr(getattr(window.document.plan, part), kind) == ""
    assert not window.facts.asking
    assert questions.read_text() == before
    assert page.outlook.heading.text() == "One thing is still to be named."
    (obstacle,) = page.outlook.obstacles.views.values()
    assert obstacle.property("tone") == "plain"
    assert tab.form.sources[kind].problem.isHidden()
    assert not any(page.workspace.tabs.marks.values())
    assert "not complete yet" in window.actions_["train"].toolTip()
    assert tab.bar.text.endswith("before every file is named.")


def test_that_the_facts_of_another_source_go_at_once_and_those_of_the_same_one_are_greyed(
    window: MainWindow, qtbot
) -> None:
    known(window, qtbot)
    tab, document = window.plan_page.workspace.open("Model"), window.document
    assert len(tab.layers.rows) == 3
    assert tab.table.isEnabled()
    document.replace(
        replace(document.plan, model=ModelSettings("mlp", options={"hidden": [5]})), "option"
    )
    assert len(tab.layers.rows) == 3
    assert not tab.table.isEnabled()
    document.replace(replace(document.plan, model=ModelSettings("lenet")), "source")
    assert window.facts.asking
    assert tab.layers.rows == ()
    assert tab.totals.isHidden()


def test_that_the_layers_of_the_model_before_do_not_stand_under_a_file_that_is_not_allowed(
    window: MainWindow, qtbot, tmp_path: Path
) -> None:
    known(window, qtbot)
    code = tmp_path / "own.py"
    code.write_text("def build_model(): ...\n")
    tab, document = window.plan_page.workspace.open("Model"), window.document
    document.replace(
        replace(document.plan, model=ModelSettings(python=f"{code}:build_model")), "source"
    )
    assert "not allowed yet" in tab.bar.text
    assert tab.layers.rows == ()
    assert "parameters" not in window.plan_page.training.figures.text


def test_that_samples_of_the_data_before_go_with_their_source(window: MainWindow, qtbot) -> None:
    known(window, qtbot)
    tab, document = window.plan_page.workspace.open("Data"), window.document
    assert tab.table.samples.rowCount() == 2
    document.replace(
        replace(document.plan, data=replace(document.plan.data, validation_fraction=0.3)), "option"
    )
    assert tab.table.samples.rowCount() == 2
    assert not tab.table.isEnabled()
    document.replace(replace(document.plan, data=Data(folder="")), "source")
    assert tab.table.samples.rowCount() == 0
    assert tab.lines.text == ""
