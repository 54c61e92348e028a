"""The Devices tab of the Plan page with a plan of its own, and actions on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from made_machines import TWO_CARDS
from made_plans import on_everything
from plan_bench import Bench, open_bench
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gpu_studio.plan import Carve, DeviceSettings, Machine, Plan
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.devices_tab import DevicesTab


@pytest.fixture
def opened(qtbot: QtBot, dressed: ThemeManager) -> Callable[..., Bench]:
    """Open the tab on a plan for a machine, as large as it is on the page."""

    def open_(
        plan: Plan, machine: Machine, *more: QWidget, width: int = 725, height: int = 380
    ) -> Bench:
        return open_bench(
            qtbot, plan, machine, DevicesTab(dressed), *more, width=width, height=height
        )

    return open_


@pytest.fixture
def bench(opened: Callable[..., Bench]) -> Bench:
    """Two cards, the first in three slices."""
    return opened(cut(4096, 4096, 8192), TWO_CARDS)


def cut(*sizes: int) -> Plan:
    """Mirrored over two cards, the first in slices of these sizes."""
    return replace(on_everything(TWO_CARDS), devices=DeviceSettings(carve=(Carve("GPU:0", sizes),)))


def tab(bench: Bench) -> DevicesTab:
    """The tab."""
    found = bench.parts[0]
    assert isinstance(found, DevicesTab)
    return found


def field(bench: Bench, index: int) -> Any:
    """The field of a slice's size."""
    return tab(bench).card.fields.cells[index].field
