"""The card beside the plots: processes, topology, events.

The processes on the cards and on the CPU stand in a table to sort and filter, with a way to end
one.
"""

from __future__ import annotations

import os

import psutil
from PySide6.QtCore import QObject, QSortFilterProxyModel, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.hardware.device_rows import run_of
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.ui.devices.alerts import AlertWatch
from gpu_studio.ui.devices.processes_model import (
    COMMAND,
    DEVICE,
    MEMORY,
    PID,
    USER,
    EventsModel,
    OnDevice,
    ProcessesModel,
    on_devices,
)
from gpu_studio.ui.devices.topology_pane import TopologyPane
from gpu_studio.ui.kit import (
    GRID,
    SORT_ROLE,
    Button,
    CardFrame,
    Dialog,
    Paragraph,
    SteadyTabs,
    Table,
    ThemeManager,
)
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
        self.tabs = SteadyTabs("What is shown beside the plots")
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


GRACE_MS = 5000
LOOK_MS = 200


class ProcessEnder(QObject):
    """Ends one process at a time.

    `reported(words)` says what becomes of it; `bad` whether it could not be ended.
    """

    reported = Signal(str)

    def __init__(self, parent: QObject | None = None, grace_ms: int = GRACE_MS) -> None:
        super().__init__(parent)
        self._grace_ms = grace_ms
        self._process: psutil.Process | None = None
        self._waited = 0
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._see)

    @property
    def busy(self) -> bool:
        """Whether a process is being ended just now."""
        return self._process is not None

    def end(self, pid: int) -> None:
        """Send SIGTERM to this process, and SIGKILL if it is still alive after a grace period."""
        if self.busy:
            return
        self._waited = 0
        try:
            # psutil compares start times, so that a later process with the same number is left
            # alone.
            self._process = psutil.Process(pid)
            self._process.terminate()
        except psutil.Error as error:
            self._tell_why_not(pid, error)
        else:
            self.reported.emit(f"Process {pid} was asked to end.")
            self._look.start()

    def close(self) -> None:
        """Stop watching."""
        self._look.stop()
        self._process = None

    def _see(self) -> None:
        process = self._process
        if process is None:
            return
        self._waited += LOOK_MS
        if _is_gone(process):
            self.close()
            self.reported.emit(f"Process {process.pid} has ended.")
        elif self._waited >= self._grace_ms:
            self._kill(process)

    def _kill(self, process: psutil.Process) -> None:
        self.close()
        try:
            process.kill()
        except psutil.Error as error:
            self._tell_why_not(process.pid, error)
        else:
            self.reported.emit(
                f"Process {process.pid} did not end within {self._grace_ms / 1000:g} "
                "s and was killed."
            )

    def _tell_why_not(self, pid: int, error: psutil.Error) -> None:
        self.close()
        self.reported.emit(why_not(pid, error))


def why_not(pid: int, error: psutil.Error) -> str:
    """Why a process could not be ended, and what to do."""
    if isinstance(error, psutil.NoSuchProcess):
        return f"Process {pid} has already ended."
    if isinstance(error, psutil.AccessDenied):
        return (
            f"Process {pid} belongs to another user, and the system does "
            "not let you end it (EPERM): "
            f"ask its owner, or type: sudo kill {pid}"
        )
    return f"Process {pid} could not be ended: {error}."


def _is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


SIMULATED = "Simulated processes cannot be ended: there are none"
NONE_CHOSEN = "Select a process first"
THIS_WINDOW = "This is the window that you are looking at: close it instead"
BUSY = "A process is being ended"
ELSEWHERE = (
    "This system does not know the process: it runs outside of this "
    "container, and has to be ended there"
)
_WIDE = 480
_WIDTHS, _NARROW = {PID: 92, USER: 70, DEVICE: 106, MEMORY: 96}, {PID: 84, DEVICE: 70, MEMORY: 90}
_ROW = 28


class ProcessesPane(QWidget):
    """The processes, those that hold most memory first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = ProcessesModel(self)
        self.ending = ProcessEnder(self)
        self._simulated = False
        self._proxy = QSortFilterProxyModel(self)
        self._proxy.setSourceModel(self.model)
        self._proxy.setSortRole(SORT_ROLE)
        self._proxy.setFilterKeyColumn(-1)
        self._proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.table = Table(self._proxy, "Processes on the devices")
        self.filter = QLineEdit()
        self.end = Button("End process", small=True)
        self.words = Paragraph("", "caption")
        self._lay_out()
        self.filter.textChanged.connect(self._proxy.setFilterFixedString)
        self.end.clicked.connect(self._end_chosen)
        self.ending.reported.connect(self._tell)
        self.table.selectionModel().selectionChanged.connect(self._allow)
        self._proxy.modelReset.connect(self._allow)
        self._allow()

    @property
    def chosen(self) -> OnDevice | None:
        """The process that is selected."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.rows[self._proxy.mapToSource(rows[0]).row()] if rows else None

    def show_processes(self, picture: MachinePicture) -> None:
        """Show who is there now."""
        self._simulated = bool(picture.simulated)
        kept = self.chosen
        self.model.set_rows(on_devices(picture))
        if kept is not None:
            self._choose(kept)
        self._allow()
        if not self.ending.busy and not self.words.property("said"):
            self.words.setText(_summary(picture))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Where space is short the user stands before the command."""
        super().resizeEvent(event)
        wide = self.width() >= _WIDE
        self.table.set_widths(_WIDTHS if wide else _NARROW, stretch=COMMAND)
        self.table.setColumnHidden(USER, not wide)
        self.model.set_brief(not wide)

    def close_ending(self) -> None:
        """Look no more after a process that is being ended."""
        self.ending.close()

    def _lay_out(self) -> None:
        self.filter.setPlaceholderText("Filter")
        self.filter.setAccessibleName("Filter the processes")
        self.filter.setClearButtonEnabled(True)
        self.table.set_widths(_WIDTHS, stretch=COMMAND)
        self.table.set_row_height(_ROW)
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(MEMORY, Qt.SortOrder.DescendingOrder)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID - 2)
        head = QHBoxLayout()
        head.addWidget(self.filter, 1)
        head.addWidget(self.end)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        column.addWidget(self.words)

    def _choose(self, wanted: OnDevice) -> None:
        key = self.model.key(wanted)
        place = next(
            (n for n, row in enumerate(self.model.rows) if self.model.key(row) == key), None
        )
        now = self.chosen
        if place is not None and (now is None or self.model.key(now) != key):
            self.table.choose_row(self._proxy.mapFromSource(self.model.index(place, 0)).row())

    def _allow(self) -> None:
        why_not = self._why_not()
        self.end.setEnabled(not why_not)
        self.end.setToolTip(
            why_not or "Ask the process to end; it is killed if it has not after 5 s"
        )

    def _why_not(self) -> str:
        chosen = self.chosen
        if self.ending.busy:
            return BUSY
        if chosen is None:
            return SIMULATED if self._simulated else NONE_CHOSEN
        if self._simulated and not chosen.on_host:
            return SIMULATED
        if chosen.process.pid == os.getpid():
            return THIS_WINDOW
        return ELSEWHERE if chosen.process.command is None else ""

    def _end_chosen(self) -> None:
        chosen = self.chosen
        if chosen is None or self._why_not():
            return
        if chosen.mine and (run_of(chosen.process) or not chosen.on_host):
            self.ending.end(chosen.process.pid)
        else:
            self._ask_first(chosen)
        self._allow()

    def _ask_first(self, chosen: OnDevice) -> None:
        pid, user = chosen.process.pid, chosen.process.user or "somebody else"
        dialog = Dialog(
            f"End your process {pid}?" if chosen.mine else f"End process {pid} of {user}?", self
        )
        whose = "" if chosen.mine else "It is not yours. "
        dialog.column.addWidget(
            Paragraph(f"{whose}What it has not saved is lost.\n{chosen.process.command}")
        )
        sure = Button("End it")
        sure.clicked.connect(lambda: self.ending.end(pid))
        sure.clicked.connect(dialog.close)
        dialog.add_buttons(sure)
        dialog.show()

    def _tell(self, words: str) -> None:
        self.words.setProperty("said", True)
        self.words.setText(words)
        self._allow()


def _summary(picture: MachinePicture) -> str:
    processes, host = picture.processes, picture.host_processes
    if processes is None:
        return ""
    reasons = sorted(set(processes.why.values()))
    some = (
        ""
        if not reasons
        else f"{plural(len(processes.why), 'card')} not listed: {', '.join(reasons)}"
    )
    on_cards = len({each.pid for each in processes.processes})
    on_host = len(host.processes) if host else 0
    parts = (
        _on_cards(on_cards) if picture.cards else "",
        some,
        host.why or _on_host(on_host) if host else "",
    )
    return " · ".join(filter(None, parts))


def _on_cards(count: int) -> str:
    return (
        f"{plural(count, 'process', 'processes')} on the cards"
        if count
        else "no process on the cards"
    )


def _on_host(count: int) -> str:
    return (
        f"{plural(count, 'process', 'processes')} on the CPU"
        if count
        else "no process uses much of the CPU"
    )
