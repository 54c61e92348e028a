"""The card under the plots: log, checkpoints, and the details of a bad end."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget, QTabBar, QWidget

from gpu_studio.ui.models.checkpoints_model import CheckpointsModel
from gpu_studio.ui.models.live_run import LiveRun
from gpu_studio.ui.pages.train.log_pane import LogPane
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.table import Table

LOG, CHECKPOINTS, DETAILS = range(3)
_STRETCH = 0
_WIDTHS = {1: 80, 2: 100, 3: 110, 4: 90, 5: 110, 6: 110}
_LEAST, _USUAL = 84, 122


class DetailsCard(Card):
    """Tabs: the log, a table of the checkpoints, and, where there is such, the traceback or the end of the log."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Log and checkpoints")
        self.log = LogPane(theme)
        self.checkpoints = CheckpointsModel(self)
        self.table = Table(self.checkpoints, "Checkpoints")
        self.table.set_widths(_WIDTHS, stretch=_STRETCH)
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("What is shown under the plots")
        self.tabs.addTab("Log")
        self.tabs.addTab("Checkpoints")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFont(font("mono"))
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName("Details of how the run ended")
        self._pages = QStackedWidget()
        self._pages.addWidget(self.log)
        self._pages.addWidget(self.table)
        self._pages.addWidget(self.details)
        self.tabs.currentChanged.connect(self._choose)
        self._lay_out()

    def restart(self, run: LiveRun) -> None:
        """Show another run's."""
        self.log.restart(run)
        self.checkpoints.set_checkpoints(())
        self.set_details("")

    def set_details(self, text: str) -> None:
        """Offer this text in a tab of its own; an empty one takes the tab away."""
        self.details.setPlainText(text)
        if text and self.tabs.count() == DETAILS:
            self.tabs.addTab("Details")
        elif not text and self.tabs.count() > DETAILS:
            self.tabs.removeTab(DETAILS)

    def show_details(self) -> None:
        """Open that tab."""
        self.tabs.setCurrentIndex(DETAILS)

    def refresh(self, run: LiveRun) -> None:
        """Show what is new of the run."""
        self.log.refresh(run)
        self.checkpoints.set_checkpoints(run.history.checkpoints)
        count = len(run.history.checkpoints)
        text = f"Checkpoints {count}" if count else "Checkpoints"
        if self.tabs.tabText(CHECKPOINTS) != text:
            self.tabs.setTabText(CHECKPOINTS, text)

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
        self.body.addLayout(self.header)
        self.body.addWidget(self._pages, 1)

    def _choose(self, index: int) -> None:
        self._pages.setCurrentIndex(index)
        self.log.tools.setVisible(index == LOG)
