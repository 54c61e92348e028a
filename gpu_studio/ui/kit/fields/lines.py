"""A field for several texts, each on a line of its own."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gpu_studio.ui.kit.theme import font

_LINES = 3
_UNDOING = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)


class Lines(QPlainTextEdit):
    """Texts as lines; empty lines do not count. Tab leaves the field."""

    edited = Signal(object)
    merges = True

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value: tuple[str, ...] = ()
        self.setAccessibleName(name)
        self.setFont(font("mono"))
        self.setTabChangesFocus(True)
        # Undo is the window's; a second history here would conflict with it.
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFixedHeight(self._height(_LINES))
        self.textChanged.connect(self._read)

    def set_tip(self, tip: str) -> None:
        """What the tooltip says."""
        self.setToolTip(tip)

    def show_value(self, value: Any) -> None:
        """Show these texts without reporting them; what is typed stays if it means the same."""
        self._value = tuple(value)
        if self._parsed() != self._value:
            self.blockSignals(True)
            self.setPlainText("\n".join(self._value))
            self.blockSignals(False)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """No wider than a form needs."""
        return QSize(0, super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        """Leave the keys of undo and redo to the window: Qt takes them even without a history."""
        asked = event if event.type() == QEvent.Type.ShortcutOverride else None
        if isinstance(asked, QKeyEvent) and any(asked.matches(key) for key in _UNDOING):
            event.ignore()
            return True
        return super().event(event)

    def _height(self, lines: int) -> int:
        around = 2 * (1 + int(self.document().documentMargin()))  # 1: the frame of the style sheet
        return lines * self.fontMetrics().lineSpacing() + around

    def _parsed(self) -> tuple[str, ...]:
        return tuple(line for line in self.toPlainText().split("\n") if line.strip())

    def _read(self) -> None:
        value = self._parsed()
        if value != self._value:
            self._value = value
            self.edited.emit(value)
