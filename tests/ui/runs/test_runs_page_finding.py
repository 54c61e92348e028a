"""Finding runs by mouse and keys: the field, the chips, the tags, the order."""

from __future__ import annotations

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from window_pages import with_runs

from gpu_studio.contract import lock
from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.ui.kit.settings import RUNS_ORDER
from gpu_studio.ui.runs.runs_model import BEST, RUN, STARTED
from gpu_studio.ui.window.main_window import MainWindow

CTRL, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton
SHORT = {"epochs": 2, "trained": 2, "steps": 20}


@pytest.fixture
def four(runs):
    """A run of each kind, the last one live; the first two with a tag."""
    endings = {"alpha": "completed", "beta": "failed", "gamma": "stopped", "delta": "none"}
    made = {
        name: make_run(runs, Script(name=name, ending=ending, **SHORT))
        for name, ending in endings.items()
    }
    for name in ("alpha", "beta"):
        write_labels(made[name], Labels(("mine",)))
    held = lock.take(made["delta"].lock_file)
    yield made
    held.release()


@pytest.fixture
def window(open_window, four, qtbot) -> MainWindow:
    return with_runs(open_window(), qtbot, 4)


def shown(window: MainWindow) -> set[str]:
    return {row.name for row in window.run_list.page.model.rows}


def press(qtbot, button: QWidget) -> None:
    qtbot.mouseClick(button, LEFT)


def test_that_ctrl_f_and_words_narrow_the_table_down_and_escape_widens_it(
    window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    window.show_page("plan")
    qtbot.keyClick(window, Qt.Key.Key_F, CTRL)
    assert window.page == "runs"
    assert page.filter.search.hasFocus()
    qtbot.keyClicks(page.filter.search, "state:finished mine")
    qtbot.waitUntil(lambda: shown(window) == {"alpha"})
    assert page.filter.count.text() == "1 of 4"
    qtbot.keyClick(page.filter.search, Qt.Key.Key_Escape)
    assert shown(window) == {"alpha", "beta", "gamma", "delta"}
    assert page.filter.search.text() == page.filter.count.text() == ""
    qtbot.keyClick(page.filter.search, Qt.Key.Key_Escape)
    assert page.table.hasFocus()


def test_that_return_goes_from_the_words_to_what_they_found(window: MainWindow, qtbot) -> None:
    page = window.run_list.page
    page.begin_search()
    qtbot.keyClicks(page.filter.search, "beta")
    qtbot.keyClick(page.filter.search, Qt.Key.Key_Return)
    assert shown(window) == {"beta"}
    assert page.table.hasFocus()


@pytest.mark.parametrize(
    ("chip", "expected"),
    [("live", {"delta"}), ("finished", {"alpha"}), ("stopped", {"gamma"}), ("failed", {"beta"})],
)
def test_that_a_chip_shows_runs_of_its_kind_and_all_shows_all(
    window: MainWindow, qtbot, chip, expected
) -> None:
    page = window.run_list.page
    press(qtbot, page.filter.chips[chip])
    assert shown(window) == expected
    assert page.filter.count.text() == f"{len(expected)} of 4"
    press(qtbot, page.filter.chips["all"])
    assert len(shown(window)) == 4


def test_that_chips_are_chosen_by_arrows_and_escape_in_the_table_shows_all_again(
    window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    page.filter.chips["all"].setFocus()
    qtbot.keyClick(page.filter.chips["all"], Qt.Key.Key_Right)
    assert page.filter.chips["live"].hasFocus()
    assert shown(window) == {"delta"}
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_Escape)
    assert len(shown(window)) == 4
    assert page.filter.chips["all"].isChecked()


def test_that_a_tag_can_be_asked_for_and_given_up(window: MainWindow, qtbot) -> None:
    bar = window.run_list.page.filter
    qtbot.mouseClick(bar.tags, LEFT)
    menu = bar.tags.menu
    (action,) = menu.actions()
    assert action.text() == "mine"
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    assert shown(window) == {"alpha", "beta"}
    qtbot.waitUntil(lambda: bar.tags.text() == "tag mine")
    bar.clear()
    assert len(shown(window)) == 4
    assert bar.tags.text() == "tags"


def test_that_nothing_found_is_said_with_a_way_back_that_is_whole(
    dressed, window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    page.begin_search()
    qtbot.keyClicks(page.filter.search, "no such run")
    qtbot.waitUntil(lambda: not shown(window))
    assert not page.table.isVisible()
    clear = page.card.clear
    QApplication.processEvents()
    assert clear.visibleRegion().boundingRect() == clear.rect()
    press(qtbot, page.card.clear)
    assert page.table.isVisible()
    assert len(shown(window)) == 4


def click_header(qtbot, window: MainWindow, column: int) -> None:
    header = window.run_list.page.table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(column) + 20, header.height() // 2)
    qtbot.mouseClick(header.viewport(), LEFT, pos=place)


def test_that_a_head_sorts_again_the_other_way_and_live_runs_stay_on_top(
    window: MainWindow, qtbot
) -> None:
    def names() -> list[str]:
        return [row.name for row in window.run_list.page.model.rows]

    click_header(qtbot, window, RUN)
    assert names() == ["delta", "alpha", "beta", "gamma"]
    click_header(qtbot, window, RUN)
    assert names() == ["delta", "gamma", "beta", "alpha"]
    assert window.settings.get(RUNS_ORDER) == "run:down"
    click_header(qtbot, window, BEST)
    assert window.run_list.page.filter.order.text() == "best"


def test_that_the_order_is_chosen_by_keys_too_and_the_next_window_has_it(
    window: MainWindow, open_window, qtbot
) -> None:
    order = window.run_list.page.filter.order
    order.setFocus()
    qtbot.keyClick(order, Qt.Key.Key_Space)
    qtbot.keyClick(order.menu, Qt.Key.Key_Down)
    qtbot.keyClick(order.menu, Qt.Key.Key_Down)
    qtbot.keyClick(order.menu, Qt.Key.Key_Return)
    assert str(window.run_list.page.model.order) == "started:up"
    following = open_window()
    assert str(following.run_list.page.model.order) == "started:up"
    assert following.run_list.page.table.horizontalHeader().sortIndicatorSection() == STARTED


def test_that_a_column_keeps_the_width_that_a_person_gave_it(
    window: MainWindow, open_window, qtbot
) -> None:
    header = window.run_list.page.table.horizontalHeader()
    edge = QPoint(
        header.sectionViewportPosition(RUN) + header.sectionSize(RUN) - 1, header.height() // 2
    )
    qtbot.mousePress(header.viewport(), LEFT, pos=edge)
    qtbot.mouseMove(header.viewport(), edge + QPoint(50, 0))
    qtbot.mouseRelease(header.viewport(), LEFT, pos=edge + QPoint(50, 0))
    wide = header.sectionSize(RUN)
    assert wide > 240
    window.show_page("plan")
    following = open_window()
    following.show_page("runs")
    assert following.run_list.page.table.columnWidth(RUN) == wide


def test_that_a_selected_run_stays_selected_while_the_list_is_read_again(
    window: MainWindow, four, qtbot
) -> None:
    page = window.run_list.page
    page.select(four["beta"].id, four["gamma"].id)
    with qtbot.waitSignal(page.reader.rows):
        page.reader.read()
    assert {row.name for row in page.chosen} == {"beta", "gamma"}
    page.table.selectionModel().clear()
    assert page.chosen == []
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_A, CTRL)
    assert len(page.chosen) == 4
    page.table.selectionModel().clearSelection()
    page.table.selectionModel().setCurrentIndex(
        page.model.index(0, RUN), QItemSelectionModel.SelectionFlag.NoUpdate
    )
    qtbot.keyClick(page.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert len(page.chosen) == 2
