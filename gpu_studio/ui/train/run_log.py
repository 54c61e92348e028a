"""A run's log: its events as lines, its trainer's output as lines, and the view of them.

The events tell what happened, without every step. New output is read however much there is. The
view shows the newest lines, filtered, each in the colour of its level.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural
from gpu_studio.common.safe_files import open_regular
from gpu_studio.contract import ENDED, AnyEvent, events
from gpu_studio.runs.reading.log_lines import Level, LogLine, LogLines
from gpu_studio.runs.reading.progress import saved_at
from gpu_studio.runs.reading.workers import cluster_words
from gpu_studio.ui.kit import ThemeManager, font

_ENDS = {
    "completed": "finished",
    "early_stopping": "finished early: the monitored metric no longer improved",
    "stopped": "stopped, with a checkpoint",
    "stopped_now": "stopped, without a checkpoint",
}


class RunLog:
    """The newest ten thousand lines of a run; `total` counts all lines so far."""

    def __init__(self) -> None:
        self._lines = LogLines()

    @property
    def total(self) -> int:
        """The number of all lines so far."""
        return self._lines.total

    def add(self, event: AnyEvent) -> None:
        """Take in the run's next event; most give no line."""
        level, message = _reported(event)
        if message:
            self.say(event.time, level, message)

    def say(self, time: float, level: Level, message: str) -> None:
        """Add a line of the reader's own, at `time` (seconds since 1970, UTC)."""
        self._lines.say(time, level, message)

    def since(self, seen: int) -> list[LogLine]:
        """Return the lines after the first `seen`, as far as they are kept, oldest first."""
        fresh = min(self.total - seen, len(self._lines))
        return list(islice(self._lines, len(self._lines) - fresh, None))


def _reported(event: AnyEvent) -> tuple[Level, str]:
    match event:
        case events.Log():
            return "info", event.message
        case events.PhaseBegan() | events.Xla():
            return "info", event.words
        case events.ClusterStarted():
            return "info", cluster_words(event)
        case events.Warned():
            return "warning", f"{event.message} {event.suggestion}".rstrip()
        case events.Failed():
            return "error", event.message
        case events.StateChanged() if event.state not in ENDED:  # an end has an event of its own
            return "info", f"{event.state}: {event.reason}" if event.reason else event.state
        case events.Epoch():
            return "info", _epoch(event)
        case events.Checkpoint():
            return "info", _checkpoint(event)
        case events.Finished():
            end = f"finished early: {event.by} ended it" if event.by else _ENDS[event.reason]
            return "info", f"{end} {_metric_values(event.metrics)}".rstrip()
    return "info", _beginning(event)


def _beginning(event: AnyEvent) -> str:
    match event:
        case events.Started():
            begun = f"started as process {event.pid} on {event.host}{event.on_practice}"
            resumed = f", resumed from {event.resumed_from} at step {grouped(event.from_step)}"
            return f"{begun}{resumed}" if event.resumed_from else begun
        case events.Devices():
            reduced = f", all-reduce {event.all_reduce}" if event.all_reduce else ""
            on = ", ".join(event.replicas)
            return f"TensorFlow {event.tensorflow}: {event.strategy} on {on}{reduced}"
        case events.Model():
            parameters = plural(event.parameters, "parameter")
            data = (
                "in batches"
                if event.train_samples is None
                else f"{plural(event.train_samples, 'sample')} to train on"
            )
            return f"{event.name}, {parameters}; {event.data}, {data}"
    return ""


def _epoch(event: events.Epoch) -> str:
    return f"epoch {grouped(event.epoch)} {_metric_values(event.metrics)}"


def _metric_values(metrics: dict[str, float | None]) -> str:
    return " ".join(f"{name} {figures.metric(each)}" for name, each in metrics.items())


def _checkpoint(event: events.Checkpoint) -> str:
    best = " best," if event.best else ""
    return (
        f"checkpoint{best} {saved_at(event.epoch, event.step)} ({figures.size(event.bytes)}, "
        f"{figures.span(event.seconds)})"
    )


LAST_BYTES: Final = 256 * 1024
"""The end of a long output is what is asked for; the whole of it lies in the file."""
SLICE_BYTES: Final = 16 * 1024
SLICES: Final = LAST_BYTES // SLICE_BYTES + 1
"""So many make up all that is near the end, and what was written meanwhile."""
LONGEST_LINE: Final = 4000
# As written by TensorFlow's native part, and by Python's logging and tracebacks.
_NATIVE = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+: ([WEF]) |^([WEF])\d{4} [\d:.]+ ")
_WORDS = re.compile(
    r"^(?:\[[^\]]*\] ?|[\d:,. -]+)?(WARNING|ERROR|CRITICAL|FATAL)\b|^(?:\w+\.)*\w+(Warning|Error)\b"
)


class OutputLog:
    """The lines of `trainer.log`, from its last 256 KiB on, read 16 KiB at a time.

    Output that is written faster than it is read is skipped, with a note. A line longer than 4000
    characters is cut; a line that is rewritten over and over, like a progress bar, is shown in its
    last state.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset: int | None = None
        self._rest = b""
        self._headless = False
        self._problem = ""

    def new(self) -> list[str]:
        """Return the complete lines since the last call, at most 16 KiB of them."""
        try:
            descriptor = open_regular(self.path)
        except FileNotFoundError:
            return []
        except OSError as error:
            return self._tell(error)
        try:
            notes = self._find_place(os.fstat(descriptor).st_size)
            data = os.pread(descriptor, SLICE_BYTES, self._offset or 0)
        except OSError as error:
            return self._tell(error)
        finally:
            os.close(descriptor)
        self._offset = (self._offset or 0) + len(data)
        return [*notes, *self._lines(data)]

    def _find_place(self, size: int) -> list[str]:
        """Seek near the end if that is far, or to the beginning of a restarted file."""
        before = self._offset
        if before is None or before <= size <= before + LAST_BYTES:
            self._offset = before if before is not None else max(0, size - LAST_BYTES)
            self._headless |= before is None and self._offset > 0
            return (
                [f"… earlier lines stand in {self.path}"] if before is None and self._offset else []
            )
        self._offset, self._rest = max(0, size - LAST_BYTES), b""
        self._headless = self._offset > 0
        if size < before:
            return ["… the file was started again"]
        return [f"… {figures.size(self._offset - before)} passed over; they stand in {self.path}"]

    def _lines(self, data: bytes) -> list[str]:
        *whole, rest = (self._rest + data).split(b"\n")
        if len(rest) > LAST_BYTES:
            whole, rest = [*whole, rest], b""
        if self._headless and whole:
            # The first is the end of a line whose beginning was skipped.
            self._headless = False
            del whole[0]
        self._rest = rest
        return [_decoded(line) for line in whole]

    def _tell(self, error: OSError) -> list[str]:
        """Return a problem as a line, once."""
        problem = f"{self.path} cannot be read: {error.strerror or error}."
        before, self._problem = self._problem, problem
        return [problem] if problem != before else []


def level_of(line: str) -> Level:
    """Return the level of a program's line, from its beginning."""
    native = _NATIVE.match(line)
    words = None if native else _WORDS.match(line)
    sign = next(
        (group for found in (native, words) if found for group in found.groups() if group), ""
    )
    if sign in ("W", "WARNING", "Warning"):
        return "warning"
    return "error" if sign else "info"


def _decoded(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    return (
        f"{text[:LONGEST_LINE]}… ({grouped(len(text))} characters)"
        if len(text) > LONGEST_LINE
        else text
    )


MOST_LINES = 10_000
LEVELS: tuple[Level, ...] = ("info", "warning", "error")
_LONGEST_MESSAGE = 4000
_SIGNS: dict[Level, str] = {"info": "", "warning": "⚠ ", "error": "✘ "}


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line to show, with its level."""

    text: str
    level: Level = "info"


def shown_line(line: LogLine) -> ShownLine:
    """A line of the events, with its time of day and a sign for its level."""
    message = (
        line.message
        if len(line.message) <= _LONGEST_MESSAGE
        else f"{line.message[:_LONGEST_MESSAGE]}…"
    )
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
