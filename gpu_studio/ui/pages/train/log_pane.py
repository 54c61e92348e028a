"""The log tab: the lines, the search under them, and the tools beside the tabs that choose among them."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.runs.reading.history import Level
from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.models.train.output_log import SLICES, OutputLog, level_of
from gpu_studio.ui.pages.train.find_bar import FindBar
from gpu_studio.ui.pages.train.log_search import selected_words, step
from gpu_studio.ui.pages.train.log_view import Line, LogView, told
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.choosing.choice_option import ChoiceOption
from gpu_studio.ui.widgets.choosing.option import Option

EVENTS, OUTPUT = "events", "output"
_SOURCES = {EVENTS: "events", OUTPUT: "trainer.log"}
_LEVELS = {"info": "all levels", "warning": "warnings and errors", "error": "errors"}
_FILTER_WIDTH = 160
_SEARCHED_HEIGHT = 200


class LogPane(QWidget):
    """What the trainer told, and what its process printed. `tools` stand elsewhere: follow, source, level, filter.

    `room_wanted(height)` asks for room for the lines and the search.
    """

    room_wanted = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.events, self.output = LogView(theme), LogView(theme)
        self.events.setAccessibleName("Log of the run")
        self.output.setAccessibleName("Output of the trainer process")
        self.find_bar = FindBar()
        self._views = QStackedWidget()
        for view in (self.events, self.output):
            self._views.addWidget(view)
            view.following_changed.connect(self._show_follow)
        self._seen = 0
        self._output_log: OutputLog | None = None
        self.source = ChoiceOption(theme, "What the trainer told, or all that its process printed")
        self.level = ChoiceOption(theme, "Which lines are shown")
        self.filter = QLineEdit()
        self.follow = Option.switch("follow", theme, "Keep the newest line in sight", on=True)
        self.more = Option("more", theme, "Find, copy or save these lines")
        self.tools = self._make_tools()
        self.menu = self._make_menu()
        self._lay_out()

    @property
    def shown(self) -> LogView:
        """The log that is in sight."""
        return self.output if self._views.currentWidget() is self.output else self.events

    def restart(self, run: LiveRun) -> None:
        """Show another run's."""
        self.events.clear_lines()
        self.output.clear_lines()
        self._seen = 0
        self._output_log = OutputLog(run.run.log_file)
        self._read_output(slices=SLICES)

    def refresh(self, run: LiveRun) -> None:
        """Show what is new of the run."""
        self.events.add([told(line) for line in run.log.since(self._seen)])
        self._seen = run.log.total
        self._read_output()

    def choose(self, source: str) -> None:
        """Show what the trainer told (`events`), or what its process printed (`output`)."""
        self.source.show_choice(source)
        self._views.setCurrentWidget(self.output if source == OUTPUT else self.events)
        self._read_output(slices=SLICES)
        self._show_follow()

    def set_level(self, least: str) -> None:
        """Show only lines of this level and of graver ones."""
        self.level.show_choice(least)
        for view in (self.events, self.output):
            view.set_level(cast("Level", least))

    def search(self) -> None:
        """Open the search, for what is selected."""
        self.room_wanted.emit(_SEARCHED_HEIGHT)
        self.find_bar.open_bar(selected_words(self.shown))

    def find_next(self, *, back: bool = False) -> None:
        """Go to the next place of what is searched, or the one before; opens the search if nothing is."""
        if self.find_bar.field.text():
            self.find_bar.show()
            self.find_bar.ask(back=back)
        else:
            self.search()

    def to_newest(self) -> None:
        """Go to the newest line, and keep it in sight."""
        self.shown.set_following(True)

    def copy(self) -> None:
        """Put what is selected on the clipboard, or else all lines that are shown."""
        chosen = self.shown.textCursor().selection().toPlainText()
        QGuiApplication.clipboard().setText(chosen or self.shown.toPlainText())

    @property
    def text(self) -> str:
        """The lines that are shown, each with its newline."""
        text = self.shown.toPlainText()
        return f"{text}\n" if text else ""

    def _read_output(self, slices: int = 1) -> None:
        """Read on, if it is seen: at the beginning all that is near the end, and then a slice at a time."""
        if self._output_log is None or self.shown is not self.output:
            return
        for _ in range(slices):
            self.output.add([Line(text, level_of(text)) for text in self._output_log.new()])

    def _find(self, words: str, back: bool) -> None:
        if not words:
            self.find_bar.tell(0, 0)
            return
        # Else the next new line would take what was found out of sight.
        self.shown.set_following(False)
        self.find_bar.tell(*step(self.shown, words, back=back))

    def _make_tools(self) -> QWidget:
        self.source.set_choices(_SOURCES, EVENTS, self.choose)
        self.level.set_choices(_LEVELS, "info", self.set_level)
        self.filter.setPlaceholderText("filter")
        self.filter.setAccessibleName("Show only lines with these words")
        self.filter.setToolTip("Show only lines that hold every one of these words")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(_FILTER_WIDTH)
        self.filter.textChanged.connect(self._set_filter)
        self.follow.clicked.connect(lambda on: self.shown.set_following(on))
        return _row(self.follow, self.source, self.level, self.filter, self.more)

    def _make_menu(self) -> QMenu:
        menu = QMenu("Log", self)
        menu.addAction("Find…").triggered.connect(self.search)
        menu.addAction("Jump to the newest line").triggered.connect(self.to_newest)
        menu.addAction("Copy").triggered.connect(self.copy)
        self.save = menu.addAction("Save as text…")
        self.more.set_menu(menu)
        return menu

    def _lay_out(self) -> None:
        self.find_bar.wanted.connect(self._find)
        self.find_bar.closed.connect(lambda: self.shown.setFocus())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._views, 1)
        column.addWidget(self.find_bar)

    def _set_filter(self, text: str) -> None:
        self.events.set_filter(text)
        self.output.set_filter(text)

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
