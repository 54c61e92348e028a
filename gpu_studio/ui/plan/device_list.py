"""The list of the physical devices, checked where TensorFlow may see them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QListView, QWidget

from gpu_studio.plan import CPU
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.visibility import forget_device, hide_card, show_card
from gpu_studio.ui.kit import CheckDelegate, ThemeManager, coloured_icon
from gpu_studio.ui.plan.carving.strips import Strip
from gpu_studio.ui.plan.plan_view import PlanView

Index = QModelIndex | QPersistentModelIndex
ROW_PX = 28
_NO_INDEX = QModelIndex()


class DeviceRows(QAbstractListModel):
    """A row for each physical device. `checked(strip, wanted)` is the user's check of one."""

    checked = Signal(object, bool)

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.strips: tuple[Strip, ...] = ()
        theme.changed.connect(self._refresh)

    def show_strips(self, strips: tuple[Strip, ...]) -> None:
        """Show these devices. Rows stay where only what is said of the devices changes."""
        if [strip.device for strip in strips] == [strip.device for strip in self.strips]:
            self.strips = strips
            self._refresh()
            return
        self.beginResetModel()
        self.strips = strips
        self.endResetModel()

    def row_of(self, device: str) -> int:
        """The row of a device, -1 if it is not here."""
        return next((row for row, strip in enumerate(self.strips) if strip.device == device), -1)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:  # noqa: N802 - Qt's name
        """How many devices there are."""
        return 0 if parent.isValid() else len(self.strips)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        """Return what is said of a device, and whether TensorFlow may see it."""
        if not index.isValid():
            return None
        strip = self.strips[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                # An instance's name fills the row, and its checkbox says the rest.
                return strip.name if strip.instance else f"{strip.name}  ·  {_state(strip)}"
            case Qt.ItemDataRole.DecorationRole if strip.errors:
                return coloured_icon("warning", self._theme.tokens.bad)
            case Qt.ItemDataRole.CheckStateRole:
                state = Qt.CheckState.Checked if strip.visible else Qt.CheckState.Unchecked
                return state.value
            case Qt.ItemDataRole.ToolTipRole:
                always = "\nTensorFlow always sees the CPU." if strip.device == CPU else ""
                return strip.detail + always
            case Qt.ItemDataRole.SizeHintRole:
                return QSize(0, ROW_PX)
        return None

    def setData(  # noqa: N802 - Qt's name
        self, index: Index, value: object, role: int = int(Qt.ItemDataRole.EditRole)
    ) -> bool:
        """Ask for a device to be shown or hidden. The row shows it once the plan says so."""
        if not index.isValid() or role != Qt.ItemDataRole.CheckStateRole:
            return False
        strip, wanted = self.strips[index.row()], Qt.CheckState(value) == Qt.CheckState.Checked
        if wanted != strip.visible:
            self.checked.emit(strip, wanted)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every device can be selected, and every one but the CPU checked."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        always = self.strips[index.row()].device == CPU
        return flags if always else flags | Qt.ItemFlag.ItemIsUserCheckable

    def _refresh(self) -> None:
        if self.strips:
            self.dataChanged.emit(self.index(0), self.index(len(self.strips) - 1))


class DeviceList(QListView):
    """The physical devices.

    `chosen(device)` is the device that the user selects, `edited(Change)` a change of what is
    visible.
    """

    chosen = Signal(str)
    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self._rows = DeviceRows(theme, self)
        self.setModel(self._rows)
        self.setAccessibleName("physical devices, checked where TensorFlow may see them")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setItemDelegate(CheckDelegate(theme, self))
        self.setIconSize(QSize(14, 14))
        self._rows.checked.connect(self._check)

    @property
    def device(self) -> str:
        """The selected device; empty before there is one."""
        row = self.currentIndex().row()
        return self._rows.strips[row].device if 0 <= row < len(self._rows.strips) else ""

    def choose(self, device: str) -> None:
        """Select this device if it is listed."""
        self.setCurrentIndex(self._rows.index(self._rows.row_of(device)))

    def show_strips(self, strips: Sequence[Strip], view: PlanView) -> None:
        """Show these devices. The selected one stays selected while it is listed."""
        before, self._view = self.device, view
        if tuple(strips) == self._rows.strips:
            return
        with QSignalBlocker(self):
            self._rows.show_strips(tuple(strips))
            listed = [strip.device for strip in strips]
            seen = (strip.device for strip in strips if strip.visible and strip.device != CPU)
            self.choose(before if before in listed else next(seen, listed[0] if listed else ""))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """All rows."""
        return QSize(160, self._rows.rowCount() * ROW_PX + 2)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Some rows: the others are reached by scrolling."""
        return QSize(120, min(self._rows.rowCount(), 3) * ROW_PX + 2)

    def currentChanged(self, current: Index, previous: Index) -> None:  # noqa: N802 - Qt's name
        """Say which device is selected now."""
        super().currentChanged(current, previous)
        if current.isValid():
            self.chosen.emit(self.device)

    def _check(self, strip: Strip, wanted: bool) -> None:
        if self._view is None:
            return
        device, machine = strip.device, self._view.machine
        edit = show_card if wanted else forget_device if strip.missing else hide_card
        text = f"{'show' if wanted else 'hide'} {strip.name}"
        self.edited.emit(Change(lambda plan: edit(plan, device, machine), text))


def _state(strip: Strip) -> str:
    if strip.missing:
        return "not here"
    if strip.lost:
        return "lost"
    return strip.cut if strip.visible else "hidden"
