"""One of a few words that stand side by side."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button


class Segments(QWidget):
    """A button for each word; the arrow keys move between them. `show_value` of what is none of them checks none."""

    edited = Signal(object)
    merges = False

    def __init__(self, name: str, words: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self.buttons = {key: self._make(name, key, text) for key, text in words.items()}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addStretch(1)

    def set_tip(self, tip: str) -> None:
        """What the tooltip of every button says."""
        for button in self.buttons.values():
            button.setToolTip(tip)

    def show_value(self, value: object) -> None:
        """Check the button of this value without reporting it."""
        chosen = self.buttons.get(value) if isinstance(value, str) else None
        if chosen is not None:
            chosen.setChecked(True)
        elif self._group.checkedButton() is not None:
            self._uncheck()

    def _make(self, name: str, key: str, text: str) -> Button:
        button = Button(text, small=True)
        button.setCheckable(True)
        button.setAccessibleName(f"{name}: {text}")
        button.clicked.connect(lambda: self.edited.emit(key))
        self._group.addButton(button)
        return button

    def _uncheck(self) -> None:
        # An exclusive group keeps one button checked for good.
        self._group.setExclusive(False)
        for button in self.buttons.values():
            button.setChecked(False)
        self._group.setExclusive(True)
