"""Parts of the Plan page that nobody sees do no work, and are right as soon as they are seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QLabel, QTableView, QWidget
from pytestqt.qtbot import QtBot

from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.window.main_window import MainWindow

FILLED: dict[str, Callable[[Any], tuple[Any, str]]] = {
    "Data": lambda tab: (tab.lines, "set_lines"),
    "Model": lambda tab: (tab.layers, "set_rows"),
    "Training": lambda tab: (tab.refusal, "set_lines"),
    "Strategy": lambda tab: (tab.one, "show_view"),
    "Layers": lambda tab: (tab.start, "show_plan"),
}
"""What each tab calls whenever it is filled with what TensorFlow said of the plan."""


def counted(monkeypatch: pytest.MonkeyPatch, part: Any, name: str) -> list[str]:
    """The calls of this method of a part from now on."""
    calls: list[str] = []
    does = getattr(part, name)

    def call(*given: Any) -> Any:
        calls.append(name)
        return does(*given)

    monkeypatch.setattr(part, name, call)
    return calls


def seen_in(widget: QWidget) -> list[str]:
    """All words that can be read in a widget."""
    labels = [each.text() for each in widget.findChildren(QLabel) if each.isVisible()]
    for view in widget.findChildren(QTableView):
        if view.isVisible() and (model := view.model()) is not None:
            labels += [
                str(model.index(row, column).data())
                for row in range(model.rowCount(QModelIndex()))
                for column in range(model.columnCount(QModelIndex()))
            ]
    return labels


@pytest.fixture
def known(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """The window, once all is known of its plan."""
    qtbot.waitUntil(lambda: window.facts.facts is not None and not window.facts.asking)
    return window


@pytest.mark.parametrize("name", FILLED)
def test_that_a_hidden_tab_is_filled_once_it_is_opened_and_is_right_then(
    known: MainWindow, monkeypatch, qtbot, name: str
) -> None:
    page, reader = known.plan_page, known.facts
    page.open_part(name)
    page.open_part("Devices")
    tab: Any = page.workspace.editor(name)
    calls = counted(monkeypatch, *FILLED[name](tab))
    assert reader.facts is not None
    assert reader.facts.data is not None
    reader.facts = replace(reader.facts, data=replace(reader.facts.data, train=4711))
    for _ in range(3):
        reader.changed.emit()
    assert calls == []
    page.open_part(name)
    assert len(calls) == 1
    shown = seen_in(tab)
    reader.changed.emit()
    assert len(calls) == 2
    assert seen_in(tab) == shown != []


def test_that_a_hidden_tab_is_filled_once_though_plan_and_facts_have_changed(
    known: MainWindow, monkeypatch
) -> None:
    page = known.plan_page
    page.open_part("Data")
    page.open_part("Devices")
    calls = counted(monkeypatch, *FILLED["Data"](page.workspace.editor("Data")))
    known.document.replace(set_strategy(known.document.plan, "none"), "no strategy")
    known.facts.changed.emit()
    page.open_part("Data")
    assert len(calls) == 1


def test_that_a_plan_that_changes_is_shown_once_somebody_turns_to_its_page(
    known: MainWindow, monkeypatch
) -> None:
    page, plan = known.plan_page, known.document.plan
    known.show_page("devices")
    calls = counted(monkeypatch, page.outlook, "show_view")
    for epochs in (71, 72, 73):
        known.document.replace(
            replace(plan, name="another", training=replace(plan.training, epochs=epochs)), "epochs"
        )
    assert calls == []
    known.show_page("plan")
    assert calls == ["show_view"]
    assert (page.name.text(), page.training.epochs.value()) == ("another", 73)
    shown = seen_in(page)
    known.readiness.check()
    assert len(calls) == 2
    assert seen_in(page) == shown != []


def test_that_the_first_plan_is_shown_before_its_page_is_seen(open_window, settings, qtbot) -> None:
    """It takes longest, and who turns to the page shall not wait for it."""
    before: MainWindow = open_window()
    before.show_page("devices")
    before.close()
    window: MainWindow = open_window()
    assert window.page == "devices"
    qtbot.waitUntil(lambda: window.document.plan is not None)
    assert window.plan_page.name.text() == window.document.plan.name
