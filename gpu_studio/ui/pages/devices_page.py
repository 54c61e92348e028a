"""The Devices page: what this machine has, and who is using it."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QGuiApplication, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.ui.models.devices.alerts import AlertWatch
from gpu_studio.ui.models.devices.checkup import Checkup
from gpu_studio.ui.models.devices.device_rows import DeviceRow, rows_of, rows_of_machine
from gpu_studio.ui.models.devices.devices_file import DevicesFile
from gpu_studio.ui.models.devices.devices_model import DevicesModel, as_text
from gpu_studio.ui.models.devices.inventory import Inventory
from gpu_studio.ui.models.devices.sampler import Sampler
from gpu_studio.ui.pages.devices.devices_table import DevicesTable
from gpu_studio.ui.pages.devices.doctor_button import DoctorButton
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.button import ActionButton, Button
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Label, Paragraph
from gpu_studio.ui.widgets.page import GAP, Page

if TYPE_CHECKING:
    from gpu_studio.ui.pages.devices.history_plot import HistoryPlot
    from gpu_studio.ui.pages.devices.side_card import SideCard

CLASSES = ("fast", "slow", "processes", "pcie", "host", "host_processes")
WITHOUT_CARDS = (
    "Everything works here without one: the CPU can be carved into logical devices, which TensorFlow treats as it "
    "would cards, and a plan made so trains in the same way."
)
_WIDE = 1000


class DevicesPage(Page):
    """A table of the physical devices, live plots, and who is on the cards. Watches only while it is seen."""

    def __init__(
        self,
        theme: ThemeManager,
        inventory: Inventory,
        sampler: Sampler,
        checkup: Checkup,
        doctor: QAction,
        copy: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Devices", parent)
        self._theme = theme
        self._inventory = inventory
        self._sampler = sampler
        self._checkup = checkup
        self._live: tuple[HistoryPlot, SideCard] | None = None
        self.alerts = AlertWatch(sampler, self)
        self.file = DevicesFile(sampler, self)
        self.model = DevicesModel(self)
        self.table = DevicesTable(theme, self.model)
        self.table.retry.connect(sampler.retry)
        self.simulated = Label("", "strong")
        self.header.insertWidget(2, self.simulated)
        self.doctor = DoctorButton(theme, doctor)
        self.save = Button("Save as CSV…")
        self.save.setToolTip("Write the cards and their figures to a file, as gpu-studio devices --csv has them")
        self.save.clicked.connect(self.save_csv)
        for button in (self.doctor, ActionButton(copy, text="Copy as text"), self.save):
            self.add_button(button)
        self._add_cards()
        inventory.changed.connect(self._follow)
        sampler.changed.connect(self._follow_sampler)
        checkup.changed.connect(self._follow_checkup)
        theme.changed.connect(self._wear)
        self._wear()
        self._follow()

    @property
    def text(self) -> str:
        """All devices and their figures as text."""
        return f"{self.caption.text()}\n\n{as_text(self.model.rows)}\n"

    @property
    def plot(self) -> HistoryPlot:
        """The live plots, made when the page is first seen: what draws them takes long to import."""
        return self._parts()[0]

    @property
    def side(self) -> SideCard:
        """Processes, topology and events, made likewise."""
        return self._parts()[1]

    def copy(self) -> None:
        """Put the devices on the clipboard as text."""
        QGuiApplication.clipboard().setText(self.text)

    def save_csv(self) -> None:
        """Ask for a file, and write the devices to it as CSV."""
        self.file.choose_and_write(self)

    def close_parts(self) -> None:
        """Let go of what is watched."""
        if self._live is not None:
            self._live[1].processes.close_ending()

    def _add_cards(self) -> None:
        self._devices = Card()
        self._devices.setAccessibleName("devices")
        self._devices.body.setContentsMargins(6, 6, 6, 6)
        self._devices.body.addWidget(self.table)
        self._absence = Card("No NVIDIA card in use")
        self._why = Paragraph()
        self._absence.body.addWidget(self._why)
        self._absence.body.addWidget(Paragraph(WITHOUT_CARDS, "muted"))
        self._row = QHBoxLayout()
        self._row.setSpacing(GAP)
        self.column.addWidget(self._devices)
        self.column.addWidget(self._absence)
        self.column.addLayout(self._row, 1)

    def _parts(self) -> tuple[HistoryPlot, SideCard]:
        if self._live is None:
            from gpu_studio.ui.pages.devices.history_plot import HistoryPlot
            from gpu_studio.ui.pages.devices.side_card import SideCard

            self._live = (
                HistoryPlot(self._theme, self._sampler.history),
                SideCard(self._theme, self._checkup, self.alerts),
            )
            self._row.addWidget(self._live[0], 3)
            self._row.addWidget(self._live[1], 2)
            self._fit()
        return self._live

    # What is told

    def _follow(self) -> None:
        picture, machine = self._sampler.picture, self._inventory.machine
        watched = "cards" in picture.seen
        self.caption.setText(self._caption())
        self.simulated.setText(f"simulated: {picture.simulated}" if picture.simulated else "")
        self.simulated.setVisible(bool(picture.simulated))
        if watched:
            self._show(rows_of(picture, machine, self._sampler.trouble))
        elif machine is not None:
            self._show(rows_of_machine(machine))
        self._devices.setVisible(bool(self.model.rows))
        why = picture.why if watched else machine.why_no_cards if machine else ""
        none = not picture.cards if watched else machine is not None and not machine.cards
        self._absence.setVisible(none and bool(self.model.rows) and not self._inventory.error)
        self._why.setText(sentence(why))
        if watched and self._live is not None and self.isVisible():
            self.plot.show_devices(self.model.rows)
            self.side.show_picture(picture)

    def _follow_sampler(self) -> None:
        """Show what is new; while others look and this page is hidden, nothing is drawn."""
        if self.isVisible():
            self._follow()

    def _show(self, rows: tuple[DeviceRow, ...]) -> None:
        before = len(self.model.rows)
        self.model.set_rows(rows)
        self.table.span()
        if len(rows) != before:
            self._fit_table()

    def _follow_checkup(self) -> None:
        diagnosis = self._checkup.diagnosis
        self.doctor.show_problems(diagnosis.problems if diagnosis else 0)

    def _caption(self) -> str:
        if self._inventory.looking:
            return "looking at the machine…"
        picture = self._sampler.picture
        driver = f"driver {picture.driver}" if picture.driver else ""
        cuda = f"CUDA {picture.cuda}" if picture.cuda else ""
        return self._inventory.error or " · ".join(filter(None, (platform.node(), driver, cuda)))

    def _wear(self) -> None:
        self.simulated.setStyleSheet(f"color: {self._theme.tokens.warning}")
        self.table.viewport().update()

    # What Qt tells

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Watch while it is seen."""
        super().showEvent(event)
        self._parts()
        self._sampler.look(CLASSES)
        if self._checkup.diagnosis is None:
            self._checkup.glance()
        self._follow()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Watch no more."""
        super().hideEvent(event)
        self._sampler.rest()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Fit the columns to the room."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        wide = self.width() >= _WIDE
        for place, share in enumerate((3, 2) if wide else (1, 1)):
            self._row.setStretch(place, share)
        if self._live is not None:
            self.plot.set_brief(not wide)
        self._fit_table()

    def _fit_table(self) -> None:
        self.table.fit(wide=self.width() >= _WIDE, page_height=self.height())
