"""The optimizer, its options, and the curve of the learning rate over the steps of a run."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.common.figures import grouped
from gpu_studio.common.figures import learning_rate as rate_in_words
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import Plan, Training
from gpu_studio.plan.catalogue import SCHEDULES, Length, rate_of
from gpu_studio.plan.edits.training import set_optimizer, set_schedule
from gpu_studio.plan.keras_objects import AS_COMPILED, OPTIMIZER_CHOICES, optimizer_options
from gpu_studio.plan.options import TRAINING_LIMITS
from gpu_studio.runs.ticks import linear_ticks, round_range
from gpu_studio.ui.kit import GRID, LEFT, RIGHT, Paragraph, ThemeManager, font
from gpu_studio.ui.kit.fields import Choice, PositiveNumber
from gpu_studio.ui.plan.facts_words import batches
from gpu_studio.ui.plan.form.form import Field, Form
from gpu_studio.ui.plan.form.options import FreeOptions, NewOption, OptionRows
from gpu_studio.ui.plan.form.source_form import NamedRow
from gpu_studio.ui.plan.plan_view import PlanView

_RATE = next(limit for limit in TRAINING_LIMITS if limit.name == "learning_rate")
_GIVEN = ("learning_rate", "steps_per_epoch", "total_steps")
"""What a run gives an optimizer or a schedule of the user's own by itself."""
_NO_SCHEDULE = "none: it stays as it is"


class OptimizerForm(Form):
    """The curve needs the number of training samples.

    `data` of `show_data` has it; None as long as it is unknown.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("Optimizer", parent)
        self._data: DataFacts | None = None
        self._view: PlanView | None = None
        optimizer = Field(
            "training.optimizer",
            "optimizer",
            "by Keras' name",
            Training().optimizer,
            write=set_optimizer,
            exact=("training.options",),
        )
        choice = Choice("optimizer", (), words=AS_COMPILED)
        self.optimizer = NamedRow(optimizer, choice, OPTIMIZER_CHOICES, self)
        self.put_row(self.optimizer)
        self.options = FreeOptions("training.options", "optimizer", reserved=("learning_rate",))
        self.put(self.options)
        rate = Field("training.learning_rate", "learning rate", _RATE.help, _RATE.default)
        self.add(rate, PositiveNumber("learning rate"))
        self._add_schedule(theme)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's optimizer and schedule."""
        super().show_view(view)
        self._view = view
        name, own = view.plan.training.optimizer, self.optimizer.function
        self.optimizer.say_of_it(self.optimizer.field.hint)
        taken = own.options_besides(_GIVEN) if own else () if self.optimizer.names_own else None
        more = taken is not None and (own is None or own.takes_more)
        self.options.show_options(view, optimizer_options(name), taken, more=more)
        self._show_schedule(view)
        self._show_curve()

    def show_data(self, data: DataFacts | None) -> None:
        """Set the data that determine the steps of a run."""
        self._data = data
        self._show_curve()

    def _show_schedule(self, view: PlanView) -> None:
        schedule, own = view.plan.training.schedule, self.schedule_row.function
        entry = SCHEDULES.get(schedule.name) if schedule else None
        self.schedule_row.say_of_it(entry.help if entry else "")
        taken = own.options_besides(_GIVEN, by_place=1) if own else ()
        self.schedule.show_options(view, entry.options if entry else taken)
        self.new.show_options(view, ())
        named = self.schedule_row.names_own
        self.new.setVisible(named and (own is None or own.takes_more))

    def _add_schedule(self, theme: ThemeManager) -> None:
        field = Field(
            "training.schedule",
            "schedule",
            read=_schedule_name,
            write=set_schedule,
            problems=("training.schedule.name",),
            exact=("training.schedule",),
        )
        tips = {name: entry.help for name, entry in SCHEDULES.items()}
        choice = Choice("learning-rate schedule", (), tips=tips, words={None: _NO_SCHEDULE})
        self.schedule_row = NamedRow(field, choice, (None, *SCHEDULES), self)
        self.put_row(self.schedule_row)
        self.schedule = OptionRows("training.schedule.options", "training.schedule")
        self.new = NewOption(
            "training.schedule.options", "schedule", suggested="the function takes any"
        )
        self.curve = RateCurve(theme)
        self.no_curve = Paragraph("", "caption")
        for part in (self.schedule, self.new, self.curve, self.no_curve):
            self.put(part)

    def _show_curve(self) -> None:
        if self._view is None:
            return
        why = self._why_no_curve(self._view)
        self.curve.setVisible(not why)
        self.no_curve.setVisible(bool(why))
        if self.no_curve.text() != why:
            self.no_curve.setText(why)

    def _why_no_curve(self, view: PlanView) -> str:
        """Draw the curve, or say why there is none."""
        training = view.plan.training
        if training.schedule is None:
            return " "
        if self.schedule_row.names_own:
            return "No curve is drawn of a schedule of your own: only the run computes it."
        steps = training.steps_per_epoch
        if not steps and self._data is not None and not self._data.streamed:
            steps = batches(view.plan, view.machine, self._data).count
        if not steps:
            return "The curve is drawn once the number of training samples is known."
        length = Length(steps, steps * max(1, training.trained_epochs))
        try:
            rate = rate_of(training, length)
            self.curve.show_rate(
                (_key(training), length), rate, length.steps_per_epoch, length.total_steps
            )
        except (ValueError, ArithmeticError) as error:
            return str(error)
        return ""


def _schedule_name(plan: Plan) -> str | None:
    return plan.training.schedule.name if plan.training.schedule else None


def _key(training: Training) -> tuple[float, str]:
    return training.learning_rate, repr(training.schedule)


_HEIGHT = 148
_TICKS = 5
_NONE: Hashable = object()


class RateCurve(QWidget):
    """A curve of `rate(step)` for the steps 0 to `steps`, with the value at a crosshair.

    The crosshair follows the pointer, or the arrow keys while the curve has the focus.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key: Hashable = _NONE
        self._rate: Callable[[float], float] | None = None
        self._steps = self._per_epoch = 1
        self._range = (0.0, 1.0)
        self._at: int | None = None
        self.setFont(font("caption"))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_rate(
        self, key: Hashable, rate: Callable[[float], float], per_epoch: int, steps: int
    ) -> None:
        """Draw this rate, unless the drawn one has the same `key`."""
        if key == self._key:
            return
        self._key, self._rate = key, rate
        self._per_epoch, self._steps = max(1, per_epoch), max(1, steps)
        values = [rate(self._steps * place / 200) for place in range(201)]
        low, high = min(values), max(values)
        # From 0, unless the whole curve is far from it.
        self._range = round_range(0.0 if low < high / 2 or low == high else low, high, _TICKS)
        self.point_at(None)
        self.update()

    @property
    def words(self) -> str:
        """The value at the crosshair, or else how the curve begins and ends."""
        if self._rate is None:
            return "no learning rate yet"
        if self._at is None:
            ends = f"{rate_in_words(self._rate(0))} to {rate_in_words(self._rate(self._steps - 1))}"
            return f"{ends} over {grouped(self._steps)} steps"
        epoch = self._at // self._per_epoch + 1
        return (
            f"step {grouped(self._at)}, epoch {grouped(epoch)}: "
            f"{rate_in_words(self._rate(self._at))}"
        )

    def point_at(self, step: int | None) -> None:
        """Move the crosshair to a step of the run, or remove it."""
        self._at = None if step is None else max(0, min(step, self._steps - 1))
        self.setAccessibleName(self.words)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as there is space."""
        return QSize(280, _HEIGHT)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """The crosshair follows the pointer."""
        area = self._area()
        share = (event.position().x() - area.left()) / max(1.0, area.width())
        self.point_at(round(share * self._steps))

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Remove the crosshair when the pointer leaves."""
        super().leaveEvent(event)
        self.point_at(None)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Remove the crosshair when the focus leaves."""
        super().focusOutEvent(event)
        self.point_at(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move the crosshair by a step, with Ctrl by an epoch, or with Home and End to the ends."""
        stride = self._per_epoch if event.modifiers() & Qt.KeyboardModifier.ControlModifier else 1
        at = -1 if self._at is None else self._at
        places = {
            Qt.Key.Key_Left: max(0, at) - stride,
            Qt.Key.Key_Right: at + stride,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: self._steps - 1,
        }
        if event.key() in places:
            self.point_at(places[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the axes, the curve and the crosshair."""
        del event
        if self._rate is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_axes(painter)
        self._paint_curve(painter, self._rate)
        if self._at is not None:
            self._paint_crosshair(painter, self._rate(self._at))
        painter.setPen(
            QColor(self._theme.tokens.text if self._at is not None else self._theme.tokens.muted)
        )
        painter.drawText(QRectF(0, 0, self.width(), self._line()), RIGHT, self.words)

    def _paint_axes(self, painter: QPainter) -> None:
        tokens, area, line = self._theme.tokens, self._area(), self._line()
        for value, text in linear_ticks(*self._range, _TICKS):
            height = self._point(area, 0, value).y()
            painter.setPen(QPen(QColor(tokens.line), 1))
            painter.drawLine(QPointF(area.left(), height), QPointF(area.right(), height))
            painter.setPen(QColor(tokens.muted))
            painter.drawText(QRectF(0, height - line / 2, area.left() - GRID, line), RIGHT, text)
        for value, text in linear_ticks(0, self._steps, _TICKS):
            place = self._point(area, value, 0).x()
            painter.drawText(
                QRectF(place - 40, area.bottom() + 2, 80, line), Qt.AlignmentFlag.AlignHCenter, text
            )
        painter.drawText(QRectF(0, 0, area.width(), line), LEFT, "learning rate")
        painter.drawText(QRectF(0, area.bottom() + 2, area.left() - GRID, line), RIGHT, "step")
        if self.hasFocus():
            painter.setPen(QPen(QColor(tokens.accent), 1))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _paint_curve(self, painter: QPainter, rate: Callable[[float], float]) -> None:
        area = self._area()
        columns = max(2, int(area.width()))
        steps = [self._steps * column / columns for column in range(columns + 1)]
        painter.setPen(QPen(QColor(self._theme.tokens.accent), 1.8))
        points = [self._point(area, step, rate(step)) for step in steps]
        painter.drawPolyline(QPolygonF(points))

    def _paint_crosshair(self, painter: QPainter, value: float) -> None:
        tokens, area = self._theme.tokens, self._area()
        point = self._point(area, self._at or 0, value)
        painter.setPen(QPen(QColor(tokens.muted), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(point.x(), area.top()), QPointF(point.x(), area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent))
        painter.drawEllipse(point, 3.5, 3.5)

    def _point(self, area: QRectF, step: float, value: float) -> QPointF:
        low, high = self._range
        share = (value - low) / (high - low)
        return QPointF(
            area.left() + area.width() * step / self._steps, area.bottom() - area.height() * share
        )

    def _area(self) -> QRectF:
        widest = max(
            self.fontMetrics().horizontalAdvance(text)
            for _, text in linear_ticks(*self._range, _TICKS)
        )
        left = max(widest, self.fontMetrics().horizontalAdvance("step")) + 2 * GRID
        return QRectF(
            left, self._line() + GRID, max(10, self.width() - left - 3 * GRID), self._height()
        )

    def _height(self) -> float:
        return max(20, self.height() - 2 * self._line() - 2 * GRID)

    def _line(self) -> int:
        return self.fontMetrics().height() + 2
