"""The workers of a run of several processes: what each does, and whom the others wait for."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Final

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.common.figures import UNKNOWN, grouped, share, size, span, throughput
from gpu_studio.contract import RunDirectory, WorkerPlace, WorkerState, last_lines
from gpu_studio.runs.reading.workers import (
    WorkersOfRun,
    disk_words,
    is_bad,
    lag_words,
    part_of,
    seen_words,
    share_words,
    step_words,
    straggler,
    straggler_words,
    title_of,
)
from gpu_studio.runs.worker_stack import StackError, stack_of
from gpu_studio.ui.kit import (
    GRID,
    LEFT,
    RIGHT,
    BackgroundTask,
    Button,
    CardFrame,
    Elided,
    FontRole,
    Scrolled,
    ThemeManager,
    TraceDialog,
    font,
)
from gpu_studio.ui.kit import HEIGHT as BAR
from gpu_studio.ui.train.live_run import LiveRun

LOG: Final = "trainer.log"
LOG_BYTES: Final = 1 << 20
"""So much of the end of a worker's log is shown."""
MOST_ROWS: Final = 4
"""So many rows are seen at once: the plots must not give way to them."""
_TELLING: Final = ("starting", "training", "paused", "stopping")
"""In these states a worker can tell where it is."""
Doing = tuple[str, float | None]
"""What a worker does of a chief's work: in words, and as a part of 1; None without a chief."""
_DOT = 8
_HATCHED = 0.6


class WorkersCard(CardFrame):
    """A row for each worker; hidden while the run has none."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("workers")
        self._theme = theme
        self._run: LiveRun | None = None
        self._asking: WorkerRow | None = None
        self._stacks = BackgroundTask("stack of a worker", self)
        self._stacks.done.connect(self._show_stack)
        self.rows: list[WorkerRow] = []
        self.note = Elided()
        self._area = Scrolled()
        self._area.column.setContentsMargins(0, 0, 0, 0)
        self._area.column.setSpacing(2)
        self.body.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        self.body.setSpacing(GRID // 2)
        self.body.addWidget(self._area)
        self.body.addWidget(self.note)
        self.hide()

    def restart(self, run: LiveRun) -> None:
        """Show the workers of this run from now on."""
        self._run = run
        self.refresh(run.history.workers, live=run.live)

    def refresh(self, workers: WorkersOfRun, *, live: bool) -> None:
        """Show what is known of them now."""
        states = workers.states or [
            WorkerState(role=place.role, index=place.index, state="waiting")
            for place in workers.places
        ]
        self.setVisible(bool(states))
        if not states:
            return
        self._match(len(states))
        places = {(place.role, place.index): place for place in workers.places}
        slow = straggler(states) if live else None
        for row, state in zip(self.rows, states, strict=True):
            place = places.get((state.role, state.index))
            doing = share_words(state, states), part_of(state, states)
            row.show_state(state, place, doing, waited_for=state is slow)
            row.can_tell = live and state.state in _TELLING
            row.stack.setEnabled(row.can_tell and row is not self._asking)
        self.note.setText(straggler_words(states) if live else "")
        self.note.setVisible(bool(self.note.text()))

    def _match(self, count: int) -> None:
        """As many rows as workers; those that were there stay."""
        if count == len(self.rows):
            return
        for row in self.rows[count:]:
            self._area.column.removeWidget(row)
            row.hide()
            row.deleteLater()
        del self.rows[count:]
        while len(self.rows) < count:
            row = WorkerRow(len(self.rows), self._theme)
            row.log.clicked.connect(lambda _checked=False, row=row: self._show_log(row))
            row.stack.clicked.connect(lambda _checked=False, row=row: self._ask_for_stack(row))
            self.rows.append(row)
            self._area.column.addWidget(row)
        high = self.rows[0].sizeHint().height() + 2
        self._area.setFixedHeight(min(count, MOST_ROWS) * high)

    def _ask_for_stack(self, row: WorkerRow) -> None:
        if self._run is None or not row.title:
            return
        run, title = self._run.run, row.title
        self._asking = row
        row.stack.setEnabled(False)
        self._stacks.start_work(lambda _report, cancelled: _stack_or_why(run, title, cancelled))

    def _show_stack(self, found: tuple[str, str]) -> None:
        row, (stack, problem) = self._asking, found
        if row is None:
            return
        self._asking = None
        row.stack.setEnabled(row.can_tell)
        said = problem or f"Where each thread of {row.title} was, its last call first. It goes on."
        TraceDialog(said, stack, None, self, f"Stack of {row.title}").show()

    def _show_log(self, row: WorkerRow) -> None:
        if self._run is None:
            return
        folder = self._run.run.path / (row.place.folder if row.place else "")
        file = folder / LOG
        said = f"The end of what {row.title} has printed, TensorFlow's own lines included."
        TraceDialog(said, _end_of(file), file, self, f"Output of {row.title}").show()


def _stack_or_why(run: RunDirectory, title: str, cancelled: Event) -> tuple[str, str]:
    """The stack of a worker, or why there is none."""
    try:
        return stack_of(run, title, cancelled), ""
    except StackError as error:
        return "", str(error)


def _end_of(path: Path) -> str:
    try:
        lines = last_lines(path, LOG_BYTES)
    except OSError as error:
        return f"Its log cannot be read: {error.strerror or error}."
    return b"\n".join(lines).decode("utf-8", "replace") or "It has printed nothing yet."


class WorkerRow(QWidget):
    """One worker: its name and process, its figures, and the buttons for its stack and its log."""

    def __init__(self, number: int, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ""
        self.place: WorkerPlace | None = None
        self.line = WorkerLine(number, theme)
        self.can_tell = False
        self.log, self.stack = Button("Log", small=True), Button("Stack", small=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.line, 1)
        row.addWidget(self.stack)
        row.addWidget(self.log)

    def show_state(
        self, state: WorkerState, place: WorkerPlace | None, doing: Doing, *, waited_for: bool
    ) -> None:
        """Show what the worker does, `doing` its part of what a chief gives out."""
        self.title, self.place = title_of(state), place
        self.stack.setAccessibleName(f"stack of {self.title}")
        self.stack.setToolTip(
            f"Where {self.title} is in its code now, also while it waits or hangs. It goes on"
        )
        self.log.setAccessibleName(f"log of {self.title}")
        self.log.setToolTip(f"The end of what {self.title} has printed")
        self.line.show_state(state, place, doing, waited_for=waited_for)


class WorkerLine(QWidget):
    """Paints a worker: a dot, its name, state and step, a bar, its memory, and its silence."""

    def __init__(self, number: int, theme: ThemeManager) -> None:
        super().__init__()
        self._number, self._theme = number, theme
        self._state: WorkerState | None = None
        self._where, self._waited_for = "", False
        self._doing: Doing = ("", None)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_state(
        self, state: WorkerState, place: WorkerPlace | None, doing: Doing, *, waited_for: bool
    ) -> None:
        """Draw this from now on."""
        where = f"{place.host}, process {place.pid}" if place else ""
        known = self._state, self._where, self._doing, self._waited_for
        if (state, where, doing, waited_for) == known:
            return
        self._state, self._where, self._doing, self._waited_for = state, where, doing, waited_for
        self.setAccessibleName(self.words)
        self.setToolTip(self.words)
        self.update()

    @property
    def words(self) -> str:
        """All of it, in words."""
        state = self._state
        if state is None:
            return ""
        parts = [f"{title_of(state)} ({self._where})", state.state, step_words(state)]
        if state.compute + state.wait > 0:
            parts.append(f"computes {span(state.compute)} of a step and waits {span(state.wait)}")
        if state.share is not None and state.share.steps:
            parts += [self._doing[0], f"{span(state.share.seconds)} a step"]
        if state.memory is not None:
            parts.append(f"holds {size(state.memory)}")
        return ", ".join(filter(None, [*parts, seen_words(state), disk_words(state)]))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A line of text, with some air."""
        return QSize(520, QFontMetrics(font("text")).height() + GRID)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the line."""
        del event
        if self._state is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        columns = self._columns()
        self._paint_name(painter, columns[0])
        tokens, state = self._theme.tokens, self._state
        bad = is_bad(state)
        self._text(painter, columns[1], state.state, tokens.bad if bad else tokens.text)
        done = state.step if state.share is None else state.share.steps
        if state.role != "server":
            self._text(painter, columns[2], grouped(done), tokens.text, RIGHT)
        silent = seen_words(state)
        if silent:
            self._text(painter, columns[3], silent, tokens.bad if bad else tokens.muted)
        else:
            self._paint_bar(painter, columns[3])
        memory = UNKNOWN if state.memory is None else size(state.memory)
        last = memory if state.share is None else throughput(state.share.pace)
        self._text(painter, columns[4], last, tokens.text, RIGHT)

    def _columns(self) -> list[QRect]:
        """The areas of name, state, step, bar and memory."""
        letter, high = QFontMetrics(font("text")).horizontalAdvance("0"), self.height()
        fixed = [9 * letter, 9 * letter, 12 * letter]
        rest = max(0, self.width() - sum(fixed) - 4 * 2 * GRID)
        widths = [rest * 11 // 20, fixed[0], fixed[1], rest - rest * 11 // 20, fixed[2]]
        areas, left = [], 0
        for width in widths:
            areas.append(QRect(left, 0, width, high))
            left += width + 2 * GRID
        return areas

    def _paint_name(self, painter: QPainter, area: QRect) -> None:
        tokens = self._theme.tokens
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.device_colour(self._number)))
        painter.drawEllipse(QPointF(_DOT / 2, area.center().y() + 0.5), _DOT / 2, _DOT / 2)
        title = title_of(self._state) if self._state else ""
        painter.setFont(font("strong"))
        left = area.adjusted(2 * _DOT, 0, 0, 0)
        self._text(painter, left, title, tokens.text, role="strong")
        left.adjust(QFontMetrics(font("strong")).horizontalAdvance(title) + GRID, 0, 0, 0)
        # What is wrong stands first: where the worker is may be cut short.
        disk = disk_words(self._state) if self._state else ""
        if note := disk or ("waited for" if self._waited_for else ""):
            self._text(painter, left, note, tokens.bad if disk else tokens.warning)
            left.adjust(QFontMetrics(font("text")).horizontalAdvance(f"{note} "), 0, 0, 0)
        where = f"· {self._where}" if note and self._where else self._where
        self._text(painter, left, where, tokens.muted)

    def _paint_bar(self, painter: QPainter, area: QRect) -> None:
        """Computing in the worker's colour, and hatched after it waiting for the others.

        Of a worker that a chief gives work to: its part of all samples, and how old its weights
        were.
        """
        state, part = self._state, self._doing[1]
        if state is not None and part is not None:
            words = ", ".join(filter(None, [share(part), lag_words(state)]))
            self._paint_part(painter, area, part, words, "100 %, lag 88.88, at most 88")
        elif state is not None and state.compute + state.wait > 0:
            words = f"{span(state.compute)} + {span(state.wait)}"
            part = state.compute / (state.compute + state.wait)
            self._paint_part(painter, area, part, words, "888 ms + 888 ms", hatched=True)

    def _paint_part(
        self,
        painter: QPainter,
        area: QRect,
        part: float,
        words: str,
        longest: str,
        *,
        hatched: bool = False,
    ) -> None:
        """A bar that is filled to `part`, and `words` beside it, as long as `longest` at most."""
        tokens = self._theme.tokens
        beside = QFontMetrics(font("caption")).horizontalAdvance(longest) + GRID
        trough = QRectF(area).adjusted(0, (area.height() - BAR) / 2, -beside, 0)
        trough.setHeight(BAR)
        filled = QRectF(trough)
        filled.setWidth(trough.width() * part)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(trough, BAR / 2, BAR / 2)
        if hatched:
            painter.setBrush(QBrush(QColor(tokens.muted), Qt.BrushStyle.BDiagPattern))
            painter.setOpacity(_HATCHED)
            painter.drawRoundedRect(trough, BAR / 2, BAR / 2)
            painter.setOpacity(1.0)
        painter.setBrush(QColor(tokens.device_colour(self._number)))
        painter.drawRoundedRect(filled, BAR / 2, BAR / 2)
        self._text(painter, area, words, tokens.muted, RIGHT, role="caption")

    def _text(
        self,
        painter: QPainter,
        area: QRect,
        text: str,
        colour: str,
        side: Qt.AlignmentFlag = LEFT,
        role: FontRole = "text",
    ) -> None:
        painter.setFont(font(role))
        painter.setPen(QColor(colour))
        shown = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, max(0, area.width())
        )
        painter.drawText(area, side, shown)
