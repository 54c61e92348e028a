"""The layers of one lane: a list to drag from, with keys that move its layers elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QWidget

from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.plan.layers.lane_keys import GONE, digit, held, is_ours, kept
from gpu_studio.ui.plan.layers.layer_delegate import LayerDelegate
from gpu_studio.ui.plan.layers.rows import LaneRows

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
        self.clearSelection()
        for row in places:
            self.selectionModel().select(self.rows.index(row), _Flag.Select)
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
