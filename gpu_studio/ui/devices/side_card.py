"""The card beside the plots: processes, topology, events."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget, QWidget

from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.ui.devices.alerts import AlertWatch
from gpu_studio.ui.devices.processes_model import EventsModel
from gpu_studio.ui.devices.processes_pane import ProcessesPane
from gpu_studio.ui.devices.topology_pane import TopologyPane
from gpu_studio.ui.kit.card import CardFrame
from gpu_studio.ui.kit.tables.table import Table
from gpu_studio.ui.kit.tabs import tab_bar
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.machine.checkup import Checkup

PROCESSES, TOPOLOGY, EVENTS = range(3)


class SideCard(CardFrame):
    """Three tabs, of which one is shown."""

    def __init__(
        self,
        theme: ThemeManager,
        checkup: Checkup,
        alerts: AlertWatch,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Processes, topology and events")
        self.processes = ProcessesPane()
        self.topology = TopologyPane(theme, checkup)
        self.log = alerts.log
        self.events = EventsModel(self)
        self.event_table = Table(self.events, "Events of the devices")
        self.event_table.set_widths({0: 84, 1: 82}, stretch=2)
        self.event_table.setWordWrap(True)
        self.tabs = tab_bar("What is shown beside the plots")
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

    def show_picture(self, picture: MachinePicture) -> None:
        """Show what is known now."""
        self.processes.show_processes(picture)
        self.topology.show_cards(picture)
        if len(self.events.rows) != len(self.log.events) or self.events.rows[:1] != tuple(
            self.log.events[-1:]
        ):
            self.events.set_rows(self.log.events[::-1])
            self.tabs.setTabText(EVENTS, f"Events {len(self.log.events)}")
