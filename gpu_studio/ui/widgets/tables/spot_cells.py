"""How devices are drawn in a table: a dot in each one's colour, its name, and what is said of it there."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gpu_studio.runs.reading.placement_words import NONE
from gpu_studio.runs.reading.placements import Verdict
from gpu_studio.ui.models.train.placement_rows import SIGN_ROLE, SPOTS_ROLE, Spot
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.painting import LEFT
from gpu_studio.ui.widgets.tables.painted_cell import SIDE, Index, PaintedCell

_DOT, _AFTER_DOT, _AFTER_NAME, _BETWEEN = 4.0, 12.0, 3.0, 6.0
_SIGNS: dict[Verdict, str] = {"as asked": "✓", "joined": "✓", "elsewhere": "⚠", "no operations": "–", "not asked": "?"}
_SIGN_WIDTH = 20.0


class _Cell(PaintedCell):
    margins = QMarginsF(SIDE, 0, 2, 1)


class SignCell(_Cell):
    """The sign of a layer's verdict, and the layer's name."""

    def draw(self, painter: QPainter, room: QRectF, index: Index, text: str) -> None:
        """A sign of its own for each verdict, in a colour that says the same."""
        verdict: Verdict = index.data(SIGN_ROLE)
        tokens = self._theme.tokens
        _write(painter, room, _SIGNS[verdict], _colour_of(verdict, tokens))
        painter.setFont(font("strong" if verdict == "elsewhere" else "text"))
        _write(painter, room.adjusted(_SIGN_WIDTH, 0, 0, 0), text, tokens.text)


class SpotsCell(_Cell):
    """Devices beside each other; one that something strayed to has a sign and bad's colour."""

    def draw(self, painter: QPainter, room: QRectF, index: Index, text: str) -> None:
        """Draw as many as there is room for, and an ellipsis for the others."""
        spots: tuple[Spot, ...] = index.data(SPOTS_ROLE)
        tokens = self._theme.tokens
        if not spots:
            _write(painter, room, text or NONE, tokens.muted)
        for number, spot in enumerate(spots):
            if room.width() < _AFTER_DOT + 24:
                _write(painter, room, "…", tokens.muted)
                return
            is_last = number == len(spots) - 1
            wide = _draw_spot(painter, room, spot, tokens)
            room = room.adjusted(wide + (0 if is_last else _BETWEEN), 0, 0, 0)


def _draw_spot(painter: QPainter, room: QRectF, spot: Spot, tokens: Tokens) -> float:
    """Draw a device at the left of the room; returns how wide it is."""
    colour = tokens.muted if spot.place is None else tokens.device_colour(spot.place)
    if spot.wrong:
        _write(painter, room, "⚠", tokens.bad)
    else:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QPointF(room.left() + _DOT, room.center().y()), _DOT, _DOT)
    wide = _AFTER_DOT + (4 if spot.wrong else 0)
    painter.setFont(font("mono_caption"))
    wide += _write(painter, room.adjusted(wide, 0, 0, 0), spot.device, tokens.bad if spot.wrong else tokens.text)
    if spot.words:
        painter.setFont(font("caption"))
        beside = room.adjusted(wide + _AFTER_NAME, 0, 0, 0)
        wide += _AFTER_NAME + _write(painter, beside, spot.words, tokens.bad if spot.wrong else tokens.muted)
    return wide


def _write(painter: QPainter, room: QRectF, text: str, colour: str) -> float:
    """Write as much of a text as there is room for; returns how wide it is."""
    painter.setPen(QColor(colour))
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(0, int(room.width())))
    painter.drawText(room, LEFT, shown)
    return float(painter.fontMetrics().horizontalAdvance(shown))


def _colour_of(verdict: Verdict, tokens: Tokens) -> str:
    return {"elsewhere": tokens.bad, "as asked": tokens.good, "joined": tokens.good}.get(verdict, tokens.muted)
