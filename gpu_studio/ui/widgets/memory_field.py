"""A field for an amount of memory in MiB."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtGui import QFocusEvent, QWheelEvent
from PySide6.QtWidgets import QSpinBox, QWidget

from gpu_studio.ui.theme.fonts import font

MOST_MIB = 9_999_999
STEP_MIB = 64


class MemoryField(QSpinBox):
    """Whole MiB with their unit. Where `nothing` is given, it stands for 0. `focused` fires when the field is entered.

    A value out of its bounds, from a file, is shown as it is.
    """

    edited = Signal(int)
    focused = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSuffix(" MiB")
        self.setLocale(QLocale.c())  # commas between thousands, whatever the system's language writes
        self.setGroupSeparatorShown(True)
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
        """Tell that the field is entered."""
        super().focusInEvent(event)
        self.focused.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Turn only with the focus: a page that is scrolled must not change a plan."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
