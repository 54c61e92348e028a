from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything
from plan_bench import Bench, drag, open_bench
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gpu_studio.plan import Card, Carve, DeviceSettings, Machine, Plan
from gpu_studio.plan.card_memory import OUTSIDE_MIB
from gpu_studio.plan.carving import slices_of
from gpu_studio.ui.plan.devices_card import LOW, DevicesCard, StripView
from gpu_studio.ui.plan.plan_view import PlanView


def cards(count: int) -> Machine:
    made = (Card(k, f"GPU-5d{k:02}", "NVIDIA H100", "", 81_559, 512, 593) for k in range(count))
    return Machine(tuple(made), 64, 512 * 1024)


@pytest.fixture
def opened(qtbot, dressed):
    """Open the card on a plan for a machine, as large as it is on the page."""

    def open_(machine: Machine, plan: Plan | None = None, width: int = 412) -> Bench:
        part = DevicesCard(dressed)
        return open_bench(
            qtbot, plan or on_everything(machine), machine, part, width=width, height=205
        )

    return open_


def view(bench: Bench, device: str) -> StripView:
    return bench.parts[0].list.views[device]


def test_that_a_card_is_carved_into_four_and_a_divider_is_moved(opened) -> None:
    bench = opened(cards(1), Plan())
    bar = view(bench, "GPU:0").bar
    choice = view(bench, "GPU:0").choice
    choice.setFocus()
    for _ in range(3):
        QTest.keyClick(choice, Qt.Key.Key_Down)
    four = slices_of(bench.plan, "GPU:0", bench.machine)
    assert four == (19_712,) * 4
    drag(bar, 0, bar.track.start(0) + 10_240)
    assert slices_of(bench.plan, "GPU:0", bench.machine) == (
        10_240,
        2 * 19_712 - 10_240,
        19_712,
        19_712,
    )
    bench.document.undo_stack.undo()
    assert slices_of(bench.plan, "GPU:0", bench.machine) == four
    bench.document.undo_stack.redo()
    assert bar.track.sizes[0] == 10_240


@pytest.mark.parametrize("count", [3, 8, 16])
@pytest.mark.parametrize("width", [330, 412])
def test_that_many_cards_stand_in_a_line_each_and_are_reached_by_scrolling(
    opened, count: int, width: int
) -> None:
    bench = opened(cards(count), width=width)
    area = bench.parts[0].area
    assert len(bench.parts[0].list.views) == count
    assert (area.verticalScrollBar().maximum() > 0) == (count > 3)
    assert area.widget().width() <= area.viewport().width()
    last = view(bench, f"GPU:{count - 1}")
    assert last.height() <= 40
    last.bar.setFocus()
    area.ensureWidgetVisible(last.bar)
    assert last.bar.visibleRegion().boundingRect().height() == last.bar.height()
    QTest.keyClick(last.bar, Qt.Key.Key_S)
    assert len(slices_of(bench.plan, f"GPU:{count - 1}", bench.machine)) == 2


def test_that_the_bars_of_many_cards_are_to_one_scale(opened) -> None:
    bench = opened(cards(8))
    view(bench, "GPU:3").choice.edited.emit("4 slices")
    assert len({each.bar.width() for each in bench.parts[0].list.views.values()}) == 1


def test_that_logical_cpus_are_shown_and_cut_but_not_dragged(opened) -> None:
    bench = opened(WITHOUT_CARDS)
    cpu = view(bench, "CPU:0")
    assert cpu.bar.focusPolicy() == Qt.FocusPolicy.NoFocus
    assert "CPU:3" in cpu.bar.accessibleDescription()
    assert "share the cores; no memory limit" in cpu.note.text()
    QTest.mouseClick(cpu.bar, Qt.MouseButton.LeftButton)
    cpu.choice.edited.emit("2 slices")
    assert slices_of(bench.plan, "CPU:0", bench.machine) == (0, 0)


def test_that_what_others_use_and_the_driver_keeps_is_said(opened) -> None:
    bench = opened(TWO_CARDS)
    assert view(bench, "GPU:1").note.text() == "▨ driver 300 MiB, other programs now 1 GiB"
    assert view(bench, "GPU:1").bar.accessibleDescription().startswith("in use now 1.3 GiB")


def test_that_an_error_stands_under_the_card_that_it_is_of(opened) -> None:
    carve = (Carve("GPU:1", (20_000, 20_000)), Carve("GPU:7", (1024,)))
    bench = opened(
        TWO_CARDS, replace(on_everything(TWO_CARDS), devices=DeviceSettings(carve=carve))
    )
    assert not view(bench, "GPU:0").problem.text
    assert "take away at least 15,724 MiB" in view(bench, "GPU:1").problem.text
    assert "there is no such device" in view(bench, "GPU:7").problem.text
    view(bench, "GPU:7").choice.edited.emit("whole")
    view(bench, "GPU:1").choice.edited.emit("2 slices")
    assert slices_of(bench.plan, "GPU:7", TWO_CARDS) == ()
    assert not view(bench, "GPU:1").problem.text


def test_that_what_may_fail_is_said_and_is_no_error(opened) -> None:
    bench = opened(
        TWO_CARDS,
        replace(
            on_everything(TWO_CARDS), devices=DeviceSettings(carve=(Carve("GPU:1", (24_000,)),))
        ),
    )
    assert "in use by other programs" in view(bench, "GPU:1").problem.text
    assert view(bench, "GPU:1").choice.currentText() == "1 slice"
    bench.document.replace(
        replace(bench.plan, devices=DeviceSettings(carve=(Carve("GPU:1", (23_000,)),))), "less"
    )
    assert view(bench, "GPU:1").problem.text.startswith("CUDA itself needs about 1 GiB")


def test_that_a_card_with_instances_of_its_own_is_carved_as_any_other(opened) -> None:
    name = "MIG-51b71a7e-0001-4000-8000-000000000000"
    part = Card(0, name, "NVIDIA A100 MIG 3g.40gb", "", 40_192, 25, 100, instance="3g.40gb")
    mig = Machine((part, replace(part, uuid="MIG-2", instance="2g.20gb")), 16)
    bench = opened(mig, Plan())
    bar = view(bench, name).bar
    bar.setFocus()
    QTest.keyClick(bar, Qt.Key.Key_S)
    assert sum(slices_of(bench.plan, name, mig)) == 40_192 - 125 - OUTSIDE_MIB
    assert bench.plan.devices.visible == (name,)
    assert "one at a time" in view(bench, "MIG-2").bar.accessibleDescription()


@pytest.mark.parametrize("key", [Qt.Key.Key_S, Qt.Key.Key_Insert], ids=["split", "add"])
def test_that_dividing_a_whole_card_leaves_what_cuda_needs_and_brings_no_warning(
    opened, key
) -> None:
    bench = opened(cards(1), Plan())
    bar = view(bench, "GPU:0").bar
    bar.setFocus()
    QTest.keyClick(bar, key)
    sizes = slices_of(bench.plan, "GPU:0", bench.machine)
    assert len(sizes) == 2
    assert sum(sizes) == 81_559 - 512 - 593 - OUTSIDE_MIB
    assert view(bench, "GPU:0").problem.text == ""
    QTest.keyClick(bar, Qt.Key.Key_Delete)
    QTest.keyClick(bar, Qt.Key.Key_Delete)
    assert slices_of(bench.plan, "GPU:0", bench.machine) == ()


def test_that_a_hidden_card_says_so_and_is_not_cut(opened) -> None:
    bench = opened(
        TWO_CARDS, replace(on_everything(TWO_CARDS), devices=DeviceSettings(visible=("GPU:1",)))
    )
    hidden = view(bench, "GPU:0")
    assert "hidden" in hidden.bar.accessibleDescription()
    assert not hidden.choice.isEnabled()
    assert hidden.bar.focusPolicy() == Qt.FocusPolicy.NoFocus


def test_that_devices_have_their_height_from_the_first_paint_on(qtbot, dressed) -> None:
    card = DevicesCard(dressed)
    qtbot.addWidget(card)
    card.resize(412, 205)
    card.show()
    qtbot.waitExposed(card)
    machine = cards(8)
    card.show_view(PlanView(Plan(), machine, ()))
    assert card.list.minimumSizeHint().height() >= 9 * LOW
