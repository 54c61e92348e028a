"""A searchable list of all actions: a few letters find one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QKeyEvent, QKeySequence, QPixmap
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.ui.kit import GRID, font
from gpu_studio.ui.kit.icons import SIZE

NAME, KEYS = range(2)
_ACTION = Qt.ItemDataRole.UserRole
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CommandPalette(QDialog):
    """Type, move up and down, press Return.

    Where no name has the words, those are offered whose tooltips have them. Actions that are
    impossible now come last, greyed; their tooltip says why.
    """

    def __init__(self, actions: Sequence[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setWindowTitle("Find an action")
        self.setObjectName("palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions = sorted(actions, key=lambda action: not action.isEnabled())
        self.search = QLineEdit()
        self.search.setAccessibleName("find an action")
        self.search.setPlaceholderText("Find an action…")
        self.search.setFont(font("text"))
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.list = _action_list()
        self.list.itemActivated.connect(self._run)
        column = QVBoxLayout(self)
        column.setContentsMargins(GRID, GRID, GRID, GRID)
        column.addWidget(self.search)
        column.addWidget(self.list)
        self.resize(520, 400)
        self._filter("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Pass keys that belong to the list on from the search field."""
        if (
            watched is self.search
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            if event.key() in _MOVES:
                self.list.keyPressEvent(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _filter(self, text: str) -> None:
        self.list.clear()
        found = [each for each in self._actions if _matches(text, each.text())] or [
            each for each in self._actions if _matches(text, f"{each.text()} {_purpose(each)}")
        ]
        self.list.addTopLevelItems([_item(each) for each in found] or [_nothing()])
        if (first := self.list.topLevelItem(0)) is not None:
            self.list.setCurrentItem(first)

    def _run(self, item: QTreeWidgetItem | None) -> None:
        action = item.data(NAME, _ACTION) if item is not None else None
        if isinstance(action, QAction) and action.isEnabled():
            self.close()
            action.trigger()


def _action_list() -> QTreeWidget:
    tree = QTreeWidget()
    tree.setColumnCount(2)
    tree.setHeaderHidden(True)
    tree.setRootIsDecorated(False)
    tree.setUniformRowHeights(True)
    tree.setFont(font("text"))
    tree.setAccessibleName("actions")
    tree.header().setStretchLastSection(False)
    tree.header().setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
    tree.header().setSectionResizeMode(KEYS, QHeaderView.ResizeMode.ResizeToContents)
    return tree


def _item(action: QAction) -> QTreeWidgetItem:
    item = QTreeWidgetItem(
        [action.text(), action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)]
    )
    item.setIcon(NAME, action.icon() if not action.icon().isNull() else _no_icon())
    item.setSizeHint(NAME, QSize(0, 30))
    item.setFont(KEYS, font("caption"))
    item.setData(NAME, _ACTION, action)
    item.setToolTip(NAME, action.toolTip())
    item.setDisabled(not action.isEnabled())
    return item


def _nothing() -> QTreeWidgetItem:
    item = QTreeWidgetItem(["No action has these words", ""])
    item.setSizeHint(NAME, QSize(0, 30))
    item.setDisabled(True)
    return item


def _purpose(action: QAction) -> str:
    """What else says what an action is for: its tooltip, and what of one kind it belongs to."""
    group = action.actionGroup()
    return f"{action.toolTip()} {group.objectName() if group is not None else ''}"


def _no_icon() -> QIcon:
    """An empty icon, so that all names are aligned."""
    pixmap = QPixmap(SIZE, SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    return QIcon(pixmap)


def _matches(wanted: str, name: str) -> bool:
    """Whether every word typed is in the name."""
    return all(word in name.lower() for word in wanted.lower().split())
