"""The card under the plots: log, checkpoints, where layers ran, and the details of a bad end."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gpu_studio.ui.models.train.checkpoints_model import CheckpointsModel
from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.pages.train.checkpoints_desk import CheckpointsDesk
from gpu_studio.ui.pages.train.checkpoints_pane import CheckpointsPane
from gpu_studio.ui.pages.train.log_file import LogFile
from gpu_studio.ui.pages.train.log_pane import LogPane
from gpu_studio.ui.pages.train.placement_pane import PlacementPane
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.named_tabs import NamedTabs

LOG, CHECKPOINTS, PLACEMENT, DETAILS = "Log", "Checkpoints", "Placement", "Details"
_LEAST, _USUAL = 92, 122
_TEXT_HEIGHT = 260
_ALL = 100
"""The stretch of what takes all the room beside the tabs."""


class DetailsCard(Card):
    """Tabs: the log, and a table of the checkpoints; where there is such, the placement, and the details of the end.

    These are the traceback or the end of the log. `room_wanted(height)` asks for room for a tab that was opened.
    """

    room_wanted = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Log and checkpoints")
        self.log = LogPane(theme)
        self.log_file = LogFile(self.log, self)
        self.checkpoints = CheckpointsModel(self)
        self.table = CheckpointsPane(theme, self.checkpoints)
        self.desk = CheckpointsDesk(self.table, self.checkpoints, self)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFont(font("mono"))
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName("Details of how the run ended")
        self.placement = PlacementPane(theme)
        self.tabs = NamedTabs("What is shown under the plots", theme)
        self.tabs.add(LOG, self.log)
        self.tabs.add(CHECKPOINTS, self.table)
        self.tabs.add(PLACEMENT, self.placement, offered=False)
        self.tabs.add(DETAILS, self.details, offered=False)
        self.tabs.opened.connect(self._show_tools)
        self.log.room_wanted.connect(self.room_wanted)
        self._lay_out()

    def restart(self, run: LiveRun) -> None:
        """Show another run's."""
        self.log.restart(run)
        self.log_file.name = run.run.id
        self.checkpoints.set_checkpoints(())
        self.desk.restart(run)
        self.set_details("")
        self.placement.restart()
        self._show_placement()

    def set_details(self, text: str) -> None:
        """Offer this text in a tab of its own; an empty one takes the tab away."""
        self.details.setPlainText(text)
        self.tabs.offer(DETAILS, bool(text))

    def show_details(self) -> None:
        """Open that tab."""
        self.tabs.open(DETAILS)

    def want_of_best(self, deed: str) -> None:
        """Show the checkpoints, choose the best one, and ask for this of it."""
        self.tabs.open(CHECKPOINTS)
        if (row := self.checkpoints.best) is not None:
            self.table.choose_row(row)
            self.table.want(deed)

    def refresh(self, run: LiveRun) -> None:
        """Show what is new of the run."""
        self.log.refresh(run)
        self.checkpoints.set_checkpoints(run.history.checkpoints)
        self.table.set_live(run.live)
        count = len(run.history.checkpoints)
        self.tabs.set_text(CHECKPOINTS, f"{CHECKPOINTS} {count}" if count else CHECKPOINTS)
        if self.placement.refresh(run.history, run.record):
            self._show_placement()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The tabs and a few lines."""
        return QSize(600, _USUAL)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The tabs and a line or two."""
        return QSize(300, _LEAST)

    def _lay_out(self) -> None:
        self.body.setContentsMargins(GRID + 4, GRID, GRID + 4, GRID)
        self.body.setSpacing(GRID // 2)
        self.header.addWidget(self.tabs)
        self.header.addStretch(1)
        self.header.addWidget(self.log.tools)
        self.header.addWidget(self.table.tools, _ALL)
        self.table.tools.hide()
        self.body.addLayout(self.header)
        self.body.addWidget(self.tabs.pages, 1)

    def _show_placement(self) -> None:
        """Offer the tab where a run has a placement, and mark it where something of it is not as asked."""
        self.tabs.offer(PLACEMENT, self.placement.there)
        self.tabs.set_text(PLACEMENT, f"{PLACEMENT}{self.placement.mark}")
        self.tabs.set_alarm(PLACEMENT, bool(self.placement.mark), self.placement.words)

    def _show_tools(self, name: str) -> None:
        self.log.tools.setVisible(name == LOG)
        self.table.tools.setVisible(name == CHECKPOINTS)
        if name == PLACEMENT:
            self.room_wanted.emit(self.placement.wanted_height)
        elif name == DETAILS:
            self.room_wanted.emit(_TEXT_HEIGHT)
        elif name == CHECKPOINTS and self.checkpoints.rowCount():
            self.room_wanted.emit(self.table.wanted_height)
