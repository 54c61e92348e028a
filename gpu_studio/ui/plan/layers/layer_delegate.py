"""Paint a layer in a lane."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gpu_studio.common import figures
from gpu_studio.ui.kit.painting import LEFT, RIGHT
from gpu_studio.ui.kit.theme.fonts import FontRole, font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.palette import mix, readable
from gpu_studio.ui.kit.theme.tokens import Tokens
from gpu_studio.ui.plan.layers.board import Item
from gpu_studio.ui.plan.layers.rows import ITEM

GAP = 4
SIDE = 8
_HIGH, _LOW = 46, 24
_RADIUS = 7.0
_STRIPE = 4.0


class LayerDelegate(QStyledItemDelegate):
    """Paints name and share of the time, and below them kind and bytes.

    `compact` omits the second line.
    """

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.compact = False

    def sizeHint(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """One line or two, and the gap below."""
        del option, index
        return QSize(80, (_LOW if self.compact else _HIGH) + (2 if self.compact else GAP))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw the layer."""
        item = index.data(ITEM)
        if not isinstance(item, Item):
            return
        gap = 2 if self.compact else GAP
        box = QRectF(option.rect).adjusted(SIDE + 0.5, 0.5, -SIDE - 0.5, -gap - 0.5)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        state = option.state
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        draw_box(painter, box, item, self._theme.tokens, chosen=chosen)
        if focused:
            painter.setPen(QPen(QColor(self._theme.tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        inside = box.adjusted(_STRIPE + 6, 0, -6, 0)
        draw_words(painter, inside, item, self._theme.tokens, compact=self.compact, chosen=chosen)
        painter.restore()


def draw_box(painter: QPainter, box: QRectF, item: Item, tokens: Tokens, *, chosen: bool) -> None:
    """Draw the frame with the device's stripe.

    A layer that the plan leaves out has a dashed frame.
    """
    colour = tokens.muted if item.place is None else tokens.device_colour(item.place)
    ground = _ground(tokens, chosen=chosen)
    outline = QPainterPath()
    outline.addRoundedRect(box, _RADIUS, _RADIUS)
    painter.fillPath(outline, QColor(ground))
    painter.save()
    painter.setClipPath(outline)
    painter.fillRect(QRectF(box.left(), box.top(), _STRIPE, box.height()), QColor(colour))
    painter.restore()
    pen = QPen(QColor(tokens.accent if chosen else tokens.line), 1)
    pen.setStyle(Qt.PenStyle.DashLine if item.goes_to else Qt.PenStyle.SolidLine)
    painter.strokePath(outline, pen)


def draw_words(
    painter: QPainter, area: QRectF, item: Item, tokens: Tokens, *, compact: bool, chosen: bool
) -> None:
    """Write the layer's name and figures."""
    if compact:
        _write(
            painter,
            area,
            item.layer,
            item.percent,
            ("mono_caption", "caption"),
            tokens.text,
            may_cut=item.is_notable,
        )
        return
    half = area.height() / 2
    top = QRectF(area.left(), area.top() + 3, area.width(), half - 3)
    below = QRectF(area.left(), area.top() + half, area.width(), half - 4)
    _write(painter, top, item.layer, item.percent, ("mono", "text"), tokens.text)
    words = item.goes_to or item.kind
    ink = readable(tokens.muted, _ground(tokens, chosen=chosen), tokens.text)
    _write(
        painter, below, words, figures.size(item.bytes), ("caption", "caption"), ink, may_cut=False
    )


def _ground(tokens: Tokens, *, chosen: bool) -> str:
    return mix(tokens.accent, tokens.surface, 0.2) if chosen else tokens.raised


def _write(
    painter: QPainter,
    line: QRectF,
    left: str,
    right: str,
    roles: tuple[FontRole, FontRole],
    colour: str,
    *,
    may_cut: bool = True,
) -> None:
    """Write words at the left and a figure at the right.

    The figure is omitted where it would cut words that must not be cut, or half of the others.
    """
    painter.setFont(font(roles[1]))
    painter.setPen(QColor(colour))
    taken = painter.fontMetrics().horizontalAdvance(right) + 6 if right else 0
    painter.setFont(font(roles[0]))
    wide = painter.fontMetrics().horizontalAdvance(left)
    if wide + taken > line.width() and (not may_cut or taken > line.width() / 2):
        taken, right = 0, ""
    cut = painter.fontMetrics().elidedText(
        left, Qt.TextElideMode.ElideMiddle, int(line.width() - taken)
    )
    painter.drawText(line, LEFT, cut)
    painter.setFont(font(roles[1]))
    painter.drawText(line, RIGHT, right)
