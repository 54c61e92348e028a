"""The head of a lane: the device, and its predicted memory against its limit."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.models import figures
from gpu_studio.ui.models.plan.lanes.board import Lane
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.bar import draw_bar
from gpu_studio.ui.widgets.painting import LEFT, RIGHT

HEIGHT = 46
SIDE = 10
_DOT = 8.0


class LaneHead(QWidget):
    """Paints a lane's device; its tooltip has the parts of the memory, each with how it comes about."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lane = Lane("", None)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_lane(self, lane: Lane) -> None:
        """Show this lane's device."""
        if lane != self._lane:
            self._lane = lane
            self.setToolTip(tip_of(lane))
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The name and the bar."""
        return QSize(80, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the name, the figures and the bar."""
        del event
        tokens, lane = self._theme.tokens, self._lane
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QRectF(SIDE, 8, self.width() - 2 * SIDE, 18)
        colour = tokens.muted if lane.place is None else tokens.device_colour(lane.place)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QPointF(line.left() + _DOT / 2, line.center().y()), _DOT / 2, _DOT / 2)
        painter.setFont(font("mono"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(line.adjusted(_DOT + 8, 0, 0, 0), LEFT, lane.title)
        left = line.left() + _DOT + 16 + painter.fontMetrics().horizontalAdvance(lane.title)
        self._draw_amount(painter, QRectF(left, line.top(), max(0.0, line.right() - left), line.height()))
        below = QRectF(SIDE, 27, line.width(), 14)
        if lane.why_not:
            painter.setFont(font("caption"))
            painter.setPen(QColor(tokens.bad))
            painter.drawText(below, LEFT, "not there")
        elif lane.place is not None:
            draw_bar(painter, below, share_of(lane), tokens.bad if is_over(lane) else colour, tokens)

    def _draw_amount(self, painter: QPainter, room: QRectF) -> None:
        """Write the memory: of the limit where there is room for it."""
        tokens = self._theme.tokens
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.bad if is_over(self._lane) else tokens.muted))
        metrics = painter.fontMetrics()
        words = amounts_of(self._lane)
        fits = next((each for each in words if metrics.horizontalAdvance(each) <= room.width()), "")
        painter.drawText(room, RIGHT, fits)


def amount_of(lane: Lane) -> str:
    """A lane's figures: its memory of its limit, or how many layers are left out."""
    if lane.why_not:
        return ""
    if lane.place is None:
        return str(len(lane.items))
    if lane.memory is None:
        return ""
    taken = figures.size(lane.memory.total)
    return f"{taken} / {figures.size(lane.room)}" if lane.room else taken


def amounts_of(lane: Lane) -> tuple[str, ...]:
    """A lane's figures, the longest way of saying them first. That it is too much is never said by colour alone."""
    whole = amount_of(lane)
    if is_over(lane):
        return f"too much: {whole}", "too much"
    return whole, whole.split(" / ", maxsplit=1)[0]


def share_of(lane: Lane) -> float:
    """The part of the memory there that is taken, 0 to 1; 0 where it is not known how much there is."""
    if lane.memory is None or not lane.room:
        return 0.0
    return min(1.0, lane.memory.total / lane.room)


def is_over(lane: Lane) -> bool:
    """Whether a step takes more than there is."""
    return lane.memory is not None and lane.memory.fits is False


def tip_of(lane: Lane) -> str:
    """All that is known of a lane's memory."""
    if lane.why_not or lane.memory is None:
        return lane.why_not
    lines = [f"{lane.device}: {amount_of(lane)}{', which is too much' if is_over(lane) else ''}"]
    lines += [f"{name} {figures.size(part.bytes)}: {part.formula}" for name, part in lane.memory.parts if part.bytes]
    return "\n".join(lines)
