"""The log tab: the lines, and the tools beside the tabs that choose among them."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QStackedWidget, QWidget

from gpu_studio.ui.models.live_run import LiveRun
from gpu_studio.ui.models.output_log import OutputLog
from gpu_studio.ui.pages.train.log_view import Line, LogView, told
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.option import Option

EVENTS, OUTPUT = range(2)
_FILTER_WIDTH = 180


class LogPane(QStackedWidget):
    """What the trainer told, and what its process printed. `tools` stand elsewhere: source, filter, follow."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.events, self.output = LogView(theme), LogView(theme)
        self.events.setAccessibleName("Log of the run")
        self.output.setAccessibleName("Output of the trainer process")
        self.addWidget(self.events)
        self.addWidget(self.output)
        self._seen = 0
        self._output_log: OutputLog | None = None
        self.source, self.filter = QComboBox(), QLineEdit()
        self.follow = Option.switch("follow", theme, "Keep the newest line in sight", on=True)
        self.tools = self._make_tools()

    @property
    def shown(self) -> LogView:
        """The log that is in sight."""
        return self.events if self.currentIndex() == EVENTS else self.output

    def restart(self, run: LiveRun) -> None:
        """Show another run's."""
        self.events.clear_lines()
        self.output.clear_lines()
        self._seen = 0
        self._output_log = OutputLog(run.run.log_file)

    def refresh(self, run: LiveRun) -> None:
        """Show what is new of the run."""
        self.events.add([told(line) for line in run.log.since(self._seen)])
        self._seen = run.log.total
        if self._output_log is not None and self.currentIndex() == OUTPUT:
            self.output.add([Line(text) for text in self._output_log.new()])

    def _make_tools(self) -> QWidget:
        self.source.addItems(["Events", "trainer.log"])
        self.source.setAccessibleName("Which log")
        self.source.setToolTip("What the trainer told, or all that its process printed")
        self.source.currentIndexChanged.connect(self._choose)
        self.filter.setPlaceholderText("filter")
        self.filter.setAccessibleName("Show only lines with these words")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(_FILTER_WIDTH)
        self.filter.textChanged.connect(self._set_filter)
        self.follow.clicked.connect(self._set_follow)
        for log in (self.events, self.output):
            log.following_changed.connect(self._show_follow)
        return _row(self.follow, self.source, self.filter)

    def _choose(self, index: int) -> None:
        self.setCurrentIndex(index)
        if index == OUTPUT and self._output_log is not None:
            self.output.add([Line(text) for text in self._output_log.new()])
        self._show_follow()

    def _set_filter(self, text: str) -> None:
        self.events.set_filter(text)
        self.output.set_filter(text)

    def _set_follow(self, on: bool) -> None:
        self.shown.set_following(on)

    def _show_follow(self) -> None:
        self.follow.setChecked(self.shown.following)


def _row(*widgets: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(GRID)
    for widget in widgets:
        row.addWidget(widget)
    return holder
