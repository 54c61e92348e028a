"""The layers of one lane: a list that is dragged from, and told keys that move its layers elsewhere."""

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

from gpu_studio.ui.models.plan.lanes.rows import LaneRows
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.lanes.lane_keys import GONE, digit, held, is_ours, kept
from gpu_studio.ui.widgets.lanes.layer_delegate import LayerDelegate

EMPTY = "drag layers here"
_CTRL = Qt.KeyboardModifier.ControlModifier
_SIDEWAYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_Flag = QItemSelectionModel.SelectionFlag


class LayerList(QListView):
    """`sent(number, split)` is a key that moves what is selected to a device, `removed` one that takes it off.

    `stepped(by)` goes to the lane beside; `alone` fires when what is selected in other lanes is not meant any more;
    `dragged` when a drag begins; `menu_asked(where)` wants a menu.
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
        # The lane takes what is dropped, its head too; a list that took nothing would stand in its way.
        self.setAcceptDrops(False)
        self.viewport().setAcceptDrops(False)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent;")
        theme.changed.connect(self.viewport().update)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The layers that are selected, in their order."""
        rows = sorted(index.row() for index in self.selectedIndexes())
        return tuple(self.rows.items[row].layer for row in rows)

    def choose(self, layers: tuple[str, ...]) -> None:
        """Select those of these layers that are here, and nothing else; the first becomes the current one."""
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
        """Take the focus, at the layer that is at this height."""
        if self.rows.rowCount():
            index = self.indexAt(QPoint(self.viewport().width() // 2, height))
            self.setCurrentIndex(index if index.isValid() else self.rows.index(self.rows.rowCount() - 1))
        self.setFocus(Qt.FocusReason.TabFocusReason)

    def event(self, event: QEvent) -> bool:
        """Keep the keys that mean something here from being the window's."""
        return kept(event, is_ours) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move what is selected, or go to the lane beside."""
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
        """Have a current layer as soon as keys come here."""
        super().focusInEvent(event)
        if not self.currentIndex().isValid() and self.rows.rowCount():
            self.selectionModel().setCurrentIndex(self.rows.index(0), _Flag.NoUpdate)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Select; what is selected elsewhere stays only if it may be dragged along, or is added to."""
        index = self.indexAt(event.position().toPoint())
        if not _adding(event) and not (index.isValid() and self.selectionModel().isSelected(index)):
            self.alone.emit()
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """A click without a drag means this lane alone."""
        if not _adding(event) and event.button() == Qt.MouseButton.LeftButton:
            self.alone.emit()
        super().mouseReleaseEvent(event)

    def startDrag(self, supported: Qt.DropAction) -> None:  # noqa: N802 - Qt's name
        """Let the lanes drag what is selected in all of them."""
        del supported
        self.dragged.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for a menu about what is selected."""
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.menu_asked.emit(event.globalPos())
        else:
            middle = self.visualRect(self.currentIndex()).center()
            self.menu_asked.emit(self.viewport().mapToGlobal(middle))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the layers; without any say what to do."""
        super().paintEvent(event)
        if self.rows.rowCount() == 0:
            painter = QPainter(self.viewport())
            painter.setFont(font("caption"))
            painter.setPen(QColor(self._theme.tokens.muted))
            where = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.viewport().rect().adjusted(8, 0, -8, 0), where, EMPTY)


def _adding(event: QMouseEvent) -> bool:
    return bool(event.modifiers() & (_CTRL | Qt.KeyboardModifier.ShiftModifier))
