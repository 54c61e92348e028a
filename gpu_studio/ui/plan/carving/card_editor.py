"""One card in the Devices tab: its large bar, the actions on its slices, and their exact sizes."""

from __future__ import annotations

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSpinBox, QVBoxLayout, QWidget

from gpu_studio.common.figures import grouped, share
from gpu_studio.plan.carving import Carved, change_of, equal_change
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.visibility import forget_device, show_card, without
from gpu_studio.ui.kit import (
    GRID,
    Button,
    Dot,
    Elided,
    Label,
    Paragraph,
    ThemeManager,
    font,
    tab_after,
)
from gpu_studio.ui.kit.fields import Choice
from gpu_studio.ui.plan.carving import carve_steps
from gpu_studio.ui.plan.carving.carve_bar import CarveBar, carve_actions, titles
from gpu_studio.ui.plan.carving.strips import WHOLE, Strip, Track
from gpu_studio.ui.plan.devices_card import CUTS
from gpu_studio.ui.plan.plan_view import PlanView, ProblemLine

CELL_PX = 232


class SliceCell(QWidget):
    """One slice: its device's colour and name, and its size field."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._place = 0
        self._dot = Dot(theme)
        self._name = Label("", "mono")
        self._name.setMinimumWidth(self._name.fontMetrics().horizontalAdvance("GPU:00") + GRID // 2)
        self.field = MemoryField("")
        self.field.setFixedWidth(136)
        self._share = Label("", "caption")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for widget in (self._dot, self._name, self.field, self._share):
            row.addWidget(widget)
        row.addStretch(1)
        theme.changed.connect(self._colour)

    def show_slice(self, track: Track, index: int) -> None:
        """Show a slice of a card, or the whole card."""
        self._place = track.place(index)
        self._name.setText(track.name(index))
        self.field.setAccessibleName(f"memory of {track.name(index)}")
        nothing = "all that is free" if len(track.sizes) < 2 else ""
        self.field.show_value(track.sizes[index] if track.sizes else 0, nothing)
        shown = track.sizes and track.total
        self._share.setText(share(track.sizes[index] / track.total) if shown else "")
        self._colour()

    def _colour(self) -> None:
        self._dot.set_colour(self._theme.tokens.device_colour(self._place))


class SliceFields(QWidget):
    """A cell for each slice, in as many columns as fit.

    `sized(index, MiB)` reports a typed size; `entered(index)` the slice whose field got the focus.
    """

    sized = Signal(int, int)
    entered = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.cells: list[SliceCell] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID - 2)
        self._columns = 1

    def show_track(self, track: Track) -> None:
        """Show the slices. Cells are kept while their number stays, and so is the focus in them."""
        count = len(track.cut.sizes)
        while len(self.cells) > count:
            cell = self.cells.pop()
            self._grid.removeWidget(cell)
            cell.hide()
            cell.deleteLater()
        while len(self.cells) < count:
            self._add()
        for index, cell in enumerate(self.cells):
            cell.show_slice(track, index)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One column."""
        cell = self.cells[0].minimumSizeHint().width() if self.cells else 0
        return QSize(cell, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Put the cells into as many columns as fit."""
        super().resizeEvent(event)
        columns = max(1, self.width() // CELL_PX)
        if columns != self._columns:
            self._columns = columns
            for index, cell in enumerate(self.cells):
                self._put(index, cell)

    def _add(self) -> None:
        index, cell = len(self.cells), SliceCell(self._theme)
        cell.field.edited.connect(lambda size: self.sized.emit(index, size))
        cell.field.focused.connect(lambda: self.entered.emit(index))
        self.cells.append(cell)
        self._put(index, cell)
        tab_after(self, [each.field for each in self.cells])

    def _put(self, index: int, cell: SliceCell) -> None:
        self._grid.addWidget(cell, index // self._columns, index % self._columns)


MOST_MIB = 9_999_999
STEP_MIB = 64


class MemoryField(QSpinBox):
    """Whole MiB with their unit. If `nothing` is given, it stands for 0.

    `focused` fires when the field gets the focus. An out-of-range value from a file is shown as it
    is.
    """

    edited = Signal(int)
    focused = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSuffix(" MiB")
        self.setLocale(QLocale.c())  # commas between thousands, whatever the system's locale
        self.setGroupSeparatorShown("," in grouped(MOST_MIB))
        self.setSingleStep(STEP_MIB)
        self.setRange(1, MOST_MIB)
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(6, 0, 0, 0)
        self.valueChanged.connect(self.edited)

    def show_value(self, value: int, nothing: str = "") -> None:
        """Show a value without reporting it."""
        self.blockSignals(True)
        self.setSpecialValueText(nothing)
        least = min(value, 0 if nothing else 1)
        if (least, max(value, MOST_MIB)) != (self.minimum(), self.maximum()):
            self.setRange(least, max(value, MOST_MIB))
        if value != self.value():
            self.setValue(value)
        self.blockSignals(False)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Report that the field got the focus."""
        super().focusInEvent(event)
        self.focused.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Change the value only with the focus: scrolling a page must not change a plan."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


BAR_HEIGHT = 56
CARVE_ACTIONS = ("Split", "Merge", "Remove", "Add", "Equal")


class CardEditor(QWidget):
    """Shows one card, also one that the plan names and the machine lacks.

    `edited(Change)` is the user's change.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self._strip: Strip | None = None
        self._name, self._detail = Label(role="strong"), Elided(role="muted")
        self.choice = Choice("equal slices", CUTS)
        self.bar = CarveBar(theme, height=BAR_HEIGHT, marked=True)
        self.problem = ProblemLine(theme)
        self._note = Paragraph(role="caption")
        self.buttons = {name: Button(name, small=True) for name in CARVE_ACTIONS}
        self.mend = Button("", small=True)
        self.fields = SliceFields(theme)
        self._lay_out()
        self._connect()

    def show_strip(self, strip: Strip, view: PlanView) -> None:
        """Show a card under the plan."""
        self._strip, self._view = strip, view
        self._name.setText(strip.name)
        self._detail.setText(strip.detail)
        self._detail.shorter = (strip.shorter_detail,)
        self.choice.setAccessibleName(f"equal slices of {strip.name}")
        self.choice.setAccessibleDescription(f"equal slices of {strip.name}")
        self.choice.setVisible(strip.track is not None)
        self.choice.show_value(strip.cut)
        self.bar.setAccessibleName(f"carve of {strip.name}, to scale")
        self.bar.show_strip(strip)
        self.problem.say(strip.errors, strip.caution)
        self._note.setText(strip.note)
        self._note.setVisible(bool(strip.note))
        self._show_remedy(strip)
        self._show_track()

    def _show_remedy(self, strip: Strip) -> None:
        # Making a card visible that does not answer would only cause a problem.
        self.mend.setVisible(strip.track is None and (strip.visible or not strip.lost))
        self.mend.setText(
            "Take out of the plan" if strip.missing else "Hide it" if strip.lost else "Make visible"
        )
        self.mend.setAccessibleName(f"{self.mend.text()}: {strip.name}")

    def _show_track(self) -> None:
        track = self._strip.track if self._strip else None
        for widget in (self.fields, *self.buttons.values()):
            widget.setVisible(track is not None)
        if track is not None:
            self.fields.show_track(track)
        self._show_buttons()

    def _show_buttons(self) -> None:
        """Say what each button does with the current slice, or why it cannot."""
        track = self._strip.track if self._strip else None
        if track is None:
            return
        words = titles(track, self.bar.current)
        for name, why_not, _ in carve_actions(track, self.bar.current):
            button = self.buttons[name]
            button.setEnabled(not why_not)
            button.setToolTip(why_not or words[name])
            button.setAccessibleName(words[name])

    def _lay_out(self) -> None:
        head, row, column = QHBoxLayout(), QHBoxLayout(), QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        for each in (head, row):
            each.setSpacing(GRID // 2)
        head.setSpacing(GRID)
        head.addWidget(self._name)
        head.addWidget(self._detail)
        head.addStretch(1)
        head.addWidget(self.choice)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addWidget(self.mend)
        row.addStretch(1)
        column.addLayout(head)
        for widget in (self.bar, self.problem, self._note):
            column.addWidget(widget)
        column.addLayout(row)
        column.addWidget(self.fields)
        column.addStretch(1)

    def _connect(self) -> None:
        self.choice.setToolTip("Cut the card into equal slices of what is free")
        self.choice.edited.connect(self._cut)
        self.bar.carved.connect(self._carve)
        self.bar.selected.connect(self._show_buttons)
        self.fields.sized.connect(self._size)
        self.fields.entered.connect(self.bar.select)
        self.mend.clicked.connect(self._remedy)
        for name, button in self.buttons.items():
            button.clicked.connect(lambda _=False, name=name: self._do(name))

    def _carve(self, carved: Carved) -> None:
        if self._view is not None:
            self.edited.emit(change_of(carved, self._view.machine))

    def _cut(self, text: str) -> None:
        if self._view is not None and self._strip is not None:
            count = 1 if text == WHOLE else int(text.split()[0])
            self.edited.emit(equal_change(self._strip.device, count, self._view.machine))

    def _size(self, index: int, size: int) -> None:
        if self._strip is not None and self._strip.track is not None:
            self._carve(carve_steps.resized(self._strip.track, index, size))

    def _do(self, name: str) -> None:
        if self._strip is not None and self._strip.track is not None:
            make = next(
                make
                for each, _, make in carve_actions(self._strip.track, self.bar.current)
                if each == name
            )
            self._carve(make())

    def _remedy(self) -> None:
        if self._view is None or self._strip is None:
            return
        device, machine, name = self._strip.device, self._view.machine, self._strip.name
        if self._strip.missing:
            change = Change(
                lambda plan: forget_device(plan, device, machine), f"take {name} out of the plan"
            )
        elif self._strip.lost:
            change = Change(lambda plan: without(plan, machine, [device]), f"hide {name}")
        else:
            change = Change(lambda plan: show_card(plan, device, machine), f"show {name}")
        self.edited.emit(change)
