"""The card below the plots: log, checkpoints, where layers ran, and the details of a failure."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit, QStackedWidget, QWidget

from gpu_studio.common.safe_files import write_output
from gpu_studio.contract import slug
from gpu_studio.ui.kit import GRID, CardFrame, SteadyTabs, ThemeManager, coloured_icon, font
from gpu_studio.ui.train.checkpoints_desk import CheckpointsDesk
from gpu_studio.ui.train.checkpoints_pane import CheckpointsModel, CheckpointsPane
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.log_pane import LogPane
from gpu_studio.ui.train.placement_pane import PlacementPane
from gpu_studio.ui.train.predictions_pane import PredictionsPane


class NamedTabs(SteadyTabs):
    """A bar of tabs over `pages`, which are placed elsewhere. `opened(name)` reports the open tab.

    A name is the tab's text, unless `set_text` gives it another one.
    """

    opened = Signal(str)

    def __init__(self, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._theme = theme
        self._alarms: set[str] = set()
        theme.changed.connect(self._draw_alarms)
        self.pages = QStackedWidget()
        self._names: list[str] = []
        self.currentChanged.connect(self._show)

    @property
    def current(self) -> str:
        """The name of the tab that is open."""
        return self._names[self.currentIndex()]

    def add(self, name: str, page: QWidget, *, offered: bool = True) -> None:
        """Add a tab with its page after the others; a tab that is not `offered` is hidden."""
        self._names.append(name)
        self.pages.addWidget(page)
        self.addTab(name)
        self.offer(name, offered)

    def open(self, name: str) -> None:
        """Show this tab's page. Raises ValueError if there is no such tab."""
        self.setCurrentIndex(self._names.index(name))

    def offer(self, name: str, offered: bool) -> None:
        """Show or hide the tab; if it was open, its neighbour opens."""
        if self.offers(name) != offered:
            self.setTabVisible(self._names.index(name), offered)
            # Qt does not inform the layout, which would keep the bar's earlier width.
            self.updateGeometry()

    def offers(self, name: str) -> bool:
        """Return whether the tab is shown."""
        return self.isTabVisible(self._names.index(name))

    def text(self, name: str) -> str:
        """Return the tab's text."""
        return self.tabText(self._names.index(name))

    def set_text(self, name: str, text: str) -> None:
        """Set the tab's text."""
        if self.text(name) != text:
            self.setTabText(self._names.index(name), text)

    def set_alarm(self, name: str, on: bool, words: str) -> None:
        """Mark the tab as having a problem, or not; `words` explain it in a tooltip."""
        self._alarms = self._alarms | {name} if on else self._alarms - {name}
        self.setTabToolTip(self._names.index(name), words)
        self._draw_alarms()

    def _draw_alarms(self) -> None:
        sign = coloured_icon("warning", self._theme.tokens.bad)
        for index, name in enumerate(self._names):
            self.setTabIcon(index, sign if name in self._alarms else QIcon())

    def _show(self, index: int) -> None:
        if 0 <= index < len(self._names):
            self.pages.setCurrentIndex(index)
            self.opened.emit(self._names[index])


FILTER = "Text (*.txt);;All files (*)"


class LogFile(QObject):
    """Asks for a file and writes the lines to it. `reported(text, tone)` says how that went."""

    reported = Signal(str, str)

    def __init__(self, pane: LogPane, window: QWidget) -> None:
        super().__init__(window)
        self._pane, self._window = pane, window
        self.name = ""
        pane.save.triggered.connect(self.choose_and_write)

    def choose_and_write(self) -> None:
        """Ask for a file, and write the currently shown lines to it."""
        text = self._pane.text
        dialog = QFileDialog(self._window, "Save the log as text", str(Path.home()), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("txt")
        dialog.selectFile(f"{slug(self.name)}-log.txt")
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: self._write(Path(name), text))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _write(self, path: Path, text: str) -> None:
        try:
            write_output(path.absolute(), [text.encode("utf-8", "replace")])
        except OSError as error:
            why = error.strerror or str(error)
            self.reported.emit(
                f"The log could not be written to {path}: {why}. Write it to another place.", "bad"
            )
        else:
            self.reported.emit(f"The lines that were shown are in {path}.", "plain")


LOG, CHECKPOINTS, PLACEMENT, DETAILS = "Log", "Checkpoints", "Placement", "Details"
PREDICTIONS = "Predictions"
_LEAST, _USUAL = 92, 122
_TEXT_HEIGHT = 260
_ALL = 100
"""The stretch of what takes all the space beside the tabs."""


class DetailsCard(CardFrame):
    """Tabs.

    The log, the checkpoints and, if there are any, predictions, the placement and the failure's
    details.

    The details are the traceback or the end of the log. `height_wanted(height)` asks for space for
    a tab that was opened; `permissions_changed` fires when the set of possible actions on
    checkpoints and placement changes.
    """

    height_wanted = Signal(int)
    permissions_changed = Signal()

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
        self.predictions = PredictionsPane(theme)
        self.tabs = NamedTabs("What is shown under the plots", theme)
        self.tabs.add(LOG, self.log)
        self.tabs.add(CHECKPOINTS, self.table)
        self.tabs.add(PREDICTIONS, self.predictions, offered=False)
        self.tabs.add(PLACEMENT, self.placement, offered=False)
        self.tabs.add(DETAILS, self.details, offered=False)
        self.tabs.opened.connect(self._show_tools)
        self.log.height_wanted.connect(self.height_wanted)
        self.desk.predicted.connect(self.predictions.show_predictions)
        self.predictions.shown.connect(self._open_predictions)
        self.predictions.step_wanted.connect(self._step)
        self.desk.jobs.changed.connect(lambda: self.predictions.show_work(self.desk.work))
        for changed in (self.table.allowed, self.desk.jobs.changed, self.placement.changed):
            changed.connect(self.permissions_changed)
        self._lay_out()

    def restart(self, run: LiveRun) -> None:
        """Switch to another run."""
        self.log.restart(run)
        self.log_file.name = run.run.id
        self.checkpoints.set_checkpoints(())
        self.desk.restart(run)
        self.set_details("")
        self.predictions.show_predictions(None)
        self.tabs.offer(PREDICTIONS, offered=False)
        self.placement.restart()
        self._show_placement()

    def set_details(self, text: str) -> None:
        """Offer this text in a tab of its own; an empty text removes the tab."""
        self.details.setPlainText(text)
        self.tabs.offer(DETAILS, bool(text))

    def show_details(self) -> None:
        """Open that tab."""
        self.tabs.open(DETAILS)

    def want_of_best(self, action: str) -> None:
        """Show the checkpoints, select the best one, and request this action on it."""
        self.tabs.open(CHECKPOINTS)
        if (row := self.checkpoints.best) is not None:
            self.table.choose_row(row)
            self.table.want(action)

    def refresh(self, run: LiveRun) -> None:
        """Show what is new in the run."""
        self.log.refresh(run)
        self.checkpoints.set_checkpoints(run.history.checkpoints)
        self.table.set_live(run.live)
        self._allow_steps()
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
        self.header.addWidget(self.predictions.tools, _ALL)
        self.table.tools.hide()
        self.predictions.tools.hide()
        self.body.addLayout(self.header)
        self.body.addWidget(self.tabs.pages, 1)

    def _open_predictions(self) -> None:
        self.tabs.offer(PREDICTIONS, offered=True)
        self.tabs.open(PREDICTIONS)
        self._allow_steps()

    def _row_after(self, by: int) -> int | None:
        """The row of the checkpoint that is `by` later than the one predicted with."""
        found, rows = self.predictions.found, self.checkpoints.rows
        names = [each.name for each in rows]
        if found is None or found.checkpoint not in names:
            return None
        row = names.index(found.checkpoint) - by  # the newest comes first
        return row if 0 <= row < len(names) else None

    def _allow_steps(self) -> None:
        self.predictions.allow_steps([by for by in (-1, 1) if self._row_after(by) is not None])

    def _step(self, by: int) -> None:
        """Predict with another checkpoint, unless one is being predicted with already."""
        row = self._row_after(by)
        if row is not None and not self.desk.jobs.jobs:
            self.table.choose_row(row)
            self.table.want("predict")

    def _show_placement(self) -> None:
        """Offer the tab if a run has a placement, and mark it if the placement was not followed."""
        self.tabs.offer(PLACEMENT, self.placement.there)
        self.tabs.set_text(PLACEMENT, f"{PLACEMENT}{self.placement.mark}")
        self.tabs.set_alarm(PLACEMENT, bool(self.placement.mark), self.placement.words)

    def _show_tools(self, name: str) -> None:
        self.log.tools.setVisible(name == LOG)
        self.table.tools.setVisible(name == CHECKPOINTS)
        self.predictions.tools.setVisible(name == PREDICTIONS)
        if name == PLACEMENT:
            self.height_wanted.emit(self.placement.wanted_height)
        elif name == PREDICTIONS:
            self.height_wanted.emit(self.predictions.wanted_height)
        elif name == DETAILS:
            self.height_wanted.emit(_TEXT_HEIGHT)
        elif name == CHECKPOINTS and self.checkpoints.rowCount():
            self.height_wanted.emit(self.table.wanted_height)
