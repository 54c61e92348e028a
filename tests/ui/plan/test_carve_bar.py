from __future__ import annotations

from dataclasses import replace

import pytest
from plan_bench import Bench, at, drag, hold, let_go, pull
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gpu_studio.plan import Card, Carve, DeviceSettings, Machine, Plan
from gpu_studio.plan.carving import slices_of
from gpu_studio.ui.kit.theme import mix
from gpu_studio.ui.plan.carving.carve_bar import CarveBar
from gpu_studio.ui.plan.devices_card import DevicesCard

GIB = 1024
MACHINE = Machine((Card(0, "GPU-5d0", "NVIDIA Test", "", 80 * GIB, GIB, GIB),), 16, 64 * GIB)
FREE = 78 * GIB
SHIFT = Qt.KeyboardModifier.ShiftModifier
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def bench(qtbot, dressed) -> Bench:
    """A card of 80 GiB, 2 of them taken, in four slices of 16 GiB, on a bar of some 800 pixels."""
    plan = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (16 * GIB,) * 4),)))
    made = Bench(plan, MACHINE, DevicesCard(dressed))
    made.resize(880, 240)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    return made


@pytest.fixture
def bar(bench: Bench) -> CarveBar:
    return bench.parts[0].list.views["GPU:0"].bar


def slices(bench: Bench) -> list[float]:
    """In GiB."""
    return [size / GIB for size in slices_of(bench.plan, "GPU:0", MACHINE)]


def key(
    bar: CarveBar, *keys: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    bar.setFocus()
    for each in keys:
        QTest.keyClick(bar, each, held)


def test_that_a_dragged_end_moves_and_only_its_neighbours_change(
    bench: Bench, bar: CarveBar
) -> None:
    drag(bar, 1, (2 + 16 + 24) * GIB)
    assert slices(bench) == [16, 24, 8, 16]
    assert len(bench.wanted) == 1


def test_that_a_drag_is_shown_while_it_lasts_and_is_one_step(bench: Bench, bar: CarveBar) -> None:
    before = bench.plan
    hold(bar, 0)
    pull(bar, 12 * GIB)
    assert bench.plan == before
    assert bar.track.sizes[0] == 10 * GIB
    assert "GPU:0 10 GiB" in bar.accessibleDescription()
    pull(bar, 14 * GIB)
    let_go(bar, 14 * GIB)
    drag(bar, 0, 10 * GIB)
    assert slices(bench) == [8, 24, 16, 16]
    bench.document.undo_stack.undo()
    assert slices(bench) == [12, 20, 16, 16]
    bench.document.undo_stack.undo()
    assert bench.plan == before


def test_that_escape_gives_a_drag_up(bench: Bench, bar: CarveBar) -> None:
    hold(bar, 2)
    pull(bar, 40 * GIB)
    QTest.keyClick(bar, Qt.Key.Key_Escape)
    assert bar.track.sizes == (16 * GIB,) * 4
    pull(bar, 30 * GIB)
    let_go(bar, 30 * GIB)
    assert bench.wanted == []


@pytest.mark.parametrize(("end", "to"), [(3, 200), (0, -50), (1, 79), (3, 0)])
def test_that_no_drag_takes_more_than_is_free_or_leaves_a_slice_without_memory(
    bench, bar, end: int, to: int
) -> None:
    drag(bar, end, to * GIB)
    assert sum(slices(bench)) * GIB <= FREE
    assert min(slices(bench)) > 0


def test_that_an_end_snaps_to_whole_gib_and_to_equal_shares_but_not_with_shift(
    bench: Bench, bar: CarveBar
) -> None:
    drag(bar, 0, 2 * GIB + 11 * GIB + 130)
    assert slices(bench)[0] == 11
    drag(bar, 0, 2 * GIB + 16 * GIB + 300)
    assert slices(bench)[:2] == [16, 16]
    drag(bar, 0, 2 * GIB + 11 * GIB + 700, SHIFT)
    assert slices(bench)[0] * GIB % 256 != 0


def test_that_the_last_end_snaps_to_all_that_is_free(bench: Bench, bar: CarveBar) -> None:
    drag(bar, 3, 80 * GIB - 150)
    assert sum(slices(bench)) * GIB == FREE


def test_that_the_arrows_nudge_the_end_of_the_current_slice(bench: Bench, bar: CarveBar) -> None:
    key(bar, Qt.Key.Key_BracketRight, Qt.Key.Key_Right, Qt.Key.Key_Right)
    assert slices_of(bench.plan, "GPU:0", MACHINE)[1:3] == (16 * GIB + 128, 16 * GIB - 128)
    key(bar, Qt.Key.Key_Left, held=CTRL)
    assert slices_of(bench.plan, "GPU:0", MACHINE)[1] == 16 * GIB + 127
    key(bar, Qt.Key.Key_PageDown)
    assert slices_of(bench.plan, "GPU:0", MACHINE)[1] == 15 * GIB + 127
    key(bar, Qt.Key.Key_BracketLeft, Qt.Key.Key_PageUp)
    assert slices(bench)[0] == 17


def test_that_nudges_of_one_end_are_one_step_and_of_another_end_a_second(
    bench: Bench, bar: CarveBar
) -> None:
    key(bar, *[Qt.Key.Key_Right] * 5, Qt.Key.Key_BracketRight, *[Qt.Key.Key_Left] * 3)
    assert bench.document.undo_stack.count() == 2


def test_that_a_slice_is_split_and_merged_again_by_keys(bench: Bench, bar: CarveBar) -> None:
    key(bar, Qt.Key.Key_S)
    assert slices(bench) == [8, 8, 16, 16, 16]
    key(bar, Qt.Key.Key_Delete)
    assert slices(bench) == [16, 16, 16, 16]
    key(bar, *[Qt.Key.Key_BracketRight] * 3, Qt.Key.Key_Delete)
    assert slices(bench) == [16, 16, 16]
    assert bar.current == 2
    assert bar.hasFocus()


def test_that_the_end_of_a_whole_card_limits_it(bench: Bench, bar: CarveBar) -> None:
    key(bar, *[Qt.Key.Key_Delete] * 4)
    assert slices(bench) == []
    key(bar, Qt.Key.Key_Right)
    assert slices(bench) == []
    drag(bar, 0, 42 * GIB)
    assert slices(bench) == [40]
    key(bar, Qt.Key.Key_Insert)
    assert slices(bench) == [20, 20]


def test_that_tab_leaves_the_bar_and_other_keys_are_not_its_own(
    bench: Bench, bar: CarveBar
) -> None:
    key(bar, Qt.Key.Key_Down, Qt.Key.Key_F5, Qt.Key.Key_A)
    assert bench.wanted == []
    key(bar, Qt.Key.Key_Tab)
    assert not bar.hasFocus()


def test_that_a_screen_reader_hears_the_slice_and_can_set_it(bench: Bench, bar: CarveBar) -> None:
    interface = QAccessible.queryAccessibleInterface(bar)
    value = interface.valueInterface()
    assert interface.role() == QAccessible.Role.Slider
    assert interface.text(QAccessible.Text.Name) == "slices of GPU 0, to scale"
    assert "GPU:3 16 GiB" in interface.text(QAccessible.Text.Description)
    assert value.currentValue() == 16 * GIB
    assert (value.minimumValue(), value.maximumValue()) == (1, 32 * GIB - 1)
    key(bar, Qt.Key.Key_Right)
    assert value.currentValue() == 16 * GIB + 64
    bar.setValue(10 * GIB)
    assert slices(bench) == [10, 22, 16, 16]


def test_that_a_click_makes_a_slice_current_and_says_what_it_is(
    bench: Bench, bar: CarveBar
) -> None:
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=at(bar, 44 * GIB))
    assert bar.current == 2
    assert bench.wanted == []
    QTest.mouseMove(bar, at(bar, 30 * GIB))
    assert bar.toolTip().startswith("GPU:1 16 GiB")
    assert bar.cursor().shape() == Qt.CursorShape.ArrowCursor
    QTest.mouseMove(bar, at(bar, bar.track.ends[1]))
    assert bar.cursor().shape() == Qt.CursorShape.SplitHCursor


def test_that_the_menu_offers_what_can_be_done(bench: Bench, bar: CarveBar, qtbot) -> None:
    where = at(bar, 70 * GIB)
    QApplication.sendEvent(
        bar, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, where, QPoint(9, 9))
    )
    menu = bar.findChild(QMenu)
    offered = {action.text(): action for action in menu.actions()}
    assert not offered["Merge GPU:3 with the next slice"].isEnabled()
    assert offered["Merge GPU:3 with the next slice"].toolTip() == "No slice comes after GPU:3"
    offered["Give GPU:3 back to the free memory"].trigger()
    menu.close()
    assert slices(bench) == [16, 16, 16]
    qtbot.waitUntil(lambda: bar.findChild(QMenu) is None)


def test_that_a_plan_that_changes_during_a_drag_ends_it(bench: Bench, bar: CarveBar) -> None:
    hold(bar, 0)
    pull(bar, 10 * GIB)
    bench.show_plan()
    assert bar.track.sizes[0] == 8 * GIB
    bench.document.replace(Plan(), "other")
    pull(bar, 30 * GIB)
    let_go(bar, 30 * GIB)
    assert bench.plan == Plan()
    assert bench.wanted == []


def test_that_memory_that_others_take_during_a_drag_does_not_end_it(
    bench: Bench, bar: CarveBar
) -> None:
    def others_take(mib: int) -> None:
        card = replace(MACHINE.cards[0], used_mib=mib)
        bench.machine = replace(MACHINE, cards=(card,))
        bench.show_plan()

    hold(bar, 0)
    pull(bar, 10 * GIB)
    others_take(GIB + 256)
    pull(bar, 12 * GIB)
    let_go(bar, 12 * GIB)
    assert slices(bench) == [10, 22, 16, 16]
    assert bar.track.used == GIB + 256
    hold(bar, 0)
    pull(bar, 14 * GIB)
    others_take(GIB)
    QTest.keyClick(bar, Qt.Key.Key_Escape)
    assert bar.track.used == GIB
    assert slices(bench) == [10, 22, 16, 16]


def test_that_a_drag_that_nobody_follows_leaves_the_bar_as_the_plan_is(
    bench: Bench, bar: CarveBar
) -> None:
    bench.parts[0].edited.disconnect()
    drag(bar, 0, 10 * GIB)
    assert bar.track.sizes == (16 * GIB,) * 4


def test_that_more_than_the_card_has_is_drawn_in_red_and_can_only_get_less(
    bench: Bench, bar: CarveBar, dressed
) -> None:
    bench.document.replace(
        Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (60 * GIB, 40 * GIB)),))), "too much"
    )
    image = bar.grab().toImage()
    row = [image.pixelColor(x, 3).name() for x in range(image.width())]
    beyond = row.count(mix(dressed.tokens.bad, dressed.tokens.surface, 0.25)) / len(row)
    assert beyond == pytest.approx(22 / 102, abs=0.03)
    drag(bar, 1, 101 * GIB)
    assert sum(slices(bench)) < 100
    drag(bar, 1, 90 * GIB)
    assert sum(slices(bench)) <= 88


def test_that_a_card_of_unknown_memory_is_not_dragged_into_the_unknown(qtbot, dressed) -> None:
    machine = Machine((Card(0, "", "NVIDIA card, asleep", asleep=True, why_unknown="asleep"),), 4)
    made = Bench(Plan(), machine, DevicesCard(dressed))
    made.resize(600, 200)
    qtbot.addWidget(made)
    made.show()
    bar = made.parts[0].list.views["GPU:0"].bar
    key(bar, Qt.Key.Key_S, Qt.Key.Key_Left, Qt.Key.Key_Delete)
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=QPoint(bar.width() - 1, 10))
    assert made.wanted == []
    made.document.replace(
        Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (3000, 1000)),))), "carve"
    )
    drag(bar, 0, 2048)
    assert slices_of(made.plan, "GPU:0", machine) == (2048, 1952)
