"""An entry of a plot's legend, and how it is drawn: a piece of its line, its name, its newest value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.plots.curve import Style

_LINE = 2.0
_DEVICE = re.compile(r"[A-Z]+[: ](\d.*)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A curve's name, how it looks, and its newest value as text (or nothing). `fixed` ones cannot be hidden here."""

    name: str
    style: Style
    value: str = ""
    fixed: bool = False

    @property
    def text(self) -> str:
        """What stands beside the piece of line."""
        return f"{self.name} {self.value}".rstrip()

    @property
    def short(self) -> str:
        """The number of a device, as `0–3` of `GPU:0–3`; all else keeps its name."""
        found = _DEVICE.fullmatch(self.name)
        return found[1] if found else self.name


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry is drawn: the line, the words, and the piece of its curve of `sample` pixels with a `gap`."""

    entry: Entry
    words: str
    left: int
    width: int
    sample: int
    gap: int
    line: int = 0


def paint_entry(painter: QPainter, tokens: Tokens, place: Place, room: QRect, *, hidden: bool = False) -> None:
    """Draw an entry in the height of `room`: a hidden one struck out, its line short and faint."""
    middle, style = room.center().y() + 0.5, place.entry.style
    colour = mix(tokens.muted, tokens.surface, 0.5) if hidden else style.colour(tokens)
    pen = QPen(QColor(colour), 1.0 if hidden else _LINE)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if style.dash:
        pen.setDashPattern([part / _LINE for part in style.dash])
    painter.setPen(pen)
    painter.drawLine(QLineF(place.left, middle, place.left + place.sample, middle))
    if style.dots and not hidden:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(pen.color())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawEllipse(QPointF(place.left + place.sample / 2, middle), 3.5, 3.5)
        painter.setBrush(Qt.BrushStyle.NoBrush)
    _paint_words(painter, tokens, place, room, hidden=hidden)


def _paint_words(painter: QPainter, tokens: Tokens, place: Place, room: QRect, *, hidden: bool) -> None:
    usual = painter.font()
    if hidden:
        struck = QFont(usual)
        struck.setStrikeOut(True)
        painter.setFont(struck)
    painter.setPen(QColor(tokens.muted))
    words = QRect(place.left + place.sample + place.gap, room.top(), place.width, room.height())
    painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, place.words)
    painter.setFont(usual)
