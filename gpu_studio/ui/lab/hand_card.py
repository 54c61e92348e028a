"""The card with what is placed by hand: the board, soft placement, the size, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QScrollArea, QWidget

from gpu_studio.lab import hand_edits
from gpu_studio.lab.benchmarks import BenchmarkError
from gpu_studio.lab.hand_placement import (
    KINDS,
    LARGEST_SIDE,
    HandPlacement,
    classic,
    problems,
    unknown_devices,
)
from gpu_studio.plan import listed
from gpu_studio.ui.kit import (
    GRID,
    UNDO,
    Button,
    CardFrame,
    Dialog,
    Elided,
    Label,
    Notice,
    Paragraph,
    ThemeManager,
    font,
)
from gpu_studio.ui.kit.fields import Switch, WholeNumber
from gpu_studio.ui.kit.settings import LAB_BY_HAND, Settings
from gpu_studio.ui.lab.hand_board import HandBoard

HOW = "Drag an operation onto the device that shall execute it, or move it with Left and Right."
_SIDE_WIDTH, _DIALOG_WIDTH, _LEAST = 76, 460, 104


class HandCard(CardFrame):
    """`changed` fires when other operations, or operations on other devices, would be measured."""

    changed = Signal()

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        notice: Notice,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", parent)
        self.setAccessibleName("Operations on devices")
        self._settings, self._notice = settings, notice
        self._devices: tuple[str, ...] = ()
        self._executed: dict[str, str] = {}
        self._placement = hand_edits.read(settings.get(LAB_BY_HAND))
        self.board = HandBoard(theme)
        self.soft = Switch("soft placement", on="soft placement on", off="soft placement off")
        self.soft.set_tip("On: TensorFlow may take another device than it was asked for")
        self.side = WholeNumber("side of the matrices", 1, LARGEST_SIDE)
        self.add = Button("Add…", small=True)
        self.edit, self.remove = Button("Edit…", small=True), Button("Remove", small=True)
        self.again = Button("Start over", "quiet", small=True)
        self.again.setToolTip("One multiplication on each device, and their sum on the CPU")
        self.said = Elided(HOW, "caption")
        self._lay_out()
        self._connect()

    @property
    def placement(self) -> HandPlacement:
        """What would be measured; until something is changed, the classic of these devices."""
        return self._placement or classic(_compute_on(self._devices))

    def show_devices(self, devices: Sequence[str]) -> None:
        """Offer these devices."""
        if tuple(devices) != self._devices:
            self._devices = tuple(devices)
            self._refresh()

    def show_executed(self, executed: Mapping[tuple[str, str, str], str]) -> None:
        """Mark where operations were executed, by their name, kind and device asked for."""
        self._executed = {
            one.name: executed[one.name, one.kind, one.device]
            for one in self.placement.operations
            if (one.name, one.kind, one.device) in executed
        }
        self._refresh()

    def ask(self, name: str = "") -> None:
        """Ask for another text of this operation, or for a further one."""
        one = next((one for one in self.placement.operations if one.name == name), None)
        text = str(one) if one else hand_edits.suggested(self.placement, self._devices)
        dialog = OperationDialog("Edit operation" if one else "Add operation", text, self)

        def take(written: str) -> None:
            if one is not None:
                self._take(hand_edits.changed(self.placement, name, written))
            else:
                self._take(hand_edits.added(self.placement, written))

        dialog.take = take
        dialog.show()

    def _lay_out(self) -> None:
        self.header.addWidget(Label("Operations", "title"))
        self.header.addStretch(1)
        for button in (self.add, self.edit, self.remove, self.again):
            self.header.addWidget(button)
        self.body.addLayout(self.header)
        row = QHBoxLayout()
        row.setSpacing(GRID)
        self.side.setFixedWidth(_SIDE_WIDTH)
        for part in (self.soft, Label("side", "muted"), self.side):
            row.addWidget(part)
        row.addStretch(1)
        self.body.addLayout(row)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.board.setObjectName("plain")
        area.setWidget(self.board)
        area.setMinimumHeight(_LEAST)
        self.body.addWidget(area, 1)
        self.body.addWidget(self.said)

    def _connect(self) -> None:
        self.board.moved.connect(
            lambda name, device: self._take(hand_edits.moved(self.placement, name, device))
        )
        self.board.edit_asked.connect(self.ask)
        self.board.remove_asked.connect(self._remove)
        self.board.current_changed.connect(self._follow)
        self.add.clicked.connect(lambda: self.ask())
        self.edit.clicked.connect(lambda: self.ask(self.board.current))
        self.remove.clicked.connect(lambda: self._remove(self.board.current))
        self.again.clicked.connect(self._start_over)
        self.soft.edited.connect(
            lambda on: self._take(replace(self.placement, soft_placement=bool(on)))
        )
        self.side.edited.connect(lambda side: self._take(replace(self.placement, side=int(side))))

    def _take(self, placement: HandPlacement) -> None:
        """Show and remember a placement; what was executed before says nothing of it."""
        self._placement = placement
        self._settings.set(LAB_BY_HAND, hand_edits.written(placement))
        self._executed = {}
        self._refresh()
        self.changed.emit()

    def _remove(self, name: str) -> None:
        before = self.placement
        self._take(hand_edits.without(before, name))
        words = f"{name} was removed."
        self._notice.say(words, label=UNDO, action=lambda: self._take(before))

    def _start_over(self) -> None:
        before = self.placement
        self._take(classic(_compute_on(self._devices)))
        if before != self.placement:
            words = "The operations are those to begin with again."
            self._notice.say(words, label=UNDO, action=lambda: self._take(before))

    def _refresh(self) -> None:
        placement = self.placement
        self.board.show_placement(placement, self._devices, self._executed)
        self.soft.show_value(placement.soft_placement)
        self.side.show_value(placement.side)
        wrong = [*problems(placement), *unknown_devices(placement, self._devices).values()]
        words = " ".join(dict.fromkeys(wrong)) or HOW
        self.said.setText(words)
        self.said.setAccessibleName(words)
        self._follow()

    def _follow(self) -> None:
        for button in (self.edit, self.remove):
            button.setEnabled(bool(self.board.current))


def _compute_on(devices: Sequence[str]) -> list[str]:
    """The cards, or where there is none all devices."""
    return [name for name in devices if name.startswith("GPU")] or list(devices)


class OperationDialog(Dialog):
    """One operation as text. `take` is called with it, and raises BenchmarkError to refuse it."""

    def __init__(self, title: str, text: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setModal(True)
        self.setAccessibleName(title)
        self.take: Callable[[str], None] = lambda _text: None
        self.field = QLineEdit(text)
        self.field.setAccessibleName("operation")
        self.field.setFont(font("mono"))
        self.wrong = Label("", "text")
        self.wrong.setWordWrap(True)
        self.wrong.set_tone("bad")
        self.wrong.hide()
        words = (
            f"Write name=kind(inputs)@device, such as total=add(a, b)@CPU:0. The kinds are "
            f"{listed(KINDS)}. What is not given is made up; without @device TensorFlow chooses."
        )
        self.column.addWidget(Paragraph(words, "muted"))
        self.column.addWidget(self.field)
        self.column.addWidget(self.wrong)
        save = Button("Save", "primary")
        save.clicked.connect(self._save)
        self.field.returnPressed.connect(self._save)
        self.add_buttons(save, last="Cancel")
        self.field.setFocus()
        self.fit(_DIALOG_WIDTH)

    def _save(self) -> None:
        try:
            self.take(self.field.text())
        except BenchmarkError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
            self.fit(_DIALOG_WIDTH)
            return
        self.close()
