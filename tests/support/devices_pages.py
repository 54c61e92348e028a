"""The Devices page for a chosen machine and sampler."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from made_machines import answering
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from gpu_studio.plan import Machine
from gpu_studio.ui.devices.devices_page import DeviceActions, DevicesPage
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.machine.sampler import SamplerClient

ShowDevices = Callable[[Machine, SamplerClient], DevicesPage]


def page_actions() -> DeviceActions:
    """Actions that do nothing."""
    return DeviceActions(*map(QAction, ("Doctor…", "Copy", "Practise", "Stop practising")))


@pytest.fixture
def show_devices(qtbot: QtBot, theme: ThemeManager) -> Iterator[ShowDevices]:
    """Show the page of a machine with a sampler; the doctor is one that finds nothing.

    All is closed after the test.
    """
    watchers: list[Inventory | SamplerClient | Checkup] = []

    def show(machine: Machine, sampler: SamplerClient) -> DevicesPage:
        inventory, checkup = (
            Inventory(answering(machine)),
            Checkup(command=(sys.executable, "-S", "-c", "print('{}')")),
        )
        watchers.extend((inventory, sampler, checkup))
        shown = DevicesPage(theme, inventory, sampler, checkup, page_actions())
        qtbot.addWidget(shown)
        shown.resize(1180, 740)
        inventory.refresh()
        qtbot.waitUntil(lambda: inventory.machine is not None)
        shown.show()
        return shown

    yield show
    for watcher in watchers:
        watcher.close()
