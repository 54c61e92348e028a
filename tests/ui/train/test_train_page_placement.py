"""The Placement tab: requested and actual devices, traffic, one measured step.

A stray layer is conspicuous.
"""

from __future__ import annotations

import pytest
import train_pages
from made_placements import mlp_placement, mlp_timeline
from made_runs import Script, make_run, tell
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QMenu

from gpu_studio.contract import lock
from gpu_studio.runs.reading.placements import judged
from gpu_studio.ui.kit.theme import LIGHT
from gpu_studio.ui.train.details_card import LOG, PLACEMENT
from gpu_studio.ui.train.placement_rows import ASKED, BETWEEN, SPOTS_ROLE, PlacementModel

FORWARD, BACKWARD = ASKED + 1, ASKED + 2


@pytest.fixture
def page(qtbot, theme):
    return train_pages.opened(qtbot, theme)


@pytest.fixture
def live_run(runs_dir):
    """A run that is told of as running on four logical CPUs, its lock held by this process."""
    run = make_run(runs_dir, Script(kind="CPU", trained=0.5))
    held = lock.take(run.lock_file)
    yield run
    held.release()


@pytest.fixture
def card(qtbot, page, live_run):
    page.show_run(live_run)
    qtbot.waitUntil(lambda: page.live_run.state is not None)
    return page.details


def offered(card) -> bool:
    return card.tabs.offers(PLACEMENT)


def text(table, row: int, column: int) -> str:
    return table.model().index(row, column).data()


def test_that_a_run_without_a_placement_has_no_such_tab(card) -> None:
    assert not offered(card)


def test_that_the_tab_comes_with_the_event_and_shows_asked_beside_actual(
    qtbot, card, live_run
) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    pane = card.placement
    assert pane.isVisible()
    assert card.tabs.text(PLACEMENT) == "Placement"
    assert pane.line.text() == (
        "✓ All layers that compute, 4 of 5, ran where they were put: 102 operations. "
        "The plan leaves out flatten: placed where the inputs are."
    )
    assert not pane.alarm.isVisible()
    assert [text(pane.table, 1, column) for column in range(5)] == [
        "dense", "CPU:0 + CPU:1, joined on CPU:0", "CPU:0 12, CPU:1 6", "CPU:0 12, CPU:1 6",
        "CPU:0 6, CPU:1 6",
    ]  # fmt: skip
    assert text(pane.table, 0, ASKED) == "CPU:0, left out by the plan"
    assert text(pane.table, 0, FORWARD) == "–"
    assert pane.table.rowHeight(0) == pane.crossings.rowHeight(0) == 28


def test_that_devices_have_their_colours_numbers(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    pane = card.placement
    spots = pane.model.index(1, FORWARD).data(SPOTS_ROLE)
    assert [(spot.device, spot.place, spot.words) for spot in spots] == [
        ("CPU:0", 0, "12"),
        ("CPU:1", 1, "6"),
    ]
    crossing = pane.crossings_model.index(0, BETWEEN).data(SPOTS_ROLE)
    assert [spot.place for spot in crossing] == [2, 3]


def test_that_what_crosses_is_listed_with_its_bytes_and_their_sum(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    pane = card.placement
    assert pane.total.text() == "CROSSES DEVICES · AT LEAST 576 KiB A STEP"
    rows = [[text(pane.crossings, row, column) for column in range(5)] for row in range(4)]
    assert rows[2] == ["dense → dense_1", "CPU:0 → CPU:2", "forward", "3", "64 KiB"]
    assert rows[3][-1] == "not known"
    tip = pane.crossings_model.index(2, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "dense → dense_1, forward: 3 tensors CPU:0 → CPU:2, 64 KiB a step"


def test_that_a_mismatch_is_loud_on_the_tab_and_in_the_pane(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement(strayed=True))
    qtbot.waitUntil(lambda: offered(card))
    assert card.tabs.text(PLACEMENT) == "Placement · 18 elsewhere"
    index = next(i for i in range(card.tabs.count()) if card.tabs.tabText(i).startswith(PLACEMENT))
    assert not card.tabs.tabIcon(index).isNull()
    assert "18 of 102 operations" in card.tabs.tabToolTip(index)
    card.tabs.open(PLACEMENT)
    pane = card.placement
    assert pane.alarm.isVisible()
    assert pane.alarm.property("tone") == "bad"
    said = "⚠ 18 of 102 operations ran on another device than asked: those of dense and dense_1."
    assert pane.alarm.text == said
    assert text(pane.table, 2, FORWARD) == "⚠ CPU:0 6"
    tip = pane.model.index(2, FORWARD).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "6 operations of the forward of dense_1 were executed on CPU:0, and not on CPU:2."
    assert pane.model.index(2, 0).data(Qt.ItemDataRole.AccessibleTextRole) == "dense_1, elsewhere"
    # Its sums are as asked: only the parts tell.
    assert [spot.wrong for spot in pane.model.index(1, BACKWARD).data(SPOTS_ROLE)] == [True, True]


def painted(table, row: int, column: int, colour: str) -> int:
    """How many pixels of a cell are of this colour."""
    image = table.viewport().grab(table.visualRect(table.model().index(row, column))).toImage()
    wanted = QColor(colour).rgb()
    return sum(
        image.pixel(x, y) == wanted for x in range(image.width()) for y in range(image.height())
    )


def test_that_what_strayed_is_drawn_in_the_colour_of_bad_and_the_rest_in_that_of_its_device(
    qtbot, card, live_run
) -> None:
    tell(live_run, mlp_placement(strayed=True))
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    table = card.placement.table
    assert painted(table, 2, 0, LIGHT.bad) > 5
    assert painted(table, 2, FORWARD, LIGHT.bad) > 5
    assert painted(table, 2, BACKWARD, LIGHT.bad) == 0
    assert painted(table, 2, BACKWARD, LIGHT.device_colour(2)) > 20
    assert painted(table, 2, FORWARD, LIGHT.device_colour(0)) == 0
    assert painted(table, 3, 0, LIGHT.bad) == 0


def test_that_the_card_gets_room_when_the_tab_is_opened(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement(), mlp_timeline())
    qtbot.waitUntil(lambda: offered(card))
    before = card.height()
    card.tabs.open(PLACEMENT)
    qtbot.waitUntil(lambda: card.height() > max(before, 250))


def test_that_a_measured_step_is_drawn_when_it_is_told(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    assert not card.placement.step.isVisible()
    tell(live_run, mlp_timeline())
    qtbot.waitUntil(lambda: card.placement.step.isVisible())
    assert (
        card.placement.step.caption.text()
        == "measured step 21.0 ms · bubble 51 % · step 3, slowed by the profiler"
    )
    assert [len(row.tasks) for row in card.placement.step.rows] == [7, 0, 7, 7]


def test_that_another_run_without_a_placement_takes_the_tab_away(
    qtbot, page, card, live_run, runs_dir
) -> None:
    tell(live_run, mlp_placement(strayed=True))
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    page.show_run(make_run(runs_dir, Script(trained=0.2)))
    assert not offered(card)
    assert card.tabs.current != PLACEMENT
    assert card.tabs.text(PLACEMENT) == PLACEMENT


def test_that_rows_are_copied_by_ctrl_c_the_selected_or_all(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    table = card.placement.table
    table.setFocus(Qt.FocusReason.TabFocusReason)
    table.selectRow(4)
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == (
        "Layer\tAsked\tForward\tBackward\tUpdate\noutputs\tCPU:3\tCPU:3 6\tCPU:3 6\tCPU:3 6"
    )  # fmt: skip
    table.clearSelection()
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert len(QGuiApplication.clipboard().text().splitlines()) == 6
    opened = QContextMenuEvent(
        QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), table.mapToGlobal(QPoint(5, 5))
    )
    QApplication.sendEvent(table.viewport(), opened)
    (menu,) = (each for each in table.findChildren(QMenu) if each.isVisible())
    table.selectRow(1)
    menu.actions()[0].trigger()
    assert QGuiApplication.clipboard().text().splitlines()[1].startswith("dense\t")
    menu.close()


def test_that_tab_goes_from_the_tabs_to_both_tables(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    card.tabs.setFocus(Qt.FocusReason.TabFocusReason)
    seen = []
    for _ in range(3):
        QTest.keyClick(QGuiApplication.focusObject(), Qt.Key.Key_Tab)
        seen.append(QGuiApplication.focusObject())
    assert card.placement.table in seen
    assert card.placement.crossings in seen


def test_that_the_log_is_as_it_was_when_one_goes_back(qtbot, card, live_run) -> None:
    tell(live_run, mlp_placement())
    qtbot.waitUntil(lambda: offered(card))
    card.tabs.open(PLACEMENT)
    assert not card.log.tools.isVisible()
    card.tabs.open(LOG)
    assert card.log.tools.isVisible()


def test_that_the_table_is_a_sound_model(qapp) -> None:
    model = PlacementModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for strayed in (False, True):
        model.set_rows(judged(mlp_placement(strayed=strayed)).layers)
        assert model.rowCount() == 5
    assert tester.model() is model
