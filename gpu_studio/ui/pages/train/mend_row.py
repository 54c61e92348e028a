"""Changes of a run's plan that may help, as buttons in a row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.runs.event_parts import Mend
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Label


class MendRow(QWidget):
    """`pressed(Mend)` brings the change that was chosen. Without a change to offer it is not there."""

    pressed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[Button] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, GRID // 2, 0, 0)
        self._row.setSpacing(GRID)
        self._row.addWidget(Label("Change the plan", role="caption"))
        self._row.addStretch(1)
        self.hide()

    def show_mends(self, mends: Sequence[Mend]) -> None:
        """Offer these."""
        for button in self.buttons:
            self._row.removeWidget(button)
            button.deleteLater()
        self.buttons = [self._button(mend) for mend in mends]
        for place, button in enumerate(self.buttons, start=1):
            self._row.insertWidget(place, button)
        self.setVisible(bool(mends))

    def _button(self, mend: Mend) -> Button:
        button = Button(mend.text, small=True)
        button.setToolTip(f"Open the run's plan with this change made: {mend.field}")
        button.setAccessibleName(f"{mend.text}: open the run's plan with this change made")
        button.clicked.connect(partial(self.pressed.emit, mend))
        return button
