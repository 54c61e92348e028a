"""The card beside the plots: processes, topology, events."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from gpu_studio.hardware.picture import Picture
from gpu_studio.hardware.topology import as_text
from gpu_studio.ui.models.alerts import EventLog
from gpu_studio.ui.models.checkup import Checkup
from gpu_studio.ui.models.device_history import DeviceHistory
from gpu_studio.ui.models.processes_model import EventsModel
from gpu_studio.ui.pages.devices.processes_pane import ProcessesPane
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.table import Table

PROCESSES, TOPOLOGY, EVENTS = range(3)


class SideCard(Card):
    """Three tabs, of which one is shown."""

    def __init__(self, checkup: Checkup, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Processes, topology and events")
        self.processes = ProcessesPane()
        self.topology = TopologyPane(checkup)
        self.log = EventLog()
        self.events = EventsModel(self)
        self.event_table = Table(self.events, "Events of the devices")
        self.event_table.set_widths({0: 84, 1: 82}, stretch=2)
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("What is shown beside the plots")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self._pages = QStackedWidget()
        for title, page in (
            ("Processes", self.processes),
            ("Topology", self.topology),
            ("Events", self.event_table),
        ):
            self.tabs.addTab(title)
            self._pages.addWidget(page)
        self.tabs.currentChanged.connect(self._pages.setCurrentIndex)
        self.body.setContentsMargins(2 * GRID - 4, GRID + 2, 2 * GRID - 4, GRID + 2)
        self.body.addWidget(self.tabs)
        self.body.addWidget(self._pages, 1)

    def show_picture(self, picture: Picture, history: DeviceHistory) -> None:
        """Show what is known now."""
        self.processes.show_processes(picture)
        if self.log.take(picture, history):
            self.events.set_rows(self.log.events[::-1])
            self.tabs.setTabText(EVENTS, f"Events {len(self.log.events)}")


class TopologyPane(QWidget):
    """How the cards are joined, as the matrix and in words."""

    def __init__(self, checkup: Checkup, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._checkup = checkup
        self.matrix = QPlainTextEdit()
        self.matrix.setReadOnly(True)
        self.matrix.setTabChangesFocus(True)
        self.matrix.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.matrix.setFont(font("mono_caption"))
        self.matrix.setAccessibleName("How the cards are joined")
        self.advice = Paragraph("", "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, GRID, 0, 0)
        column.addWidget(self.matrix, 1)
        column.addWidget(self.advice)
        checkup.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        diagnosis = self._checkup.diagnosis
        if diagnosis is None:
            self.matrix.hide()
            self.advice.setText(self._checkup.error or self._checkup.waiting_for)
            return
        text = as_text(diagnosis.topology)
        if text != self.matrix.toPlainText():
            self.matrix.setPlainText(text)
        self.matrix.setVisible(bool(text))
        words = diagnosis.advice.words if diagnosis.advice else ("There is no card to be joined to another.",)
        self.advice.setText("\n".join(words))
