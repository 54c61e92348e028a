"""The Runs page in its smallest window.

No text is cut, and all that takes the focus is named and reached by Tab.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cut_text import cut_text
from made_runs import Script, make_run
from PySide6.QtWidgets import QApplication
from reaching import left_out, reachable, spoken, without_names

from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.ui.window.frame import SMALLEST
from gpu_studio.ui.window.main_window import MainWindow


@pytest.fixture
def window(open_window, dressed, runs, qtbot) -> MainWindow:
    """A window with three runs, of which one failed and one has a tag and a note."""
    for name, ending in (
        ("digits on four devices", "completed"),
        ("lenet", "failed"),
        ("a third of them", "stopped"),
    ):
        run = make_run(runs, Script(name=name, ending=ending, epochs=2, trained=2, steps=20))
        if name == "lenet":
            write_labels(
                run, Labels(("best", "to-show"), "Worth a look, for what came of it in the end.")
            )
    made = open_window()
    made.resize(SMALLEST)
    made.show_page("runs")
    qtbot.waitUntil(lambda: len(made.run_list.page.model.rows) == 3)
    return made


def shown(window: MainWindow, qtbot) -> Iterator[str]:
    """Each thing that the page can show."""
    page = window.run_list.page
    for names in (
        ("lenet",),
        ("lenet", "a third of them"),
        ("lenet", "a third of them", "digits on four devices"),
    ):
        page.select(*(row.id for row in page.model.all if row.name in names))
        qtbot.waitUntil(lambda: not page.outcome.reader.waiting)
        QApplication.processEvents()
        yield f"{len(names)} selected"
    page.toggle_compare()
    QApplication.processEvents()
    yield "large"
    page.toggle_compare()
    page.filter.search.setText("no such run")
    qtbot.waitUntil(lambda: not page.model.rows)
    QApplication.processEvents()
    yield "nothing found"


def test_that_nothing_is_cut_and_everything_is_named_and_reached(window: MainWindow, qtbot) -> None:
    window.activateWindow()
    for what in shown(window, qtbot):
        assert (what, cut_text(window)) == (what, [])
        assert (what, without_names(window)) == (what, [])
        names = [spoken(widget) for widget in reachable(window)]
        assert sorted(names) == sorted(set(names))
        assert (what, left_out(window)) == (what, [])


def test_that_keys_go_to_the_table_as_soon_as_there_are_runs_and_when_the_page_is_come_back_to(
    window: MainWindow, qtbot
) -> None:
    window.activateWindow()
    table = window.run_list.page.table
    qtbot.waitUntil(table.hasFocus)
    window.show_page("plan")
    window.plan_page.workspace.tabs.setFocus()
    window.show_page("runs")
    assert table.hasFocus()
