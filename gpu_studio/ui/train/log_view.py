"""A log: the newest lines, filtered, each in the colour of its level."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gpu_studio.common import figures
from gpu_studio.runs.reading.history import Level, LogLine
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager

MOST_LINES = 10_000
LEVELS: tuple[Level, ...] = ("info", "warning", "error")
_LONGEST = 4000
_SIGNS: dict[Level, str] = {"info": "", "warning": "⚠ ", "error": "✘ "}


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line to show, with its level."""

    text: str
    level: Level = "info"


def shown_line(line: LogLine) -> ShownLine:
    """A line of the events, with its time of day and a sign for its level."""
    message = line.message if len(line.message) <= _LONGEST else f"{line.message[:_LONGEST]}…"
    return ShownLine(f"{figures.clock(line.time)}  {_SIGNS[line.level]}{message}", line.level)


class LogView(QPlainTextEdit):
    """The newest ten thousand lines, of which those matching the filter and level are shown.

    While `following`, the newest line stays visible. Scrolling up ends that, scrolling to the end
    resumes it.
    """

    following_changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: deque[ShownLine] = deque(maxlen=MOST_LINES)
        self._filter = ""
        self._least: Level = "info"
        self._following = True
        self.setReadOnly(True)
        self.setFont(font("mono"))
        self.setMaximumBlockCount(MOST_LINES)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        # Lines are wrapped: a horizontal bar would only take a line's height.
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(1)
        self.verticalScrollBar().actionTriggered.connect(self._note_scroll)
        theme.changed.connect(self._rebuild)

    @property
    def following(self) -> bool:
        """Whether the newest line is kept visible."""
        return self._following

    def set_following(self, following: bool) -> None:
        """Keep the newest line visible, or stay at the present place."""
        if following:
            self._to_end()
        if following != self._following:
            self._following = following
            self.following_changed.emit()

    def add(self, lines: Sequence[ShownLine]) -> None:
        """Append these lines."""
        self._lines.extend(lines)
        self._append([line for line in lines[-MOST_LINES:] if self._wanted(line)])

    def clear_lines(self) -> None:
        """Forget all lines."""
        self._lines.clear()
        self.clear()
        self.set_following(True)

    def set_filter(self, text: str) -> None:
        """Show only lines that hold every word of `text`, ignoring case."""
        self._filter = text
        self._rebuild()

    def set_level(self, least: Level) -> None:
        """Show only lines of this level or a graver one."""
        self._least = least
        self._rebuild()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the newest line visible, if it was."""
        super().resizeEvent(event)
        if self._following:
            self._to_end()

    def _wanted(self, line: ShownLine) -> bool:
        if LEVELS.index(line.level) < LEVELS.index(self._least):
            return False
        text = line.text.casefold()
        return all(word in text for word in self._filter.casefold().split())

    def _rebuild(self) -> None:
        self.clear()
        self._append([line for line in self._lines if self._wanted(line)])

    def _append(self, lines: Sequence[ShownLine]) -> None:
        if not lines:
            return
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        # Insert lines of one level together: a block at a time is many times slower.
        for level, alike in groupby(lines, key=lambda line: line.level):
            if not self.document().isEmpty():
                cursor.insertBlock()
            cursor.insertText("\n".join(line.text for line in alike), self._shape(level))
        cursor.endEditBlock()
        if self._following:
            self._to_end()

    def _to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _note_scroll(self) -> None:
        """React to the user's scrolling.

        By wheel, key or bar, its new position says what is wanted.
        """
        bar = self.verticalScrollBar()
        self.set_following(bar.sliderPosition() >= bar.maximum())

    def _shape(self, level: Level) -> QTextCharFormat:
        tokens = self._theme.tokens
        colours = {"info": tokens.muted, "warning": tokens.warning, "error": tokens.bad}
        shape = QTextCharFormat()
        shape.setForeground(QColor(colours[level]))
        return shape
