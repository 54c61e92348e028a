"""A whole number with arrows to step it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QWidget

from gpu_studio.ui.models.plan.typed_values import read_whole, write_number
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.widgets.fields.marking import mark

StepEnabled = QAbstractSpinBox.StepEnabledFlag


class WholeNumber(QAbstractSpinBox):
    """A whole number of any size: Qt's own spin box holds 32 bits, and a seed has more.

    What a person types that is out of the bounds, or no number, is marked and not reported. A value out of the bounds
    from a file, or one that is no number at all, is shown as it is.
    """

    edited = Signal(object)
    merges = True

    def __init__(self, name: str, least: int, most: int | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._least, self._most = least, most
        self._value: Any = least
        self._tip = ""
        self.wrong = ""
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(6, 0, 0, 0)
        self.lineEdit().setText(str(least))
        self.lineEdit().textEdited.connect(self._read)
        self.editingFinished.connect(self._tidy)

    def value(self) -> Any:
        """The number shown; whatever stands in the plan file where that is no number."""
        return self._value

    def set_tip(self, tip: str) -> None:
        """What the tooltip says as long as nothing is wrong."""
        self._tip = tip
        self._mark(self.wrong)

    def show_value(self, value: Any) -> None:
        """Show a value without reporting it; digits as the person grouped them stay."""
        if self._parsed() != value or isinstance(value, bool):
            self._put(write_number(value))
        elif self._value == value and not self.wrong:
            return
        self._value = value
        self._mark("")

    def stepBy(self, steps: int) -> None:  # noqa: N802 - Qt's name
        """Step the number within its bounds, from wherever it is."""
        if isinstance(self._value, int):
            self._put(str(self._within(self._value + steps)))
            self._read(self.text())
            self.selectAll()

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:  # noqa: N802 - Qt's name
        """Up and down as far as the bounds go."""
        if not isinstance(self._value, int):
            return StepEnabled.StepNone
        up = StepEnabled.StepUpEnabled if self._most is None or self._value < self._most else StepEnabled.StepNone
        return up | (StepEnabled.StepDownEnabled if self._value > self._least else StepEnabled.StepNone)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Turn only with the focus: a page that is scrolled must not change a plan."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _within(self, value: int) -> int:
        value = max(self._least, value)
        return value if self._most is None else min(self._most, value)

    def _read(self, text: str) -> None:
        try:
            value = read_whole(text)
        except ValueError as error:
            self._mark(str(error))
            return
        self._mark("" if self._within(value) == value else self._bounds())
        if not self.wrong and value != self._value:
            self._value = value
            self.edited.emit(value)

    def _parsed(self) -> int | None:
        try:
            return read_whole(self.text())
        except ValueError:
            return None

    def _tidy(self) -> None:
        """Leave no text behind that is not the plan's value."""
        if self.wrong:
            self._put(write_number(self._value))
            self._mark("")

    def _put(self, text: str) -> None:
        line = self.lineEdit()
        if line.text() != text:
            place = line.cursorPosition()
            line.setText(text)
            line.setCursorPosition(min(place, len(text)) if self.hasFocus() else len(text))
            self.update()

    def _bounds(self) -> str:
        if self._most is None:
            return f"Give a whole number of {self._least:,} or more."
        return f"Give a whole number from {self._least:,} to {self._most:,}."

    def _mark(self, wrong: str) -> None:
        self.wrong = wrong
        mark(self, wrong, self._tip)


def bounds_of(least: float, most: float) -> tuple[int, int | None]:
    """Bounds of a number for this field: without a least one 0, without a most one none."""
    return (int(least) if least > -float("inf") else 0, None if most == float("inf") else int(most))
