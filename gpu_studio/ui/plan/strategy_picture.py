"""Paints the small drawing of a strategy, whose boxes and lines `strategy_drawing` states."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit import ThemeManager, Tokens, font, mix, readable
from gpu_studio.ui.plan.strategy_drawing import Box, Kind, Link, StrategyDrawing

WIDTH, TWO_ROWS, THREE_ROWS = 320, 172, 224
_LEGEND, _WIDE = 24, 26
_BETWEEN = 28
_RADIUS = 6.0
_HEAD = 4.5
_APART = 7.0
"""How far apart two lines between the same boxes are drawn."""
_DASHES: dict[Kind, tuple[float, ...]] = {
    "batches": (),
    "gradients": (4, 2.5),
    "variables": (1, 2),
    "activations": (),
}
_CENTRE = Qt.AlignmentFlag.AlignCenter


class StrategyPicture(QWidget):
    """Paints a read-only drawing. Its accessible description is the drawing in words."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._drawing: StrategyDrawing | None = None
        self.setAccessibleName("where variables, gradients and batches go")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def drawing(self) -> StrategyDrawing | None:
        """What is shown."""
        return self._drawing

    def show_drawing(self, drawing: StrategyDrawing) -> None:
        """Show this drawing."""
        if drawing != self._drawing:
            self._drawing = drawing
            self.setAccessibleDescription(drawing.words)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as its rows require."""
        rows = len(self._drawing.rows) if self._drawing else 0
        return QSize(WIDTH, THREE_ROWS if rows > 2 else TWO_ROWS)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for the names of four devices."""
        return QSize(208, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the links, the boxes over their ends, and the legend."""
        del event
        if self._drawing is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = self._theme.tokens
        areas = _areas(self._drawing, QRectF(self.rect()).adjusted(1, 1, -1, -_LEGEND))
        for link in self._drawing.links:
            _draw_link(painter, link, areas, tokens)
        for row, line in zip(self._drawing.rows, areas, strict=True):
            for box, area in zip(row, line, strict=True):
                _draw_box(painter, box, area, tokens)
        _draw_legend(
            painter,
            self._drawing.kinds,
            QRectF(0, self.height() - _LEGEND + 6, self.width(), 18),
            tokens,
        )


def _areas(drawing: StrategyDrawing, area: QRectF) -> list[list[QRectF]]:
    """Return the rectangle of each box.

    The devices get what the wide rows and the gaps leave.
    """
    wide = [row[0].wide for row in drawing.rows]
    tall = area.height() - sum(_WIDE for each in wide if each) - _BETWEEN * (len(wide) - 1)
    made, top = [], area.top()
    for row, is_wide in zip(drawing.rows, wide, strict=True):
        height = _WIDE if is_wide else tall / max(1, wide.count(False))
        made.append(
            _side_by_side(QRectF(area.left(), top, area.width(), height), len(row), row[0].wide)
        )
        top += height + _BETWEEN
    return made


def _side_by_side(area: QRectF, count: int, wide: bool) -> list[QRectF]:
    gap = 0.0 if wide else min(_BETWEEN, area.width() / (4 * count))
    width = (area.width() - gap * (count - 1)) / count
    return [
        QRectF(area.left() + each * (width + gap), area.top(), width, area.height())
        for each in range(count)
    ]


# Links


def _draw_link(painter: QPainter, link: Link, areas: list[list[QRectF]], tokens: Tokens) -> None:
    line = _line(link, areas[link.start[0]][link.start[1]], areas[link.end[0]][link.end[1]])
    painter.setPen(link_pen(link.kind, tokens))
    painter.drawLine(line)
    _draw_head(painter, line, link.kind, tokens)
    if link.both:
        _draw_head(painter, QLineF(line.p2(), line.p1()), link.kind, tokens)


def _line(link: Link, start: QRectF, end: QRectF) -> QLineF:
    """Return the line from edge to edge.

    It goes straight down or up in the middle of the narrower box, or across between neighbours.
    """
    aside = _aside(link)
    if link.start[0] == link.end[0]:
        y = start.center().y() + aside
        onward = start.left() < end.left()
        return QLineF(
            start.right() if onward else start.left(), y, end.left() if onward else end.right(), y
        )
    x = min(start, end, key=lambda area: area.width()).center().x() + aside
    down = link.start[0] < link.end[0]
    return (
        QLineF(x, start.bottom(), x, end.top()) if down else QLineF(x, start.top(), x, end.bottom())
    )


def _aside(link: Link) -> float:
    """A line's offset from the middle, so that the two directions are drawn side by side."""
    paired = {"activations": -1, "variables": 1}
    if link.kind in paired:
        return _APART * paired[link.kind]
    same_row = link.start[0] == link.end[0]
    return 0.0 if link.kind == "batches" or link.both else _APART if same_row else -_APART


def _draw_head(painter: QPainter, line: QLineF, kind: Kind, tokens: Tokens) -> None:
    unit = line.unitVector()
    dx, dy = unit.dx(), unit.dy()
    tip = line.p2()
    back = QPointF(tip.x() - _HEAD * 1.4 * dx, tip.y() - _HEAD * 1.4 * dy)
    side = QPointF(-dy * _HEAD * 0.8, dx * _HEAD * 0.8)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(link_colour(kind, tokens)))
    painter.drawPolygon(QPolygonF([tip, back + side, back - side]))


def link_colour(kind: Kind, tokens: Tokens) -> str:
    """Return the colour of a link; its dashes distinguish it too."""
    return {"gradients": tokens.accent, "variables": tokens.text}.get(kind, tokens.muted)


def link_pen(kind: Kind, tokens: Tokens) -> QPen:
    """The pen of a link."""
    pen = QPen(QColor(link_colour(kind, tokens)), 2.0 if kind == "activations" else 1.5)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if _DASHES[kind]:
        pen.setDashPattern(list(_DASHES[kind]))
    return pen


# Boxes


def _draw_box(painter: QPainter, box: Box, area: QRectF, tokens: Tokens) -> None:
    frame = area.adjusted(0.5, 0.5, -0.5, -0.5)
    colour = tokens.line if box.place is None else tokens.device_colour(box.place)
    ground = (
        tokens.surface
        if box.faint
        else mix(colour, tokens.surface, 0.16 if box.place is not None else 0.35)
    )
    painter.setBrush(QColor(ground))
    painter.setPen(
        QPen(QColor(mix(colour, tokens.surface, 0.5) if box.faint else colour), 1.5, _style(box))
    )
    painter.drawRoundedRect(frame, _RADIUS, _RADIUS)
    _draw_parts(painter, box, frame, tokens)
    _write(painter, box, area, ground, tokens)


def _style(box: Box) -> Qt.PenStyle:
    return Qt.PenStyle.DashLine if box.faint else Qt.PenStyle.SolidLine


def _draw_parts(painter: QPainter, box: Box, frame: QRectF, tokens: Tokens) -> None:
    """Draw the parts of a wide box.

    Each has a stripe in its device's colour at its foot, and a gap to the next.
    """
    count = len(box.parts)
    if count < 2:
        return
    width = frame.width() / count
    for number, place in enumerate(box.parts):
        colour = tokens.muted if place is None else tokens.device_colour(place)
        left = frame.left() + number * width
        painter.fillRect(QRectF(left + 2, frame.bottom() - 4, width - 4, 3), QColor(colour))


def _write(painter: QPainter, box: Box, area: QRectF, ground: str, tokens: Tokens) -> None:
    ink = readable(tokens.muted if box.faint else tokens.text, ground, tokens.text)
    lines = [(box.title, "caption" if box.wide else "mono", ink)]
    lines += [(line, "caption", readable(tokens.muted, ground, tokens.text)) for line in box.lines]
    step = min(17.0, (area.height() - 4) / len(lines))
    top = area.center().y() - step * len(lines) / 2 - (1 if len(box.parts) > 1 else 0)
    for number, (text, role, colour) in enumerate(lines):
        painter.setFont(font("mono" if role == "mono" else "caption"))
        painter.setPen(QColor(colour))
        cut = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, int(area.width()) - 4
        )
        painter.drawText(
            QRectF(area.left() + 2, top + number * step, area.width() - 4, step), _CENTRE, cut
        )


def _draw_legend(painter: QPainter, kinds: tuple[Kind, ...], area: QRectF, tokens: Tokens) -> None:
    painter.setFont(font("caption"))
    left = area.left() + 2
    for kind in kinds:
        painter.setPen(link_pen(kind, tokens))
        painter.drawLine(QLineF(left, area.center().y(), left + 20, area.center().y()))
        painter.setPen(QColor(tokens.muted))
        width = painter.fontMetrics().horizontalAdvance(kind)
        painter.drawText(
            QRectF(left + 26, area.top(), width + 2, area.height()),
            Qt.AlignmentFlag.AlignVCenter,
            kind,
        )
        left += 26 + width + 16
