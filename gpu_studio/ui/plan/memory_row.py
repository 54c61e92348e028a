"""One logical device's predicted memory: a bar of its parts, scaled to its limit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QEnterEvent,
    QFocusEvent,
    QFontMetrics,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit.painting import LEFT, RIGHT, draw_focus
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.palette import mix
from gpu_studio.ui.kit.theme.tokens import Tokens
from gpu_studio.ui.plan.outlook import Prospect

BAR = 8.0
_PAD, _DOT, _NAME_LEFT, _APART = 4, 8, 15, 8
_SLIVER = 3
"""So many pixels show that there is something, however little."""
_SHADES = (1.0, 0.72, 0.5, 0.34, 0.2)


class MemoryRow(QWidget):
    """Paints one device. `pointed` fires when the pointer or the focus enters it."""

    pointed = Signal()

    def __init__(
        self, theme: ThemeManager, prospect: Prospect, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._prospect = prospect
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self._tell()

    @property
    def prospect(self) -> Prospect:
        """The device shown."""
        return self._prospect

    def show_prospect(self, prospect: Prospect) -> None:
        """Show this device."""
        if prospect != self._prospect:
            higher = bool(prospect.parts) != bool(self._prospect.parts)
            self._prospect = prospect
            self._tell()
            self.update()
            if higher:
                self.updateGeometry()

    def _tell(self) -> None:
        self.setAccessibleName(f"predicted memory of {self._prospect.name}")
        self.setAccessibleDescription(self._prospect.text)
        self.setToolTip(self._prospect.text)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The name and its figures, and the bar if anything is predicted."""
        bar = BAR + 4 if self._prospect.parts else 0
        return QSize(200, int(self.fontMetrics().height() + bar + 2 * _PAD))

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Report the pointer."""
        super().enterEvent(event)
        self.pointed.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Report the focus."""
        super().focusInEvent(event)
        self.pointed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the device."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_focus(painter, self, tokens, 6)
        line = QRectF(_PAD, _PAD, self.width() - 2 * _PAD, self.fontMetrics().height())
        self._paint_line(painter, line, tokens)
        if self._prospect.parts:
            area = QRectF(_PAD, line.bottom() + 3, line.width(), BAR)
            draw_parts(
                painter,
                area,
                self._prospect.shares,
                tokens.device_colour(self._prospect.place),
                tokens,
            )
            draw_held(painter, area, self._prospect.held, tokens)

    def _paint_line(self, painter: QPainter, line: QRectF, tokens: Tokens) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.device_colour(self._prospect.place)))
        painter.drawEllipse(QPointF(line.left() + _DOT / 2, line.center().y()), _DOT / 2, _DOT / 2)
        painter.setFont(font("mono"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(line.adjusted(_NAME_LEFT, 0, 0, 0), LEFT, self._prospect.name)
        after = _NAME_LEFT + painter.fontMetrics().horizontalAdvance(self._prospect.name) + 10
        painter.setFont(font("text"))
        painter.setPen(QColor(tokens.bad if self._prospect.over else tokens.text))
        share = QFontMetrics(font("caption")).horizontalAdvance(self._prospect.share)
        amount = self._amount(int(line.width()) - after - share - _APART)
        painter.drawText(line, RIGHT, amount)
        beside = line.adjusted(
            after, 0, -painter.fontMetrics().horizontalAdvance(amount) - _APART, 0
        )
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.muted))
        words = painter.fontMetrics().elidedText(
            self._prospect.share, Qt.TextElideMode.ElideRight, max(0, int(beside.width()))
        )
        painter.drawText(beside, LEFT, words)

    def _amount(self, area: int) -> str:
        """Return the total and the limit or, if they do not fit, the total.

        Widths are in pixels. The bar itself is drawn to the limit.
        """
        amount = self._prospect.amount
        fits = QFontMetrics(font("text")).horizontalAdvance(amount) <= area
        return amount if fits else amount.partition(" of ")[0]


def draw_parts(
    painter: QPainter, area: QRectF, shares: Sequence[float], colour: str, tokens: Tokens
) -> None:
    """Draw a trough, and in it the parts (each 0 to 1 of it), one after the other.

    The parts are in shades of the device's colour.
    """
    outline = QPainterPath()
    outline.addRoundedRect(area, BAR / 2, BAR / 2)
    painter.setPen(QPen(QColor(tokens.line), 1))
    painter.setBrush(QColor(tokens.raised))
    painter.drawPath(outline)
    if not any(shares):
        return
    painter.save()
    painter.setClipPath(outline)
    left = area.left()
    scale = area.width() * max(1.0, _SLIVER / max(sum(shares) * area.width(), 1e-9))
    for share, shade in zip(shares, shades(colour, tokens), strict=False):
        width = share * scale
        painter.fillRect(
            QRectF(left, area.top(), max(0.0, width - (1 if width > 3 else 0)), BAR), QColor(shade)
        )
        left += width
    painter.restore()


def draw_held(painter: QPainter, area: QRectF, share: float, tokens: Tokens) -> None:
    """Hatch the memory held by others, a `share` (0 to 1) of the trough from its end.

    It is drawn over the parts that would need the same memory.
    """
    if share <= 0:
        return
    outline = QPainterPath()
    outline.addRoundedRect(area, BAR / 2, BAR / 2)
    held = QRectF(
        area.right() - share * area.width(), area.top(), share * area.width(), area.height()
    )
    painter.save()
    painter.setClipPath(outline)
    painter.fillRect(held, QBrush(QColor(tokens.muted), Qt.BrushStyle.BDiagPattern))
    painter.fillRect(QRectF(held.left() - 1, held.top(), 1, held.height()), QColor(tokens.muted))
    painter.restore()


def shades(colour: str, tokens: Tokens) -> tuple[str, ...]:
    """Return shades of a device's colour.

    They stand for weights, gradients, slots, activations and the rest.
    """
    return tuple(mix(colour, tokens.surface, share) for share in _SHADES)
