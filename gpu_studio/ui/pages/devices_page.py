"""The Devices page: what this machine has."""

from __future__ import annotations

import platform

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.models.devices_model import DEVICE, MEMORY, TENSORFLOW, DevicesModel
from gpu_studio.ui.models.inventory import Inventory
from gpu_studio.ui.models.plan_document import PlanDocument
from gpu_studio.ui.models.strips import strips_of
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.button import ActionButton
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.device_cells import MemoryCell, NameCell
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.page import Page
from gpu_studio.ui.widgets.strip_view import StripList
from gpu_studio.ui.widgets.table import Table

WITHOUT_CARDS = (
    "Everything works here without one: the CPU can be carved into logical devices, which TensorFlow treats as it "
    "would cards, and a plan made so trains in the same way. Only the cards' own figures are missing."
)


class DevicesPage(Page):
    """A table of the physical devices; where there is no card, the reason and what works all the same."""

    def __init__(
        self,
        theme: ThemeManager,
        inventory: Inventory,
        document: PlanDocument,
        refresh: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Devices", parent)
        self._theme = theme
        self._inventory = inventory
        self._document = document
        self.model = DevicesModel(self)
        self.table = self._make_table()
        self.add_button(ActionButton(refresh, text="Refresh"))
        self._add_cards()
        inventory.changed.connect(self._follow)
        document.changed.connect(self._follow_plan)
        self._follow()

    def _make_table(self) -> Table:
        table = Table(self.model, "devices of this machine")
        table.setItemDelegateForColumn(DEVICE, NameCell(self._theme, table))
        table.setItemDelegateForColumn(MEMORY, MemoryCell(self._theme, table))
        table.set_widths({DEVICE: 360, MEMORY: 340}, stretch=TENSORFLOW)
        table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme.changed.connect(table.viewport().update)
        return table

    def _add_cards(self) -> None:
        self._devices = Card()
        self._devices.setAccessibleName("devices")
        self._devices.body.setContentsMargins(6, 6, 6, 6)
        self._devices.body.addWidget(self.table)
        self._absence = Card("No NVIDIA card in use")
        self._why = Paragraph()
        self._absence.body.addWidget(self._why)
        self._absence.body.addWidget(Paragraph(WITHOUT_CARDS, "muted"))
        self.column.addWidget(self._devices)
        self._carved = StripList(self._theme, editable=False)
        self._seen = Card("As the open plan cuts them")
        self._seen.body.addWidget(self._carved)
        self.column.addWidget(self._absence)
        self.column.addWidget(self._seen)
        self.column.addStretch(1)

    def _follow(self) -> None:
        machine = self._inventory.machine
        self.caption.setText(self._caption())
        self._devices.setVisible(machine is not None)
        self._seen.setVisible(machine is not None and self._document.plan is not None)
        self._absence.setVisible(machine is not None and not machine.cards and not self._inventory.error)
        if machine is None:
            return
        self._why.setText(sentence(machine.why_no_cards))
        self.model.set_machine(machine)
        self.table.updateGeometry()
        self._follow_plan()

    def _follow_plan(self) -> None:
        plan, machine = self._document.plan, self._inventory.machine
        self._seen.setVisible(plan is not None and machine is not None)
        if plan is not None and machine is not None:
            self._carved.show_strips(strips_of(plan, machine))

    def _caption(self) -> str:
        if self._inventory.looking:
            return "looking at the machine…"
        return self._inventory.error or platform.node()
