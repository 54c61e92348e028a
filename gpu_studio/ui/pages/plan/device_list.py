"""The physical devices in the Devices tab: one of them is chosen, and those that are checked are visible."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from gpu_studio.plan.logical import CPU
from gpu_studio.ui.models.plan.edits.visibility import forget_device, hide_card, show_card
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.models.plan.strips import Strip
from gpu_studio.ui.theme.icons import coloured_icon
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.tables.check_delegate import CheckDelegate

ROW_PX = 28
_CHECK = Qt.ItemDataRole.CheckStateRole


class DeviceList(QListWidget):
    """`chosen(device)` is the one that a person wants to see, `edited(Change)` says which shall be visible."""

    chosen = Signal(str)
    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._view: PlanView | None = None
        self._strips: tuple[Strip, ...] = ()
        self.setAccessibleName("physical devices, checked where TensorFlow may see them")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setItemDelegate(CheckDelegate(theme, self))
        self.setIconSize(QSize(14, 14))
        self.currentRowChanged.connect(self._choose)
        self.itemChanged.connect(self._check)
        theme.changed.connect(self._draw)

    @property
    def device(self) -> str:
        """The device that is chosen; empty before there is one."""
        row = self.currentRow()
        return self._strips[row].device if 0 <= row < len(self._strips) else ""

    def show_strips(self, strips: Sequence[Strip], view: PlanView) -> None:
        """Show these devices. The one that was chosen stays so as long as it is there."""
        before, self._view = self.device, view
        if tuple(strips) == self._strips:
            return
        same = [strip.device for strip in strips] == [strip.device for strip in self._strips]
        self._strips = tuple(strips)
        self.blockSignals(True)
        if not same:
            self.clear()
            for _ in strips:
                item = QListWidgetItem(self)
                item.setSizeHint(QSize(0, ROW_PX))
        self._draw()
        devices = [strip.device for strip in strips]
        first = next((row for row, strip in enumerate(strips) if strip.visible and strip.device != CPU), 0)
        self.setCurrentRow(devices.index(before) if before in devices else first)
        self.blockSignals(False)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """All rows."""
        return QSize(160, self.count() * ROW_PX + 2)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Some rows: the others are reached by scrolling."""
        return QSize(120, min(self.count(), 3) * ROW_PX + 2)

    def _draw(self) -> None:
        blocked = self.blockSignals(True)
        for row, strip in enumerate(self._strips):
            self._draw_row(self.item(row), strip)
        self.blockSignals(blocked)

    def _draw_row(self, item: QListWidgetItem, strip: Strip) -> None:
        bad = coloured_icon("warning", self._theme.tokens.bad)
        # The name of an instance fills the row, and its check says what it is.
        item.setText(strip.name if strip.instance else f"{strip.name}  ·  {_state(strip)}")
        item.setData(Qt.ItemDataRole.DecorationRole, bad if strip.errors else None)
        item.setCheckState(Qt.CheckState.Checked if strip.visible else Qt.CheckState.Unchecked)
        always = strip.device == CPU
        item.setFlags(
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            | (Qt.ItemFlag.NoItemFlags if always else Qt.ItemFlag.ItemIsUserCheckable)
        )  # fmt: skip
        item.setToolTip(strip.detail + ("\nTensorFlow always sees the CPU." if always else ""))

    def _choose(self, row: int) -> None:
        if 0 <= row < len(self._strips):
            self.chosen.emit(self._strips[row].device)

    def _check(self, item: QListWidgetItem) -> None:
        if self._view is None:
            return
        strip, machine = self._strips[self.row(item)], self._view.machine
        wanted = item.data(_CHECK) == Qt.CheckState.Checked.value or item.checkState() == Qt.CheckState.Checked
        if wanted == strip.visible:
            return
        device = strip.device
        edit = show_card if wanted else forget_device if strip.missing else hide_card
        text = f"{'show' if wanted else 'hide'} {strip.name}"
        self.edited.emit(Change(lambda plan: edit(plan, device, machine), text))
        self._draw()


def _state(strip: Strip) -> str:
    if strip.missing:
        return "not here"
    if strip.lost:
        return "lost"
    return strip.cut if strip.visible else "hidden"
