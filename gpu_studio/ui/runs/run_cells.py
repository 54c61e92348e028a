"""The cells of a run in a table.

They are its state's icon, its name with its tags, its best metric, and its loss as a curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from gpu_studio.ui.kit.metric_names import metric_label
from gpu_studio.ui.kit.painting import LEFT, RIGHT
from gpu_studio.ui.kit.tables.cells import Index, PaintedCell
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.icons import coloured_icon
from gpu_studio.ui.kit.theme.palette import mix, readable
from gpu_studio.ui.kit.theme.states import ICONS, state_colour
from gpu_studio.ui.runs.run_row import RunRow
from gpu_studio.ui.runs.runs_model import COLOUR_ROLE, ROW_ROLE, RunsModel

_ICON = 14
_TAG_SIDE, _TAG_GAP = 6, 6
_LEAST_NAME = 60.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter


class MarkCell(PaintedCell):
    """The icon of the state."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the sign at the left."""
        del text
        row: RunRow = index.data(ROW_ROLE)
        icon = coloured_icon(ICONS[row.state], state_colour(row.state, self._theme.tokens))
        icon.paint(
            painter,
            QRectF(area.left() - 1, area.center().y() - _ICON / 2, _ICON, _ICON).toAlignedRect(),
        )


class RunNameCell(PaintedCell):
    """The run's number and name, then its tags as pills: those that fit, and how many more."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the name, which is elided last."""
        del text
        row: RunRow = index.data(ROW_ROLE)
        marks = [*row.labels.tags, *(["note"] if row.labels.note else [])]
        area = self._draw_number(painter, area, row.summary.number)
        painter.setFont(font("strong"))
        wanted = painter.fontMetrics().horizontalAdvance(row.name) + 2.0
        name = min(wanted, max(area.width() - _least_width(marks), _LEAST_NAME))
        painter.setPen(QColor(self._theme.tokens.text))
        shown = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, int(name))
        painter.drawText(area, LEFT, shown)
        left = area.adjusted(name + _TAG_GAP, 0, 0, 0)
        self._draw_tags(painter, left, tags_within(marks, left.width()))

    def _draw_number(self, painter: QPainter, area: QRectF, number: int | None) -> QRectF:
        """Draw the number, if there is one; return the remaining space."""
        if number is None:
            return area
        painter.setFont(font("text"))
        painter.setPen(QColor(self._theme.tokens.muted))
        painter.drawText(area, LEFT, f"#{number}")
        return area.adjusted(painter.fontMetrics().horizontalAdvance(f"#{number} ") + 2.0, 0, 0, 0)

    def _draw_tags(self, painter: QPainter, area: QRectF, tags: Sequence[str]) -> None:
        tokens, left = self._theme.tokens, area.left()
        painter.setFont(font("caption"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = painter.fontMetrics().height() + 2.0
        for tag in tags:
            pill = QRectF(left, area.center().y() - height / 2, _tag_width(tag), height)
            painter.setPen(QColor(tokens.line))
            painter.setBrush(QColor(tokens.raised))
            painter.drawRoundedRect(pill, 5, 5)
            painter.setPen(QColor(readable(tokens.muted, tokens.raised, tokens.text)))
            painter.drawText(pill, _MIDDLE, tag)
            left = pill.right() + _TAG_GAP


class StateCell(PaintedCell):
    """The state in a word, and the reason.

    It has the state's colour if the run did not finish.
    """

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the words."""
        row: RunRow = index.data(ROW_ROLE)
        tokens = self._theme.tokens
        reported = row.state in ("stopped", "failed", "lost")
        colour = state_colour(row.state, tokens) if reported else tokens.muted
        painter.setFont(font("text"))
        painter.setPen(
            QColor(readable(colour, mix(tokens.accent, tokens.surface, 0.16), tokens.text))
        )
        painter.drawText(
            area, LEFT, painter.fontMetrics().elidedText(text, _ELIDE, int(area.width()))
        )


class BestCell(PaintedCell):
    """The best value, and its metric if the column's header does not name it for all."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the value at the right and its metric before it."""
        row: RunRow = index.data(ROW_ROLE)
        painter.setFont(font("text"))
        painter.setPen(QColor(self._theme.tokens.text))
        painter.drawText(area, RIGHT, text)
        model = index.model()
        if row.summary.best is not None and isinstance(model, RunsModel) and not model.metric:
            before = area.adjusted(0, 0, -painter.fontMetrics().horizontalAdvance(text) - 6, 0)
            painter.setFont(font("caption"))
            painter.setPen(QColor(self._theme.tokens.muted))
            name = metric_label(row.summary.best.metric)
            painter.drawText(
                before, RIGHT, painter.fontMetrics().elidedText(name, _ELIDE, int(before.width()))
            )


class CurveCell(PaintedCell):
    """The run's loss of each epoch as a line, scaled to its range.

    It is in the run's colour if it has one.
    """

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the line."""
        del text
        row: RunRow = index.data(ROW_ROLE)
        number: int | None = index.data(COLOUR_ROLE)
        tokens = self._theme.tokens
        line = curve_in(row.summary.losses, area.adjusted(0, 7, 0, -6))
        pen = QPen(QColor(tokens.muted if number is None else tokens.device_colour(number)), 1.4)
        if number is not None and tokens.device_dash(number):
            pen.setDashPattern([part / 1.4 for part in tokens.device_dash(number)])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen)
        painter.drawPolyline(line)


_ELIDE = Qt.TextElideMode.ElideRight


def tags_within(tags: Sequence[str], width: float) -> list[str]:
    """Return the tags that fit in `width` pixels, and the number of the others: `+2`."""
    for shown in range(len(tags), 0, -1):
        more = [f"+{len(tags) - shown}"] if shown < len(tags) else []
        if sum(_tag_width(tag) + _TAG_GAP for tag in (*tags[:shown], *more)) - _TAG_GAP <= width:
            return [*tags[:shown], *more]
    return []


def _least_width(tags: Sequence[str]) -> float:
    """Return the width of the first tag and of the number of the others.

    A long name is elided for it.
    """
    more = [f"+{len(tags) - 1}"] if len(tags) > 1 else []
    return sum(_tag_width(tag) + _TAG_GAP for tag in (*tags[:1], *more))


def _tag_width(tag: str) -> float:
    return QFontMetricsF(font("caption")).horizontalAdvance(tag) + 2 * _TAG_SIDE


def curve_in(values: Sequence[float], area: QRectF) -> QPolygonF:
    """Return the points of the curve in `room`, at most two per pixel.

    A single value gives a level line.
    """
    step = max(1, len(values) // max(1, int(2 * area.width())))
    known = [value for value in values[::step] if math.isfinite(value)]
    if not known:
        return QPolygonF()
    if len(known) == 1:
        known = known * 2
    least, span = min(known), (max(known) - min(known)) or 1.0
    across, left, bottom, height = (
        area.width() / (len(known) - 1),
        area.left(),
        area.bottom(),
        area.height(),
    )
    return QPolygonF(
        [
            QPointF(left + at * across, bottom - (value - least) / span * height)
            for at, value in enumerate(known)
        ]
    )
