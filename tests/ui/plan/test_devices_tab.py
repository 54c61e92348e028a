from __future__ import annotations

from dataclasses import replace

import pytest
from devices_bench import bench, cut, field, opened, tab
from made_machines import TWO_CARDS
from made_plans import on_everything
from plan_bench import Bench, drag, type_over
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QWidget

from gpu_studio.plan import Card, Carve, DeviceSettings, Machine, validate
from gpu_studio.plan.carving import slices_of
from gpu_studio.plan.rules.device_rules import allocator
from gpu_studio.ui.plan.devices_card import DevicesCard
from gpu_studio.ui.plan.plan_view import PlanView

__all__ = ["bench", "opened"]

CTRL = Qt.KeyboardModifier.ControlModifier


def sizes(bench: Bench) -> tuple[int, ...]:
    return slices_of(bench.plan, "GPU:0", bench.machine)


def row_area(bench: Bench, row: int) -> QRect:
    return tab(bench).list.visualRect(tab(bench).list.model().index(row, 0))


def press(bench: Bench, name: str) -> None:
    QTest.mouseClick(tab(bench).card.buttons[name], Qt.MouseButton.LeftButton)


def test_that_a_typed_size_is_exact_and_one_step(bench: Bench) -> None:
    type_over(field(bench, 1), "5000")
    assert sizes(bench) == (4096, 5000, 8192)
    assert bench.document.undo_stack.count() == 1
    assert field(bench, 1).hasFocus()
    type_over(field(bench, 2), "1000")
    assert bench.document.undo_stack.count() == 2


def test_that_typing_over_the_cards_memory_is_an_error_beside_the_bar(bench: Bench) -> None:
    type_over(field(bench, 2), "90000")
    assert sizes(bench) == (4096, 4096, 90_000)
    assert "take away at least" in tab(bench).card.problem.text
    assert tab(bench).card.problem.isVisible()
    type_over(field(bench, 2), "9000")
    assert not tab(bench).card.problem.isVisible()


def test_that_the_buttons_change_the_slice_whose_field_was_entered(bench: Bench) -> None:
    field(bench, 2).setFocus()
    assert tab(bench).card.buttons["Split"].accessibleName() == "Split GPU:2 in two"
    press(bench, "Split")
    assert sizes(bench) == (4096, 4096, 4096, 4096)
    press(bench, "Merge")
    assert sizes(bench) == (4096, 4096, 8192)
    press(bench, "Remove")
    assert sizes(bench) == (4096, 4096)
    press(bench, "Add")
    assert sizes(bench) == (4096, 4096, 4096)


def test_that_slices_are_made_equal(bench: Bench) -> None:
    press(bench, "Equal")
    assert sizes(bench) == (5461, 5461, 5461)
    assert tab(bench).card.buttons["Equal"].toolTip() == "The slices are equal already"
    assert not tab(bench).card.buttons["Equal"].isEnabled()


def test_that_a_full_card_gives_half_of_its_largest_slice(opened) -> None:
    bench = opened(cut(4096, 20_180), TWO_CARDS)
    press(bench, "Add")
    assert sum(sizes(bench)) == 4096 + 20_180
    assert sizes(bench)[0] == 4096


def test_that_one_slice_is_a_limit_and_none_is_the_whole_card(opened) -> None:
    bench = opened(cut(8192), TWO_CARDS)
    tab(bench).choose("GPU:1")
    assert field(bench, 0).text() == "all that is free"
    type_over(field(bench, 0), "2048")
    assert slices_of(bench.plan, "GPU:1", TWO_CARDS) == (2048,)
    type_over(field(bench, 0), "0")
    assert slices_of(bench.plan, "GPU:1", TWO_CARDS) == ()
    tab(bench).choose("GPU:0")
    press(bench, "Remove")
    assert bench.plan.devices.carve == ()


def test_that_a_card_is_cut_into_equal_slices(bench: Bench) -> None:
    tab(bench).card.choice.edited.emit("4 slices")
    assert sizes(bench) == (5632,) * 4
    assert len(tab(bench).card.fields.cells) == 4


def test_that_the_large_bar_is_dragged_and_the_card_above_follows(opened, dressed) -> None:
    bench = opened(cut(4096, 4096), TWO_CARDS, DevicesCard(dressed), width=1200)
    drag(tab(bench).card.bar, 0, 300 + 6144)
    assert sizes(bench) == (6144, 2048)
    assert bench.parts[1].list.views["GPU:0"].bar.track.sizes == (6144, 2048)


def test_that_a_card_is_hidden_and_shown_by_its_check(bench: Bench) -> None:
    devices = tab(bench).list
    devices.setFocus()
    devices.choose("GPU:1")
    QTest.keyClick(devices, Qt.Key.Key_Space)
    assert bench.plan.devices.visible == ("GPU:0",)
    assert tab(bench).card.mend.isVisible()
    assert tab(bench).card.mend.accessibleName() == "Make visible: GPU 1"
    assert not tab(bench).card.fields.isVisible()
    QTest.mouseClick(tab(bench).card.mend, Qt.MouseButton.LeftButton)
    assert bench.plan.devices.visible == ()
    assert devices.device == "GPU:1"


def test_that_a_device_that_is_not_there_is_taken_out_of_the_plan(opened) -> None:
    devices = DeviceSettings(visible=("GPU:0", "GPU:7"), carve=(Carve("GPU:7", (1024,)),))
    bench = opened(replace(on_everything(TWO_CARDS), devices=devices), TWO_CARDS)
    tab(bench).choose("GPU:7")
    assert "there is no such device" in tab(bench).card.problem.text
    QTest.mouseClick(tab(bench).card.mend, Qt.MouseButton.LeftButton)
    assert validate(bench.plan, TWO_CARDS) == []
    assert tab(bench).list.model().rowCount() == 3


@pytest.mark.parametrize("by", ["key", "pointer"])
def test_that_a_device_that_is_not_there_leaves_the_list_by_its_check(opened, by: str) -> None:
    devices = DeviceSettings(visible=("GPU:0", "GPU:7"))
    bench = opened(replace(on_everything(TWO_CARDS), devices=devices), TWO_CARDS)
    listed = tab(bench).list
    listed.choose("GPU:7")
    if by == "key":
        listed.setFocus()
        QTest.keyClick(listed, Qt.Key.Key_Space)
    else:
        box = row_area(bench, 3).topLeft() + QPoint(10, row_area(bench, 3).height() // 2)
        QTest.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=box)
    assert bench.plan.devices.visible == ("GPU:0",)
    assert listed.device == "GPU:0"


def test_that_the_edit_of_a_check_can_be_undone(bench: Bench) -> None:
    listed = tab(bench).list
    listed.choose("GPU:1")
    listed.setFocus()
    QTest.keyClick(listed, Qt.Key.Key_Space)
    assert listed.currentIndex().data() == "GPU 1  ·  hidden"
    bench.document.undo_stack.undo()
    assert listed.device == "GPU:1"
    assert listed.currentIndex().data() == "GPU 1  ·  whole"


@pytest.mark.parametrize(("width", "height"), [(725, 380), (520, 250)])
def test_that_nothing_is_cut_off_at_the_side(opened, qtbot, width: int, height: int) -> None:
    eight = Machine(
        tuple(Card(k, f"GPU-5d{k}", "NVIDIA H100 80GB", "", 81_559, 0, 0) for k in range(8)), 64
    )
    plan = replace(
        on_everything(eight), devices=DeviceSettings(carve=(Carve("GPU:7", (8192,) * 9),))
    )
    bench = opened(plan, eight, width=width, height=height)
    inside = tab(bench)._stack
    for device in ("GPU:7", "CPU:0"):
        tab(bench).choose(device)
        qtbot.waitUntil(lambda: inside.width() <= inside.parentWidget().width())
        assert inside.minimumSizeHint().width() <= inside.width()
    tab(bench).choose("GPU:7")
    names = {cell._name.text() for cell in tab(bench).card.fields.cells}
    assert names == {f"GPU:{k}" for k in range(7, 16)}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_that_a_box_that_is_not_checked_can_be_seen(opened, dressed, mode: str) -> None:
    dressed.set_mode(mode)
    bench = opened(
        replace(on_everything(TWO_CARDS), devices=DeviceSettings(visible=("GPU:1",))), TWO_CARDS
    )
    image = tab(bench).list.viewport().grab().toImage()
    row, checked = (row_area(bench, number) for number in (0, 1))
    seen = {image.pixelColor(x, row.center().y()).name() for x in range(4, 24)}
    assert dressed.tokens.muted in seen
    assert dressed.tokens.accent not in seen
    assert dressed.tokens.accent in {
        image.pixelColor(x, checked.center().y()).name() for x in range(4, 24)
    }
    dressed.set_mode("light")


def spoken(widget: QWidget) -> str:
    """What a screen reader calls it.

    On Linux a combo box is called by its value, and described as what it is of.
    """
    what = QAccessible.Text.Description if isinstance(widget, QComboBox) else QAccessible.Text.Name
    return QAccessible.queryAccessibleInterface(widget).text(what)


def test_that_tab_goes_through_card_and_tab_as_they_are_read_and_everything_has_a_name_of_its_own(
    opened, dressed, qtbot
) -> None:
    bench = opened(cut(4096, 4096), TWO_CARDS, DevicesCard(dressed), width=1200)
    press(bench, "Split")
    first = tab(bench).list
    qtbot.waitUntil(bench.isActiveWindow)
    first.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(first.hasFocus)
    names = [spoken(first)]
    while (now := _next_focus()) is not first:
        names.append(spoken(now))
    assert len(set(names)) == len(names)
    assert all(names)
    places = [names.index(name) for name in (
        "soft placement", "carve of GPU 0, to scale", "Merge GPU:0 with the next slice",
        "memory of GPU:0", "memory of GPU:1", "memory of GPU:2", "slices of GPU 0, to scale",
        "slices of GPU 0", "slices of GPU 1, to scale", "slices of GPU 1",
    )]  # fmt: skip
    assert places == sorted(places)


def _next_focus() -> QWidget:
    before = QApplication.focusWidget()
    assert before is not None
    QTest.keyClick(before, Qt.Key.Key_Tab)
    return QApplication.focusWidget()


def test_that_a_shared_pool_is_an_error_on_the_card_and_in_the_tab(opened, dressed) -> None:
    bench = opened(cut(4096, 4096), TWO_CARDS, DevicesCard(dressed), width=1200)
    problems = tuple(allocator(bench.plan, {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}))
    for part in bench.parts:
        part.show_view(PlanView(bench.plan, TWO_CARDS, problems))
        assert "share one pool" in part.problem.text
        assert part.problem.isVisible()
    bench.show_plan()
    assert not any(part.problem.isVisible() for part in bench.parts)


def test_that_a_card_that_does_not_answer_is_drawn_lost_and_hidden_by_a_button(opened) -> None:
    why = "lost: the driver no longer answers for it"
    lost = Card(1, "", "NVIDIA card", "0000:02:00.0", lost=True, why_unknown=why)
    machine = replace(TWO_CARDS, cards=(TWO_CARDS.cards[0], lost))
    bench = opened(on_everything(machine), machine)
    shown = tab(bench)
    shown.choose("GPU:1")
    assert shown.list.model().index(1, 0).data() == "GPU 1  ·  lost"
    assert "GPU 1 does not answer" in shown.card.problem.text
    assert shown.card.mend.text() == "Hide it"
    QTest.mouseClick(shown.card.mend, Qt.MouseButton.LeftButton)
    assert bench.plan.devices.visible == ("GPU-0",)
    assert not shown.card.mend.isVisible()
    assert not shown.card.problem.text
