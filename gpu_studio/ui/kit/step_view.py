"""A step on a time axis, with a row for each device: what is drawn, and the drawing.

A measured step can be shown below the predicted one, on the same axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.contract import StageSpan, events
from gpu_studio.placement.schedule import bubble_of
from gpu_studio.ui.kit.basic_widgets import Elided, tab_after
from gpu_studio.ui.kit.theme import ThemeManager, Tokens, font, mix

WORKING = "predicting the step…"
OWN_SCALE = "on a scale of its own"


class StepView(QWidget):
    """What is known of one step. Rows are kept from step to step."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: list[TimelineRow] = []
        self.caption = Elided("", "caption")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        self._column.addWidget(self.caption)

    def show_picture(
        self, picture: StepPicture, seconds: float, more: str = "", *, low: bool = False
    ) -> None:
        """Show this step on an axis of so many seconds, in `low` rows.

        `more` is said beside its caption.
        """
        while len(self.rows) < len(picture.rows):
            row = TimelineRow(self._theme)
            self._column.insertWidget(self._column.count(), row)
            self.rows.append(row)
            tab_after(self, self.rows)
        for number, row in enumerate(self.rows):
            row.setVisible(number < len(picture.rows))
            if number < len(picture.rows):
                row.set_low(low)
                row.show_row(picture.rows[number], seconds)
        self.caption.setText(f"{picture.caption}{' · ' if more else ''}{more}")


class TimelineView(QWidget):
    """The predicted step, and under it a measured one. While a prediction is made it says so."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.predicted, self.measured = StepView(theme), StepView(theme)
        self._predicted: StepPicture | None = None
        self._measured: StepPicture | None = None
        self.measured.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.predicted)
        column.addWidget(self.measured)

    def show_predicted(self, picture: StepPicture) -> None:
        """Show this prediction."""
        self._predicted = picture
        self._show()

    def show_measured(self, picture: StepPicture | None) -> None:
        """Show this measured step under the predicted one, or none."""
        self._measured = picture
        self._show()

    def wait(self) -> None:
        """Say that a new step is being predicted."""
        self.predicted.caption.setText(WORKING)

    def _show(self) -> None:
        """Draw both on the longer one's axis, if the prediction is in seconds."""
        predicted, measured = self._predicted, self._measured
        together = bool(predicted and measured and predicted.to_scale)
        axis = max(each.seconds for each in (predicted, measured) if each) if together else None
        if predicted is not None:
            self.predicted.show_picture(
                predicted, axis or predicted.seconds, low=measured is not None
            )
        self.measured.setVisible(measured is not None)
        if measured is not None:
            apart = "" if together or predicted is None else OWN_SCALE
            self.measured.show_picture(measured, axis or measured.seconds, apart, low=True)


LEFT = 52.0
_HEIGHT, _LOW = 18, 12
_AROUND = 4.0
_SHADES = {"forward": 0.92, "backward": 0.52, "update": 0.28}


class TimelineRow(QWidget):
    """Paints a device's tasks in its colour: forward strong, backward fainter, updates faintest."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._row: StepRow | None = None
        self._seconds = 0.0
        self._height = _HEIGHT
        self.tasks: tuple[Spell, ...] = ()
        self._tracks: tuple[int, ...] = ()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_row(self, row: StepRow, seconds: float) -> None:
        """Show this on an axis of so many seconds."""
        self._row, self._seconds, self.tasks = row, seconds, row.spells
        self._tracks = tracks_of(self.tasks)
        self.setAccessibleName(row.title)
        self.setAccessibleDescription(row.description)
        self.update()

    def set_low(self, low: bool) -> None:
        """Take less space, or as much as usual."""
        self._height = _LOW if low else _HEIGHT
        self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A block's height."""
        return QSize(200, self._height)

    def task_at(self, x: float, y: float) -> Spell | None:
        """The task that is drawn there; of two that overlap the one whose track is at y.

        None where nothing is done.
        """
        whole = self.width() - LEFT
        at = (x - LEFT) / whole * self._seconds if whole > 0 else 0.0
        track = int((y - _AROUND / 2) / (self.height() - _AROUND) * self._depth)
        there = [
            (abs(each - track), task)
            for each, task in zip(self._tracks, self.tasks, strict=True)
            if task.begin <= at < task.end
        ]
        return min(there, key=lambda each: each[0])[1] if there else None

    @property
    def _depth(self) -> int:
        """How many tracks there are."""
        return max(self._tracks, default=0) + 1

    def event(self, event: QEvent) -> bool:
        """Say what is done where the pointer rests."""
        if (
            event.type() == QEvent.Type.ToolTip
            and isinstance(event, QHelpEvent)
            and self._row is not None
        ):
            task = self.task_at(event.pos().x(), event.pos().y())
            said = self._row.say(task) if task else self._row.description
            QToolTip.showText(event.globalPos(), said, self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the name and the blocks."""
        del event
        if self._row is None:
            return
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(font("mono_caption"))
        painter.setPen(QColor(tokens.accent if self.hasFocus() else tokens.muted))
        painter.drawText(
            QRectF(0, 0, LEFT, self.height()), Qt.AlignmentFlag.AlignVCenter, self._row.name
        )
        area = QRectF(LEFT, _AROUND / 2, self.width() - LEFT, self.height() - _AROUND)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(area, 3, 3)
        self._draw_tasks(painter, area, _colours(tokens.device_colour(self._row.place), tokens))

    def _draw_tasks(self, painter: QPainter, area: QRectF, colours: dict[str, str]) -> None:
        """Draw each task that is wide enough to be seen; of several in one pixel the first."""
        scale = area.width() / self._seconds if self._seconds else 0.0
        drawn = [-1.0] * self._depth
        high = area.height() / self._depth
        for task, track in zip(self.tasks, self._tracks, strict=True):
            left, right = area.left() + task.begin * scale, area.left() + task.end * scale
            if right <= drawn[track] or right - left < 0.05:
                continue
            left = max(left, drawn[track])
            gap = 1.5 if right - left > 5 else 0.0
            painter.setBrush(QColor(colours[task.what]))
            block = QRectF(
                left, area.top() + track * high, max(1.0, right - left - gap), high - self._between
            )
            painter.drawRoundedRect(block, 2, 2)
            drawn[track] = max(right, left + 1.0)

    @property
    def _between(self) -> float:
        """The gap between tracks."""
        return 1.0 if self._depth > 1 else 0.0


def _colours(colour: str, tokens: Tokens) -> dict[str, str]:
    return {what: mix(colour, tokens.surface, share) for what, share in _SHADES.items()}


SLOWED = "slowed by the profiler"
_ROUNDING = 1e-12


class Spell(Protocol):
    """What a device does from `begin` to `end`, in seconds after the step began."""

    @property
    def what(self) -> str:
        """The pass."""

    @property
    def begin(self) -> float:
        """When it begins."""

    @property
    def end(self) -> float:
        """When it ends."""


@dataclass(frozen=True, slots=True)
class Worked:
    """A spell of a measured step, and all that is said of it."""

    what: str
    begin: float
    end: float
    words: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """What one device does in a step, in order. `place` is the number from which it has its colour.

    `title` names the row, `description` says it in words, and `say` does so of one of its `spells`.
    """

    name: str
    place: int
    title: str
    description: str
    spells: tuple[Spell, ...]
    say: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class StepPicture:
    """A step's rows, its length in seconds, and what stands over it.

    `to_scale` tells whether the seconds are real.
    """

    rows: tuple[StepRow, ...]
    seconds: float
    caption: str
    to_scale: bool = True


def measured_picture(
    step: events.Timeline, devices: Mapping[str, int], whose: str = ""
) -> StepPicture:
    """A measured step.

    `devices` has the place of each logical one, in order, `whose` says of which run it is.
    """
    by_device: dict[str, list[Worked]] = {device: [] for device in step.busy}
    for task in step.tasks:
        by_device.setdefault(task.device or step.stages[task.stage].device, []).append(
            _worked(task, step)
        )
    known = tuple(dict.fromkeys((*devices, *sorted(by_device))))
    colours = {name: devices.get(name, place) for place, name in enumerate(known)}
    rows = tuple(
        _measured_row(name, colours[name], by_device[name], step)
        for name in known
        if name in by_device
    )
    bubble = (
        f" · bubble {figures.share(bubble_of(step.busy.values(), step.seconds))}"
        if len(rows) > 1
        else ""
    )
    which = " of ".join(filter(None, (f"step {grouped(step.step + 1)}", whose)))
    caption = f"measured step {figures.span(step.seconds)}{bubble} · {which}, {SLOWED}"
    return StepPicture(rows, step.seconds, caption)


def _measured_row(
    name: str, place: int, worked: Iterable[Worked], step: events.Timeline
) -> StepRow:
    busy = step.busy.get(name, 0.0) / step.seconds if step.seconds else 0.0
    description = f"{name}: busy {figures.share(busy)} of the measured step"
    return StepRow(name, place, f"measured step on {name}", description, in_order(worked), _say)


def _say(spell: Worked) -> str:
    return spell.words


def _worked(task: StageSpan, step: events.Timeline) -> Worked:
    names = step.stages[task.stage].layers
    layers = (
        names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({grouped(len(names))} layers)"
    )
    known = task.micro_batch is not None and task.micro_batch >= 0
    which = (
        f" of micro-batch {task.micro_batch + 1}" if known and task.micro_batch is not None else ""
    )
    when = f"{figures.span(task.begin)} to {figures.span(task.end)}"
    words = f"{task.way}{which}: {layers}, {when}, busy {figures.span(task.busy)}"
    return Worked(task.way, task.begin, task.end, words)


def in_order(spells: Iterable[Any]) -> tuple[Any, ...]:
    """The spells by when they begin."""
    return tuple(sorted(spells, key=lambda spell: spell.begin))


def tracks_of(tasks: Sequence[Spell]) -> tuple[int, ...]:
    """The track of each of `tasks`, which are in the order of their beginning.

    The first that is free by then.

    So there are no more tracks than tasks that are ever under way at once.
    """
    free: list[float] = []
    found: list[int] = []
    for task in tasks:
        track = next(
            (number for number, end in enumerate(free) if end <= task.begin + _ROUNDING), len(free)
        )
        if track == len(free):
            free.append(0.0)
        free[track] = task.end
        found.append(track)
    return tuple(found)
