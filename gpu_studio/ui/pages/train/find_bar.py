"""Looking for words in a log: a field, how many places have them, and the way from one to the next."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Label

_FIELD = 240


class FindBar(QWidget):
    """Hidden until it is opened; Escape closes it. `wanted(words, back)` asks for the next place, or the one before."""

    wanted = Signal(str, bool)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field, self.found = QLineEdit(), Label(role="caption")
        self.field.setPlaceholderText("find")
        self.field.setAccessibleName("Find in the log")
        self.field.setFixedWidth(_FIELD)
        self.field.textChanged.connect(lambda: self.ask())
        self.previous, self.next = Button("Previous", small=True), Button("Next", small=True)
        self.previous.setToolTip("The place before (Shift+F3)")
        self.next.setToolTip("The next place (F3)")
        self.previous.clicked.connect(lambda: self.ask(back=True))
        self.next.clicked.connect(lambda: self.ask())
        self._close = Button("Close", "quiet", small=True)
        self._close.setToolTip("Close the search (Esc)")
        self._close.clicked.connect(self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, GRID // 2, 0, 0)
        row.setSpacing(GRID)
        for widget in (self.field, self.previous, self.next, self.found):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self._close)
        self.hide()

    def open_bar(self, words: str = "") -> None:
        """Open it, with these words if there are any, ready to be typed in."""
        self.show()
        if words:
            self.field.setText(words)
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_bar(self) -> None:
        """Close it."""
        self.hide()
        self.closed.emit()

    def ask(self, *, back: bool = False) -> None:
        """Ask for the next place, or the one before."""
        self.wanted.emit(self.field.text(), back)

    def tell(self, place: int, places: int) -> None:
        """Say at which of so many places one is, counted from 1."""
        words = f"{place} of {places}" if places else "not found"
        self.found.setText(words if self.field.text() else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Return goes on, with Shift back; Escape closes."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.ask(back=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(event)
