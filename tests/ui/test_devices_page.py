from __future__ import annotations

from dataclasses import replace

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS, answering
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QAbstractItemModelTester

from gpu_studio.plan import Machine, starter
from gpu_studio.ui.models.devices_model import DEVICE, MEMORY, TENSORFLOW, DevicesModel
from gpu_studio.ui.models.inventory import Inventory
from gpu_studio.ui.models.plan_document import PlanDocument
from gpu_studio.ui.pages.devices_page import DevicesPage

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


@pytest.fixture
def model(qapp):
    made = DevicesModel()
    tester = QAbstractItemModelTester(made, FATAL)
    yield made
    del tester


def text(model: DevicesModel, row: int, column: int) -> str:
    return model.data(model.index(row, column))


def with_used(machine: Machine, used: int | None) -> Machine:
    return replace(machine, cards=(replace(machine.cards[0], used_mib=used), *machine.cards[1:]))


def test_that_cards_stand_in_bus_order_and_the_cpu_last(model: DevicesModel) -> None:
    model.set_machine(TWO_CARDS)
    assert [text(model, row, DEVICE) for row in range(3)] == ["GPU 0 NVIDIA Test", "GPU 1 NVIDIA Test", "CPU 16 cores"]
    assert [text(model, row, TENSORFLOW) for row in range(3)] == ["GPU:0", "GPU:1", "CPU:0"]
    assert [text(model, row, MEMORY) for row in range(3)] == ["0.0 / 24.0 GiB", "1.0 / 24.0 GiB", "128.0 GiB"]


def test_that_only_the_row_whose_figures_changed_is_told_of(model: DevicesModel, qtbot) -> None:
    model.set_machine(TWO_CARDS)
    with qtbot.waitSignal(model.dataChanged) as told, qtbot.assertNotEmitted(model.modelReset):
        model.set_machine(with_used(TWO_CARDS, 12_288))
    assert (told.args[0].row(), told.args[1].row()) == (0, 0)
    with qtbot.assertNotEmitted(model.dataChanged):
        model.set_machine(with_used(TWO_CARDS, 12_288))


def test_that_other_devices_are_other_rows(model: DevicesModel) -> None:
    model.set_machine(TWO_CARDS)
    model.set_machine(WITHOUT_CARDS)
    assert model.rowCount() == 1
    model.set_machine(TWO_CARDS)
    assert model.rowCount() == 3


def test_that_a_figure_that_is_not_there_is_never_shown_as_zero(model: DevicesModel) -> None:
    model.set_machine(with_used(TWO_CARDS, None))
    assert text(model, 0, MEMORY) == "24.0 GiB, use not known"
    asleep = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], used_mib=None, why_unknown="asleep"),))
    model.set_machine(asleep)
    assert text(model, 0, MEMORY) == "asleep"
    unknown = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], total_mib=None, used_mib=None),), memory_mib=0)
    model.set_machine(unknown)
    assert [text(model, row, MEMORY) for row in range(2)] == ["not known", "not known"]


@pytest.fixture
def page(qtbot, theme):
    """Open the page on a machine."""
    inventories: list[Inventory] = []

    def open_page(machine: Machine) -> DevicesPage:
        inventory, document = Inventory(answering(machine)), PlanDocument()
        inventories.append(inventory)
        shown = DevicesPage(theme, inventory, document, QAction("Refresh"))
        qtbot.addWidget(shown)
        inventory.refresh()
        assert "looking" in shown.caption.text()
        qtbot.waitUntil(lambda: inventory.machine is not None)
        document.begin(starter(machine))
        shown.show()
        return shown

    yield open_page
    for inventory in inventories:
        inventory.close()


def test_that_a_machine_without_cards_says_why_and_what_works(page) -> None:
    shown = page(WITHOUT_CARDS)
    assert shown._absence.isVisible()
    assert shown._why.text() == "No NVIDIA driver is installed."
    assert shown.model.rowCount() == 1


def test_that_a_machine_with_cards_has_nothing_to_excuse(page) -> None:
    shown = page(TWO_CARDS)
    assert not shown._absence.isVisible()
    assert shown.model.rowCount() == 3
    assert shown.table.grab().toImage().isNull() is False


def test_that_the_memory_bar_is_drawn_in_the_devices_colour(page, theme) -> None:
    shown = page(with_used(TWO_CARDS, 12_288))
    shown.resize(1100, 700)
    image = shown.table.viewport().grab().toImage()
    colour = theme.tokens.device_colour(0)
    drawn = sum(image.pixelColor(x, 18).name() == colour for x in range(image.width()))
    # Half of a bar of 130 pixels, and the dot before the name.
    assert 60 <= drawn <= 80


def test_that_rows_can_be_reached_by_keyboard_and_read_aloud(page, qtbot) -> None:
    shown = page(TWO_CARDS)
    shown.table.setFocus()
    qtbot.keyClick(shown.table, Qt.Key.Key_Down)
    index = shown.table.currentIndex()
    assert shown.model.data(index, Qt.ItemDataRole.AccessibleTextRole)


def test_that_the_devices_are_shown_as_the_plan_cuts_them(page) -> None:
    shown = page(WITHOUT_CARDS)
    view = shown._carved.views["CPU:0"]
    assert view._bar.accessibleDescription() == "CPU:0, CPU:1, CPU:2, CPU:3"
    assert not view.choice.isVisible()
