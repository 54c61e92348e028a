"""The log tab: the lines, the search bar below them, and the filters beside the tabs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QTextCursor
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.runs.reading.log_lines import Level
from gpu_studio.ui.kit import GRID, Button, ChoiceOption, Label, OptionButton, ThemeManager
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.run_log import SLICES, LogView, OutputLog, ShownLine, level_of, shown_line

_FIELD = 240


class FindBar(QWidget):
    """Hidden until it is opened; Escape closes it.

    `wanted(words, back)` asks for the next match, or the previous one.
    """

    wanted = Signal(str, bool)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field, self.found = QLineEdit(), Label(role="caption")
        self.field.setPlaceholderText("find")
        self.field.setAccessibleName("Find in the log")
        self.field.setFixedWidth(_FIELD)
        self.field.textChanged.connect(lambda: self.ask())
        self.previous, self.next = Button("Previous", small=True), Button("Next", small=True)
        self.previous.setToolTip("The place before (Shift+F3)")
        self.next.setToolTip("The next place (F3)")
        self.previous.clicked.connect(lambda: self.ask(back=True))
        self.next.clicked.connect(lambda: self.ask())
        self._close = Button("Close", "quiet", small=True)
        self._close.setToolTip("Close the search (Esc)")
        self._close.clicked.connect(self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, GRID // 2, 0, 0)
        row.setSpacing(GRID)
        for widget in (self.field, self.previous, self.next, self.found):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self._close)
        self.hide()

    def open_bar(self, words: str = "") -> None:
        """Open it for typing, with these words if there are any."""
        self.show()
        if words:
            self.field.setText(words)
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_bar(self) -> None:
        """Close it."""
        self.hide()
        self.closed.emit()

    def ask(self, *, back: bool = False) -> None:
        """Ask for the next match, or the previous one."""
        self.wanted.emit(self.field.text(), back)

    def tell(self, place: int, places: int) -> None:
        """Show the number of the current match, counted from 1, and the number of matches."""
        words = f"{place} of {places}" if places else "not found"
        self.found.setText(words if self.field.text() else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Return goes to the next match, with Shift to the previous one; Escape closes."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.ask(back=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(event)


_PARAGRAPH = "\u2029"
_UNIT = 2
"""Qt counts the units of UTF-16, of two bytes each, where Python counts characters."""


def places(text: str, words: str) -> Iterator[int]:
    """Return the positions of `words` in `text`, ignoring case, without overlaps."""
    text, words = _small(text), _small(words)
    place = text.find(words) if words else -1
    while place >= 0:
        yield place
        place = text.find(words, place + len(words))


def step(view: QPlainTextEdit, words: str, *, back: bool) -> tuple[int, int]:
    """Select the next match of `words`, or the previous one, wrapping around.

    Returns which it is, of how many. While a word is typed, the match of the part typed so far is
    kept if it has the rest. (0, 0) if there is none.
    """
    text, cursor = view.toPlainText(), view.textCursor()
    found = list(places(text, words))
    start, end = (
        _characters(text, cursor.selectionStart()),
        _characters(text, cursor.selectionEnd()),
    )
    if not found:
        cursor.setPosition(cursor.selectionStart())
        view.setTextCursor(cursor)
        return 0, 0
    grown = end > start and end - start != len(words)
    chosen = (
        _before(found, start)
        if back
        else _after(found, start if grown else start + 1, fresh=end == start)
    )
    cursor.setPosition(_units(text, found[chosen]))
    cursor.setPosition(_units(text, found[chosen] + len(words)), QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)
    return chosen + 1, len(found)


def selected_words(view: QPlainTextEdit) -> str:
    """What is selected, if it is within a line."""
    text = view.textCursor().selectedText()
    return "" if _PARAGRAPH in text else text


def _after(found: list[int], least: int, *, fresh: bool) -> int:
    if fresh:
        least -= 1
    return next((number for number, place in enumerate(found) if place >= least), 0)


def _before(found: list[int], start: int) -> int:
    return next(
        (number for number in reversed(range(len(found))) if found[number] < start), len(found) - 1
    )


def _small(text: str) -> str:
    """Return `text` in lower case and of the same length: a few letters become two."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(each.lower()[:1] for each in text)


def _units(text: str, place: int) -> int:
    return (
        place if text.isascii() else len(text[:place].encode("utf-16-le", "surrogatepass")) // _UNIT
    )


def _characters(text: str, units: int) -> int:
    if text.isascii():
        return units
    return len(
        text.encode("utf-16-le", "surrogatepass")[: units * _UNIT].decode("utf-16-le", "replace")
    )


EVENTS, OUTPUT = "events", "output"
_SOURCES = {EVENTS: "events", OUTPUT: "trainer.log"}
_LEVELS = {"info": "all levels", "warning": "warnings and errors", "error": "errors"}
_FILTER_WIDTH = 160
_SEARCHED_HEIGHT = 200


class LogPane(QWidget):
    """What the trainer reported, and what its process printed.

    `tools` are placed elsewhere: follow, source, level, filter. `height_wanted(height)` asks for
    space for the lines and the search.
    """

    height_wanted = Signal(int)

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
        self.source = ChoiceOption(
            theme, "What the trainer reported, or all that its process printed"
        )
        self.level = ChoiceOption(theme, "Which lines are shown")
        self.filter = QLineEdit()
        self.follow = OptionButton.switch("follow", theme, "Keep the newest line in view", on=True)
        self.more = OptionButton("more", theme, "Find, copy or save these lines")
        self.tools = self._make_tools()
        self.menu = self._make_menu()
        self._lay_out()

    @property
    def shown(self) -> LogView:
        """The visible log."""
        return self.output if self._views.currentWidget() is self.output else self.events

    def restart(self, run: LiveRun) -> None:
        """Switch to another run."""
        self.events.clear_lines()
        self.output.clear_lines()
        self._seen = 0
        self._output_log = OutputLog(run.run.log_file)
        self._read_output(slices=SLICES)

    def refresh(self, run: LiveRun) -> None:
        """Show what is new in the run."""
        self.events.add([shown_line(line) for line in run.log.since(self._seen)])
        self._seen = run.log.total
        self._read_output()

    def choose(self, source: str) -> None:
        """Show the trainer's reports (`events`), or its process's output (`output`)."""
        self.source.show_choice(source)
        self._views.setCurrentWidget(self.output if source == OUTPUT else self.events)
        self._read_output(slices=SLICES)
        self._show_follow()

    def set_level(self, least: str) -> None:
        """Show only lines of this level or a graver one."""
        self.level.show_choice(least)
        for view in (self.events, self.output):
            view.set_level(cast("Level", least))

    def search(self) -> None:
        """Open the search, with the selection."""
        self.height_wanted.emit(_SEARCHED_HEIGHT)
        self.find_bar.open_bar(selected_words(self.shown))

    def find_next(self, *, back: bool = False) -> None:
        """Go to the next match, or the previous one; open the search if there is none."""
        if self.find_bar.field.text():
            self.find_bar.show()
            self.find_bar.ask(back=back)
        else:
            self.search()

    def to_newest(self) -> None:
        """Go to the newest line, and keep it in view."""
        self.shown.set_following(True)

    def copy(self) -> None:
        """Copy the selection, or else all shown lines, to the clipboard."""
        chosen = self.shown.textCursor().selection().toPlainText()
        QGuiApplication.clipboard().setText(chosen or self.shown.toPlainText())

    @property
    def text(self) -> str:
        """The lines that are shown, each with its newline."""
        text = self.shown.toPlainText()
        return f"{text}\n" if text else ""

    def _read_output(self, slices: int = 1) -> None:
        """Read on, if it is visible.

        At first everything near the end is read, and then a slice at a time.
        """
        if self._output_log is None or self.shown is not self.output:
            return
        for _ in range(slices):
            self.output.add([ShownLine(text, level_of(text)) for text in self._output_log.new()])

    def _find(self, words: str, back: bool) -> None:
        if not words:
            self.find_bar.tell(0, 0)
            return
        # Otherwise the next new line would scroll the match out of sight.
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
