from __future__ import annotations

from dataclasses import replace

import pytest
from devices_bench import bench, cut, field, opened, tab
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything
from plan_bench import Bench, type_over
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gpu_studio.plan import Card, Carve, DeviceSettings, Machine, dumps, loads, validate
from gpu_studio.plan.carving import slices_of

__all__ = ["bench", "opened"]

CTRL = Qt.KeyboardModifier.ControlModifier


def test_that_growth_is_locked_while_a_card_is_carved_and_says_why(bench: Bench) -> None:
    growth = tab(bench).switches.switches["memory_growth"]
    assert not growth.isEnabled()
    assert "while a device is carved" in growth.toolTip()
    bench.document.replace(on_everything(TWO_CARDS), "whole")
    assert growth.isEnabled()
    QTest.mouseClick(growth, Qt.MouseButton.LeftButton, pos=QPoint(10, growth.height() // 2))
    assert bench.plan.devices.memory_growth
    assert growth.isChecked()
    bench.document.undo_stack.undo()
    assert not growth.isChecked()


def test_that_growth_with_a_carve_from_a_file_is_an_error_at_its_switch_and_can_be_mended(
    opened,
) -> None:
    plan = replace(cut(4096), devices=replace(cut(4096).devices, memory_growth=True))
    bench = opened(plan, TWO_CARDS)
    switches = tab(bench).switches
    assert "memory cannot grow" in switches.problem.text
    assert "memory cannot grow" in tab(bench).problem.text
    switches.switches["memory_growth"].click()
    assert validate(bench.plan, TWO_CARDS) == []
    assert not switches.problem.isVisible()
    assert not tab(bench).problem.isVisible()


@pytest.mark.parametrize("name", ["soft_placement", "log_placement"])
def test_that_placement_is_switched(bench: Bench, name: str) -> None:
    before = getattr(bench.plan.devices, name)
    tab(bench).switches.switches[name].click()
    assert getattr(bench.plan.devices, name) is not before
    bench.document.undo_stack.undo()
    assert tab(bench).switches.switches[name].isChecked() is before


def test_that_cards_are_named_by_uuid_and_by_number_again(bench: Bench) -> None:
    switch = tab(bench).switches.by_uuid
    before = bench.plan
    switch.click()
    assert bench.plan.devices.carve[0].device == "GPU-0"
    assert field(bench, 2).value() == 8192
    switch.click()
    assert bench.plan == before


def test_that_a_card_without_a_uuid_that_a_plan_can_name_keeps_its_number(opened) -> None:
    nameless = Machine((Card(0, "", "NVIDIA A100", "", 40_192, 25, 100),), 16)
    bench = opened(cut(1024), nameless)
    tab(bench).switches.by_uuid.click()
    assert bench.plan.devices.carve[0].device == "GPU:0"
    assert not tab(bench).switches.by_uuid.isChecked()


def test_that_a_plan_that_names_no_card_has_no_names_to_change(opened) -> None:
    bench = opened(on_everything(TWO_CARDS), TWO_CARDS)
    assert not tab(bench).switches.by_uuid.isEnabled()
    assert "names no card" in tab(bench).switches.by_uuid.toolTip()


def test_that_the_cpu_has_a_number_and_no_limits(opened) -> None:
    bench = opened(on_everything(WITHOUT_CARDS), WITHOUT_CARDS)
    cpu = tab(bench).cpu
    assert cpu.isVisible()
    type_over(cpu.count, "7")
    assert slices_of(bench.plan, "CPU:0", WITHOUT_CARDS) == (0,) * 7
    type_over(cpu.count, "1")
    assert bench.plan.devices.carve == ()
    assert loads(dumps(bench.plan)) == bench.plan


def test_that_a_limit_on_a_cpu_from_a_file_is_an_error_there(opened) -> None:
    plan = replace(
        on_everything(WITHOUT_CARDS), devices=DeviceSettings(carve=(Carve("CPU:0", (0, 512)),))
    )
    bench = opened(plan, WITHOUT_CARDS)
    assert "TensorFlow cannot limit the memory of a CPU" in tab(bench).cpu.problem.text
    type_over(tab(bench).cpu.count, "3")
    assert not tab(bench).cpu.problem.isVisible()
