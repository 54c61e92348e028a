"""A physical device as a bar to scale, divided into its logical devices in their colours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit import LEFT, ThemeManager, Tokens, font, mix, readable
from gpu_studio.ui.plan.carving.strips import Overflow, Segment

HEIGHT = 44


class SliceBar(QWidget):
    """The segments side by side, to scale.

    The bar is read-only; its accessible text describes it.
    """

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, height: int = HEIGHT
    ) -> None:
        super().__init__(parent)
        self._painter = SlicePainter(theme)
        self._height = height
        self._segments: tuple[Segment, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_segments(self, segments: Sequence[Segment]) -> None:
        """Show these segments."""
        self._segments = tuple(segments)
        self.setAccessibleDescription(spoken(self._segments))
        self.setToolTip(spoken(self._segments))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as may be."""
        return QSize(120, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the segments, and the frame around them."""
        del event
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        self._painter.draw(QPainter(self), frame, self._segments)


RADIUS = 8.0
TWO_LINES = 40
_PAD = 5


class SlicePainter:
    """Draws segments side by side in a frame."""

    def __init__(self, theme: ThemeManager) -> None:
        self._theme = theme

    def draw(
        self,
        painter: QPainter,
        frame: QRectF,
        segments: Sequence[Segment],
        overflow: Overflow | None = None,
        chosen: int | None = None,
    ) -> None:
        """Draw the segments, the overflow and the frame.

        The segment of device number `chosen` is drawn stronger.
        """
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(frame, RADIUS, RADIUS)
        painter.save()
        painter.setClipPath(outline)
        beyond = _beyond(frame, overflow, sum(segment.size for segment in segments))
        for area, segment in zip(areas(frame, segments), segments, strict=True):
            strong = chosen is not None and segment.place == chosen
            self._draw_segment(painter, area, segment, beyond.left(), strong=strong)
        if overflow is not None:
            self._draw_overflow(painter, beyond, overflow)
        painter.restore()
        bad = overflow is not None and overflow.bad
        painter.setPen(QPen(QColor(self._theme.tokens.bad if bad else self._theme.tokens.line), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(outline)

    def _draw_segment(
        self, painter: QPainter, area: QRectF, segment: Segment, end: float, *, strong: bool
    ) -> None:
        tokens = self._theme.tokens
        ground = tokens.surface
        if segment.place is not None:
            ground = mix(
                tokens.device_colour(segment.place), tokens.surface, 0.42 if strong else 0.3
            )
            painter.fillRect(area.adjusted(0, 0, -1.5, 0), QColor(ground))
        if segment.bad:
            self._draw_bad(painter, area, segment.title)
        elif segment.hatched:
            painter.fillRect(
                area,
                QBrush(QColor(mix(tokens.muted, tokens.surface, 0.5)), Qt.BrushStyle.BDiagPattern),
            )
        else:
            seen = min(area.right(), end) - area.right()
            self._write(painter, area.adjusted(_PAD, 4, seen - 3, -4), segment, ground)

    def _draw_bad(self, painter: QPainter, area: QRectF, title: str) -> None:
        """Hatch the segment in the error colour, and say on a clear background what is wrong."""
        tokens = self._theme.tokens
        ground = mix(tokens.bad, tokens.surface, 0.12)
        painter.fillRect(area, QColor(ground))
        painter.fillRect(
            area, QBrush(QColor(mix(tokens.bad, ground, 0.45)), Qt.BrushStyle.BDiagPattern)
        )
        painter.setFont(font("caption"))
        words = painter.fontMetrics().size(0, title)
        behind = QRectF(0, 0, words.width() + 2 * _PAD, words.height() + 2)
        behind.moveCenter(area.center())
        painter.fillRect(behind, QColor(ground))
        painter.setPen(QColor(readable(tokens.bad, ground, tokens.text)))
        painter.drawText(behind, Qt.AlignmentFlag.AlignCenter, title)

    def _write(self, painter: QPainter, area: QRectF, segment: Segment, ground: str) -> None:
        tokens = self._theme.tokens
        title = readable(
            tokens.text if segment.place is not None else tokens.muted, ground, tokens.text
        )
        lines = (
            (segment.title, "mono" if segment.place is not None else "caption", title),
            (segment.caption, "caption", readable(tokens.muted, ground, tokens.text)),
        )
        shown = [line for line in lines if line[0]][
            : 2 if area.height() >= TWO_LINES - 2 * 4 else 1
        ]
        height = area.height() / max(1, len(shown))
        for number, (text, role, colour) in enumerate(shown):
            painter.setFont(font("mono" if role == "mono" else "caption"))
            painter.setPen(QColor(colour))
            line = QRectF(area.left(), area.top() + number * height, area.width(), height)
            painter.drawText(line, LEFT, fitting(text, painter.fontMetrics(), line.width()))

    def _draw_overflow(self, painter: QPainter, beyond: QRectF, overflow: Overflow) -> None:
        """Draw the part beyond the card's end in another colour, with the amount if it fits."""
        tokens = self._theme.tokens
        colour = tokens.bad if overflow.bad else tokens.warning
        ground = mix(colour, tokens.surface, 0.25)
        painter.fillRect(beyond, QColor(ground))
        painter.fillRect(
            beyond, QBrush(QColor(mix(colour, ground, 0.4)), Qt.BrushStyle.BDiagPattern)
        )
        painter.fillRect(
            QRectF(beyond.left() - 1, beyond.top(), 2, beyond.height()), QColor(colour)
        )
        painter.setFont(font("caption"))
        amount, unit, words = overflow.text.split(" ", 2)
        text = (
            f"{amount} {unit}\n{words}"
            if beyond.height() >= TWO_LINES - 1
            else f"{amount} {unit} {words}"
        )
        if painter.fontMetrics().size(0, text).width() + 6 <= beyond.width():
            painter.fillRect(beyond.adjusted(1, 0, 0, 0), QColor(ground))
            painter.setPen(QColor(readable(colour, ground, tokens.text)))
            painter.drawText(beyond, Qt.AlignmentFlag.AlignCenter, text)


def draw_pill(painter: QPainter, frame: QRectF, middle: float, text: str, tokens: Tokens) -> None:
    """Draw a short text on its own background, around `middle` and within the frame.

    In a tall frame it is below the names.
    """
    painter.setFont(font("caption"))
    metrics = painter.fontMetrics()
    size = QRectF(
        0, 0, metrics.horizontalAdvance(text) + 12, min(metrics.height() + 4, frame.height() - 4)
    )
    left = max(frame.left() + 2, min(middle - size.width() / 2, frame.right() - size.width() - 2))
    low = frame.height() >= TWO_LINES
    size.moveTo(
        left, frame.bottom() - size.height() - 3 if low else frame.center().y() - size.height() / 2
    )
    painter.setPen(QPen(QColor(tokens.accent), 1))
    painter.setBrush(QColor(tokens.raised))
    painter.drawRoundedRect(size, 5, 5)
    painter.setPen(QColor(tokens.text))
    painter.drawText(size, Qt.AlignmentFlag.AlignCenter, text)


def _beyond(frame: QRectF, overflow: Overflow | None, length: float) -> QRectF:
    """The place of the overflow in the frame; the frame's end if there is none."""
    if overflow is None:
        return QRectF(frame.right(), frame.top(), 0, frame.height())
    scale = frame.width() / (length or 1.0)
    return QRectF(
        frame.left() + scale * overflow.begin, frame.top(), scale * overflow.size, frame.height()
    )


def areas(frame: QRectF, segments: Sequence[Segment]) -> list[QRectF]:
    """The rectangle of each segment in the frame."""
    total = sum(segment.size for segment in segments) or 1.0
    edges = [frame.left()]
    for segment in segments:
        edges.append(edges[-1] + frame.width() * segment.size / total)
    return [
        QRectF(left, frame.top(), right - left, frame.height()) for left, right in pairwise(edges)
    ]


def fitting(text: str, metrics: QFontMetrics, width: float) -> str:
    """Shorten `text` to what fits.

    The short form is the number at its end (`3` of `GPU:3`) or, for a sentence, its first word,
    else nothing. A text with figures is shown in full or not at all: half of one would mislead.
    """
    number = text.rpartition(":")[2] if ":" in text else ""
    word = "" if any(map(str.isdigit, text)) else text.partition(" ")[0].rstrip(":")
    return next(
        (each for each in (text, word or number) if metrics.horizontalAdvance(each) <= width), ""
    )


def spoken(segments: Sequence[Segment]) -> str:
    """Return the segments as a line for screen readers."""
    return ", ".join(f"{each.title} {each.caption}".strip() for each in segments if each.title)
