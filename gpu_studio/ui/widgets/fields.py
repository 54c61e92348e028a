"""Input fields that follow a value and report only what a person changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSpinBox, QWidget

from gpu_studio.ui.theme.fonts import font

QT_INT_MAX = 2**31 - 1


class WholeNumber(QSpinBox):
    """A whole number. A value out of its bounds, from a file, is shown as it is."""

    edited = Signal(int)

    def __init__(self, name: str, least: int, most: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bounds = (least, min(most, QT_INT_MAX))
        self.setRange(*self._bounds)
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(6, 0, 0, 0)
        self.valueChanged.connect(self.edited)

    def show_value(self, value: int) -> None:
        """Show a value without reporting it."""
        if value == self.value():
            return
        self.blockSignals(True)
        value = max(-QT_INT_MAX, min(value, QT_INT_MAX))
        self.setRange(min(self._bounds[0], value), max(self._bounds[1], value))
        self.setValue(value)
        self.blockSignals(False)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Turn only with the focus: a page that is scrolled must not change a plan."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class PositiveNumber(QLineEdit):
    """A number above 0, as `0.001` or `1e-3`. What is no such number is marked, and not reported."""

    edited = Signal(float)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value = 0.0
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.textEdited.connect(self._read)

    def show_value(self, value: float) -> None:
        """Show a value without reporting it; a person's own way of writing the same number stays."""
        self._value = value
        if _number(self.text()) != value:
            self.setText(repr(value))
        self._mark(wrong=False)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Leave no text behind that is not the plan's value."""
        super().focusOutEvent(event)
        if _number(self.text()) is None:
            self.show_value(self._value)

    def _read(self, text: str) -> None:
        value = _number(text)
        self._mark(wrong=value is None)
        if value is not None and value != self._value:
            self._value = value
            self.edited.emit(value)

    def _mark(self, *, wrong: bool) -> None:
        self.setToolTip("Give a number above 0, as 0.001 or 1e-3." if wrong else "")
        if bool(self.property("wrong")) != wrong:
            self.setProperty("wrong", wrong)
            self.style().unpolish(self)
            self.style().polish(self)


class Choice(QComboBox):
    """One of several names. A name that is not among them, from a file, is shown as it is."""

    edited = Signal(str)

    def __init__(self, name: str, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.addItems(list(names))
        self.setAccessibleName(name)
        # On Linux a screen reader takes the value of a combo box for its name.
        self.setAccessibleDescription(name)
        self.setFont(font("text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.textActivated.connect(self.edited)

    def show_value(self, value: str) -> None:
        """Show a name without reporting it."""
        if self.findText(value) < 0:
            self.addItem(value)
        self.setCurrentText(value)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the page."""
        event.ignore()


def _number(text: str) -> float | None:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return value if value > 0 and math.isfinite(value) else None
