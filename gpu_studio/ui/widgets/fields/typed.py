"""A line that a value is typed into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

from gpu_studio.ui.models.plan.typed_values import read_real, write_number
from gpu_studio.ui.theme.fonts import FontRole, font
from gpu_studio.ui.widgets.fields.marking import mark

UNKNOWN: Any = object()


class Typed(QLineEdit):
    """A value as text. What `read` refuses with a ValueError is marked, its message told in the tooltip, not reported.

    `write` gives the text of a value; another way of writing the same value stays as the person typed it.
    """

    edited = Signal(object)
    merges = True

    def __init__(
        self,
        name: str,
        read: Callable[[str], Any] = str,
        write: Callable[[Any], str] = str,
        parent: QWidget | None = None,
        *,
        role: FontRole = "text",
    ) -> None:
        super().__init__(parent)
        self._read_text, self._write = read, write
        self._value: Any = UNKNOWN
        self._tip = ""
        self.wrong = ""
        self.setAccessibleName(name)
        self.setFont(font(role))
        self.textEdited.connect(self._read)

    def set_tip(self, tip: str) -> None:
        """What the tooltip says as long as nothing is wrong."""
        self._tip = tip
        self._mark(self.wrong)

    def show_value(self, value: Any) -> None:
        """Show a value without reporting it."""
        if not _same(self._parsed(self.text()), value):
            self._put(self._write(value))
        elif _same(self._value, value) and not self.wrong:
            return
        self._value = value
        self._mark("")

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Leave no text behind that is not the plan's value; a menu or another window takes the focus for a while."""
        super().focusOutEvent(event)
        passing = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)
        if self.wrong and self._value is not UNKNOWN and event.reason() not in passing:
            self._put(self._write(self._value))
            self._mark("")

    def _put(self, text: str) -> None:
        # A value that comes from elsewhere, such as undo, must not throw the cursor to the end.
        if text != self.text():
            place = self.cursorPosition()
            self.setText(text)
            self.setCursorPosition(min(place, len(text)) if self.hasFocus() else 0)

    def _read(self, text: str) -> None:
        try:
            value = self._read_text(text)
        except ValueError as error:
            self._mark(str(error))
            return
        self._mark("")
        if not _same(value, self._value):
            self._value = value
            self.edited.emit(value)

    def _parsed(self, text: str) -> Any:
        try:
            return self._read_text(text)
        except ValueError:
            return UNKNOWN

    def _mark(self, wrong: str) -> None:
        self.wrong = wrong
        mark(self, wrong, self._tip)


class PositiveNumber(Typed):
    """A number above 0, as `0.001` or `1e-3`. What is no such number is marked, and not reported."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, _positive, write_number, parent)


class Suggested(Typed):
    """A text for which others are suggested while it is typed; any text is taken."""

    def __init__(self, name: str, suggestions: Sequence[str] = (), parent: QWidget | None = None) -> None:
        super().__init__(name, parent=parent)
        self._suggestions = QStringListModel(list(suggestions), self)
        completer = QCompleter(self._suggestions, self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        # A suggestion that is chosen is typed, as far as the plan is concerned.
        completer.activated.connect(self._read)
        self.setCompleter(completer)

    def suggest(self, suggestions: Sequence[str]) -> None:
        """Suggest these from now on."""
        if list(suggestions) != self._suggestions.stringList():
            self._suggestions.setStringList(list(suggestions))


def _positive(text: str) -> float:
    try:
        value = read_real(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise ValueError("Give a number above 0, as 0.001 or 1e-3.")
    return value


def _same(one: Any, other: Any) -> bool:
    # In a plan 1 and true are two things, and an empty text is not UNKNOWN.
    return one is other or (type(one) is type(other) and bool(one == other))
