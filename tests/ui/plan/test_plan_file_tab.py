from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_machines import WITHOUT_CARDS
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QTextCursor

from gpu_studio.plan import Plan, Training, dumps
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.plan.file_tabs import ChangesTab, FileTab
from gpu_studio.ui.plan.plan_view import PlanView

PLAN = Plan(name="mine", training=Training(epochs=3))
CTRL = Qt.KeyboardModifier.ControlModifier


def view(
    plan: Plan = PLAN, written: str = "", stored: Plan | None = None, path: Path | None = None
) -> PlanView:
    return PlanView(plan, WITHOUT_CARDS, stored=stored, text=lambda: written, path=path)


@pytest.fixture
def tab(qtbot, theme) -> FileTab:
    made = FileTab(QAction("Copy"), theme)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def changes(tab: FileTab) -> list[Change]:
    seen: list[Change] = []
    tab.edited.connect(seen.append)
    return seen


def replace_text(tab: FileTab, old: str, new: str) -> None:
    """Find the old text, as with a cursor, and type the new."""
    cursor = tab.text.document().find(old)
    assert not cursor.isNull()
    cursor.insertText(new)


def test_that_showing_a_plan_is_no_edit(tab: FileTab, changes: list[Change]) -> None:
    tab.show_view(view(written="# by hand\n" + dumps(PLAN)))
    assert tab.text.toPlainText().startswith("# by hand")
    assert changes == []


def test_that_typed_text_changes_the_plan_and_stays_as_it_was_typed(
    tab: FileTab, changes: list[Change], qtbot
) -> None:
    tab.show_view(view())
    replace_text(tab, "epochs = 3", "epochs = 30  # more")
    (change,) = changes
    assert change.make(PLAN) == replace(PLAN, training=Training(epochs=30))
    assert change.written == tab.text.toPlainText()
    tab.show_view(view(change.make(PLAN), written="another text that says the same"))
    assert "# more" in tab.text.toPlainText()


def test_that_a_text_that_is_no_plan_changes_nothing_and_says_what_is_wrong(
    tab: FileTab, changes: list[Change], qtbot
) -> None:
    tab.show_view(view())
    tab.text.setFocus()
    tab.text.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(tab.text, "epoch = ")
    assert changes == [] or changes[-1].make(PLAN) == PLAN
    assert tab.problem_text.isVisible()
    assert "is cut off" in tab.problem_text.text()
    replace_text(tab, "epoch = ", "[training.early_stopping]")
    assert not tab.problem_text.isVisible()
    assert changes[-1].make(PLAN).training.early_stopping is not None


@pytest.mark.parametrize("text", ["", "epochs = "])
def test_that_a_text_that_is_no_plan_stays_with_what_is_wrong_while_the_page_is_drawn_anew(
    tab: FileTab, changes: list[Change], text: str
) -> None:
    tab.show_view(view())
    tab.text.selectAll()
    tab.text.insertPlainText(text)
    assert changes[-1].half_typed == text
    tab.show_view(replace(view(), half_typed=text))
    assert (tab.written, tab.problem_text.isVisible()) == (text, True)
    tab.take_back.click()
    assert tab.written == dumps(PLAN)
    assert changes[-1].half_typed is None
    assert not tab.take_back.isVisible()


def test_that_a_plan_changed_elsewhere_is_shown(tab: FileTab, changes: list[Change]) -> None:
    tab.show_view(view())
    tab.show_view(view(replace(PLAN, name="other")))
    assert 'name = "other"' in tab.text.toPlainText()
    assert changes == []


def test_that_changes_are_held_against_the_file_or_another_plan(qtbot) -> None:
    tab = ChangesTab(QAction("Compare"))
    qtbot.addWidget(tab)
    tab.show_view(view(stored=Plan(name="stored", training=Training(epochs=3))))
    assert [(row.field, row.before, row.after) for row in tab.model.rows] == [
        ("name", '"stored"', '"mine"')
    ]
    assert tab.compared_text.text() == "1 field not as in the plan that it began as"
    tab.compare("other.plan.toml", PLAN)
    assert tab.model.rows == ()
    assert tab.compared_text.text() == "The same as other.plan.toml"


def test_that_another_plan_is_compared_until_the_open_one_is_left_or_its_own_file_written(
    qtbot,
) -> None:
    tab, own, theirs = (
        ChangesTab(QAction("Compare")),
        Path("/own.toml"),
        replace(PLAN, name="theirs"),
    )
    qtbot.addWidget(tab)
    tab.show_view(view(path=own, stored=PLAN))
    tab.compare("other.plan.toml", theirs)
    tab.show_view(view(replace(PLAN, name="edited"), path=own, stored=theirs))
    assert tab.compared_text.text() == "1 field not as in other.plan.toml"
    tab.show_view(view(path=Path("/next.toml"), stored=PLAN))
    assert tab.compared_text.text() == "The same as next.toml, its file"
    tab.show_view(view(path=own, stored=theirs))
    tab.compare("own.toml", theirs)
    assert tab.compared_text.text() == "1 field not as in own.toml"
    tab.show_view(view(path=own, stored=PLAN))
    assert tab.compared_text.text() == "The same as own.toml, its file"
