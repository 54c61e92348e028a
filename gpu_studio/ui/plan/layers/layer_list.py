"""The layers of one lane: a list to drag from, with keys that move its layers elsewhere.

Its rows keep their identity when others come and go; its delegate paints a layer.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gpu_studio.common import figures
from gpu_studio.ui.kit import LEFT, RIGHT, FontRole, ThemeManager, Tokens, font, mix, readable
from gpu_studio.ui.plan.layers.board import Item
from gpu_studio.ui.plan.layers.layer_moves import GONE, digit, held, is_ours, kept

EMPTY = "drag layers here"
_CTRL = Qt.KeyboardModifier.ControlModifier
_SIDEWAYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_Flag = QItemSelectionModel.SelectionFlag


class LayerList(QListView):
    """`sent(number, split)` is a key that moves the selection to a device.

    `removed` is one that removes it; `stepped(by)` goes to the neighbouring lane; `alone` fires
    when the selection in other lanes is no longer meant; `dragged` when a drag begins;
    `menu_asked(where)` asks for a menu.
    """

    sent = Signal(int, bool)
    removed = Signal()
    stepped = Signal(int)
    alone = Signal()
    dragged = Signal()
    menu_asked = Signal(QPoint)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows = LaneRows(self)
        self.delegate = LayerDelegate(theme, self)
        self.setModel(self.rows)
        self.setItemDelegate(self.delegate)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.setDragEnabled(True)
        # The whole lane accepts drops, its header too; a list that refused them would block them.
        self.setAcceptDrops(False)
        self.viewport().setAcceptDrops(False)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent;")
        theme.changed.connect(self.viewport().update)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The selected layers, in their order."""
        rows = sorted(index.row() for index in self.selectedIndexes())
        return tuple(self.rows.items[row].layer for row in rows)

    def choose(self, layers: tuple[str, ...]) -> None:
        """Select those of these layers that are here, and no others; the first becomes current."""
        wanted = set(layers)
        places = [row for row, item in enumerate(self.rows.items) if item.layer in wanted]
        if set(self.chosen) == {self.rows.items[row].layer for row in places}:
            return
        selection = QItemSelection()
        for first, last in _stretches(places):
            selection.select(self.rows.index(first), self.rows.index(last))
        self.selectionModel().select(selection, _Flag.ClearAndSelect)
        if places:
            self.selectionModel().setCurrentIndex(self.rows.index(places[0]), _Flag.NoUpdate)
            self.scrollTo(self.rows.index(places[0]))

    def enter(self, height: int) -> None:
        """Take the focus, at the layer at this height."""
        if self.rows.rowCount():
            index = self.indexAt(QPoint(self.viewport().width() // 2, height))
            self.setCurrentIndex(
                index if index.isValid() else self.rows.index(self.rows.rowCount() - 1)
            )
        self.setFocus(Qt.FocusReason.TabFocusReason)

    def event(self, event: QEvent) -> bool:
        """Claim the keys that mean something here, before the window's shortcuts get them."""
        return kept(event, is_ours) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move the selection, or go to the neighbouring lane."""
        key = Qt.Key(event.key())
        if (sent := digit(event)) is not None:
            self.sent.emit(*sent)
        elif key in GONE and not held(event):
            self.removed.emit()
        elif key in _SIDEWAYS and not held(event):
            self.stepped.emit(_SIDEWAYS[key])
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Make a layer current as soon as keys come here."""
        super().focusInEvent(event)
        if not self.currentIndex().isValid() and self.rows.rowCount():
            self.selectionModel().setCurrentIndex(self.rows.index(0), _Flag.NoUpdate)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Select.

        The selection elsewhere stays only if it may be dragged along, or is added to.
        """
        index = self.indexAt(event.position().toPoint())
        if not _adding(event) and not (index.isValid() and self.selectionModel().isSelected(index)):
            self.alone.emit()
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Restrict the selection to this lane after a click without a drag."""
        if not _adding(event) and event.button() == Qt.MouseButton.LeftButton:
            self.alone.emit()
        super().mouseReleaseEvent(event)

    def startDrag(self, supported: Qt.DropAction) -> None:  # noqa: N802 - Qt's name
        """Let the lanes drag the selection in all of them."""
        del supported
        self.dragged.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for a menu about the selection."""
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.menu_asked.emit(event.globalPos())
        else:
            middle = self.visualRect(self.currentIndex()).center()
            self.menu_asked.emit(self.viewport().mapToGlobal(middle))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the layers; if there are none, say what to do."""
        super().paintEvent(event)
        if self.rows.rowCount() == 0:
            painter = QPainter(self.viewport())
            painter.setFont(font("caption"))
            painter.setPen(QColor(self._theme.tokens.muted))
            where = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.viewport().rect().adjusted(8, 0, -8, 0), where, EMPTY)


def _adding(event: QMouseEvent) -> bool:
    return bool(event.modifiers() & (_CTRL | Qt.KeyboardModifier.ShiftModifier))


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


ITEM = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()


class LaneRows(QAbstractListModel):
    """Rows that keep their identity when others come and go, so that the selection survives."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[Item] = []

    @property
    def items(self) -> tuple[Item, ...]:
        """What is shown."""
        return tuple(self._items)

    def show_items(self, items: Sequence[Item]) -> None:
        """Show these layers."""
        before, after = [item.layer for item in self._items], [item.layer for item in items]
        staying = set(before) & set(after)
        if [name for name in before if name in staying] != [
            name for name in after if name in staying
        ]:
            self.beginResetModel()
            self._items = list(items)
            self.endResetModel()
            return
        self._remove([place for place, name in enumerate(before) if name not in staying])
        for first, last in _stretches(
            [place for place, item in enumerate(items) if item.layer not in staying]
        ):
            self.beginInsertRows(_NO_INDEX, first, last)
            self._items[first:first] = items[first : last + 1]
            self.endInsertRows()
        self._refresh(items)

    def row_of(self, layer: str) -> int:
        """The row of a layer, -1 if it is not here."""
        return next((row for row, item in enumerate(self._items) if item.layer == layer), -1)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:  # noqa: N802 - Qt's name
        """How many layers there are."""
        return 0 if parent.isValid() else len(self._items)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        """Return a layer's text or, under ITEM, everything known about it."""
        if not index.isValid():
            return None
        item = self._items[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return item.layer
            case Qt.ItemDataRole.AccessibleTextRole:
                return item.text
            case Qt.ItemDataRole.ToolTipRole:
                return "\n".join(filter(None, (item.detail, item.part, item.goes_to)))
        return item if role == ITEM else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every layer can be selected and dragged."""
        flags = (
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
        )
        return flags if index.isValid() else Qt.ItemFlag.NoItemFlags

    def _remove(self, rows: Sequence[int]) -> None:
        # By stretches: who hears of the selection looks through it, once for each.
        for first, last in reversed(_stretches(rows)):
            self.beginRemoveRows(_NO_INDEX, first, last)
            del self._items[first : last + 1]
            self.endRemoveRows()

    def _refresh(self, items: Sequence[Item]) -> None:
        """Update the rows that are kept."""
        changed = [
            row for row, (old, new) in enumerate(zip(self._items, items, strict=True)) if old != new
        ]
        self._items = list(items)
        if changed:
            self.dataChanged.emit(self.index(changed[0]), self.index(changed[-1]))


def _stretches(rows: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last of each stretch of rows that follow one another; they come in order."""
    found: list[tuple[int, int]] = []
    for row in rows:
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
