"""A physical device as a bar to scale, cut into the logical devices that TensorFlow will see of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.models.strips import Segment
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix, readable

HEIGHT = 44
_RADIUS = 8.0
_PAD = 8


class SliceBar(QWidget):
    """The segments side by side, their widths to scale. It only shows; its accessible text says what it shows."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._segments: tuple[Segment, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_segments(self, segments: Sequence[Segment]) -> None:
        """Show these segments."""
        self._segments = tuple(segments)
        words = ", ".join(f"{each.title} {each.caption}".strip() for each in segments if each.title)
        self.setAccessibleDescription(words)
        self.setToolTip(words)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as may be."""
        return QSize(200, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the segments, and the frame around them."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        outline = QPainterPath()
        outline.addRoundedRect(frame, _RADIUS, _RADIUS)
        painter.save()
        painter.setClipPath(outline)
        for room, segment in zip(self._rooms(frame), self._segments, strict=True):
            self._draw(painter, room, segment)
        painter.restore()
        painter.setPen(QPen(QColor(self._theme.tokens.line), 1))
        painter.drawPath(outline)

    def _rooms(self, frame: QRectF) -> list[QRectF]:
        total = sum(segment.size for segment in self._segments) or 1.0
        edges = [frame.left()]
        for segment in self._segments:
            edges.append(edges[-1] + frame.width() * segment.size / total)
        return [QRectF(left, frame.top(), right - left, frame.height()) for left, right in pairwise(edges)]

    def _draw(self, painter: QPainter, room: QRectF, segment: Segment) -> None:
        tokens = self._theme.tokens
        ground = tokens.surface
        if segment.place is not None:
            ground = mix(tokens.device_colour(segment.place), tokens.surface, 0.3)
            painter.fillRect(room.adjusted(0, 0, -1.5, 0), QColor(ground))
        if segment.hatched:
            painter.fillRect(room, QBrush(QColor(tokens.line), Qt.BrushStyle.BDiagPattern))
        else:
            self._write(painter, room.adjusted(_PAD, 4, -4, -4), segment, ground)

    def _write(self, painter: QPainter, room: QRectF, segment: Segment, ground: str) -> None:
        tokens = self._theme.tokens
        title = readable(tokens.text if segment.place is not None else tokens.muted, ground, tokens.text)
        lines = (
            (segment.title, "mono", title),
            (segment.caption, "caption", readable(tokens.muted, ground, tokens.text)),
        )
        shown = [line for line in lines if line[0]]
        height = room.height() / max(1, len(shown))
        for number, (text, role, colour) in enumerate(shown):
            painter.setFont(font("mono" if role == "mono" and segment.place is not None else "caption"))
            painter.setPen(QColor(colour))
            line = QRectF(room.left(), room.top() + number * height, room.width(), height)
            fitted = fitting(text, painter.fontMetrics(), line.width())
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, fitted)


def fitting(text: str, metrics: QFontMetrics, width: float) -> str:
    """`text` if it fits, else the number at its end (`3` of `GPU:3`), else nothing: half a figure would mislead."""
    short = text.rpartition(":")[2] if ":" in text else ""
    return next((each for each in (text, short) if metrics.horizontalAdvance(each) <= width), "")
