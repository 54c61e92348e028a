"""Text fields for values.

Values are read and written as in a plan file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QFocusEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QCompleter, QLineEdit, QWidget

from gpu_studio.common.figures import grouped
from gpu_studio.common.toml_text import toml_tables
from gpu_studio.plan import Options, inline, shown
from gpu_studio.plan.tables import Reader
from gpu_studio.ui.kit.theme import FontRole, font


def mark(field: QWidget, wrong: str, tip: str = "") -> None:
    """Give a field a red frame and say in its tooltip what is `wrong`.

    If nothing is, restore its plain look and `tip`.
    """
    field.setToolTip(wrong or tip)
    field.setAccessibleDescription(wrong)
    if bool(field.property("wrong")) != bool(wrong):
        field.setProperty("wrong", bool(wrong))
        field.style().unpolish(field)
        field.style().polish(field)


_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
HOW_TO_WRITE = 'Write it as in a plan file: 0.9, 5, true, "a text", [1, 2] or { key = 1 }.'


def read_toml(text: str) -> Any:
    """One value written as TOML. Raises ValueError with what to write."""
    try:
        tables = toml_tables(f"value = {text.strip()}")
    except ValueError:
        raise ValueError(HOW_TO_WRITE) from None
    # A line break in the text could smuggle in a second key.
    if tables.keys() != {"value"}:
        raise ValueError(HOW_TO_WRITE)
    reader = Reader()
    read = reader.value(Options, "", tables)
    if reader.problems:
        raise ValueError(_advice(reader.problems[0].advice))
    return read["value"]


def read_whole(text: str) -> int:
    """A whole number; spaces between its digits, and commas between thousands, do not matter.

    Raises ValueError with what to write.
    """
    bare = re.sub(r"\s", "", text)
    try:
        return int(bare.replace(",", "") if _GROUPED.fullmatch(bare) else bare)
    except ValueError:
        raise ValueError("Give a whole number.") from None


def read_real(text: str) -> float:
    """A finite number, as 0.5, 0,5 or 1e-3. Raises ValueError with what to write."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("Give a number, as 0.001 or 1e-3.")
    return value


def read_wholes(text: str) -> list[int]:
    """Whole numbers with commas between them, in brackets or not.

    Raises ValueError with what to write.
    """
    inner = text.strip().removeprefix("[").removesuffix("]").strip()
    parts = re.split(r"\s*[,;]\s*|\s+", inner.strip(",; ")) if inner else []
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError("Give whole numbers with commas between them, as 256, 128.") from None


def write_wholes(value: Any) -> str:
    """Return `256, 128`; anything but a list of whole numbers in plan file notation."""
    if isinstance(value, list | tuple) and value and all(type(each) is int for each in value):
        return ", ".join(map(str, value))
    return inline(value)


def read_names(text: str) -> list[str]:
    """Names with commas between them; as a list of TOML, names may hold commas themselves.

    Raises ValueError with what to write.
    """
    if not text.strip().startswith("["):
        return [name.strip() for name in text.split(",") if name.strip()]
    found = read_toml(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("Give names with commas between them, as age, income.")
    return found


def write_names(value: Any) -> str:
    """Return `age, income`; what would not be read like that in plan file notation."""
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        text = ", ".join(value)
        return text if read_names(text) == list(value) else inline(value)
    return inline(value)


def write_number(value: Any) -> str:
    """Return a number in its shortest form; anything else in plan file notation."""
    return repr(value) if type(value) in (int, float) else inline(value)


def default_in_words(value: Any) -> str:
    """A default as it stands in a hint: `default 256, 256`."""
    text = (
        value
        if isinstance(value, str)
        else write_wholes(value)
        if isinstance(value, list)
        else shown(value)
    )
    return f"default {text}"


def _advice(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


UNKNOWN: Any = object()


class Typed(QLineEdit):
    """A value as text.

    Text that `read` refuses with a ValueError is marked, with the message in the tooltip, and not
    reported.
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
        """Set the tooltip for when nothing is wrong."""
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
        """Leave no text behind that is not the plan's value.

        A menu or another window takes the focus for a while.
        """
        super().focusOutEvent(event)
        passing = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)
        if self.wrong and self._value is not UNKNOWN and event.reason() not in passing:
            self._put(self._write(self._value))
            self._mark("")

    def _put(self, text: str) -> None:
        # A value from elsewhere, such as undo, must not move the cursor to the end.
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
    """A number above 0, as `0.001` or `1e-3`.

    Anything else is marked, and not reported.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, _positive, write_number, parent)


class Suggested(Typed):
    """A text with suggestions while it is typed; any text is accepted."""

    def __init__(
        self, name: str, suggestions: Sequence[str] = (), parent: QWidget | None = None
    ) -> None:
        super().__init__(name, parent=parent)
        self._suggestions = QStringListModel(list(suggestions), self)
        completer = QCompleter(self._suggestions, self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        # To the plan, a chosen suggestion is the same as typed text.
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
    # In a plan, 1 and true differ, and an empty text is not UNKNOWN.
    return one is other or (type(one) is type(other) and bool(one == other))


_PADDING = 2 * 4
"""What Qt leaves free beside the text of a field, left and right together, and a pixel's grace."""
StepEnabled = QAbstractSpinBox.StepEnabledFlag


class WholeNumber(QAbstractSpinBox):
    """A whole number of any size: Qt's own spin box holds 32 bits, and a seed has more.

    What a person types that is out of the bounds, or no number, is marked and not reported. A value
    out of the bounds from a file, or one that is no number at all, is shown as it is.
    """

    edited = Signal(object)
    merges = True

    def __init__(
        self, name: str, least: int, most: int | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._least, self._most = least, most
        self._value: Any = least
        self._before: Any = least
        self._waiting = ("", "")
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
        """Set the tooltip for when nothing is wrong."""
        self._tip = tip
        self._mark(self.wrong)

    def show_value(self, value: Any) -> None:
        """Show a value without reporting it; the user's grouping of digits stays."""
        self._waiting = ("", "")
        self._fit_words()
        if self._parsed() != value or isinstance(value, bool):
            self._put(write_number(value))
        elif self._value == value and not self.wrong:
            return
        self._value = self._before = value
        self._mark("")

    def show_unknown(self, words: str, shorter: str) -> None:
        """Show these words in the place of a number that is not known yet, or shorter ones."""
        self._waiting = (words, shorter)
        self._fit_words()
        self._put("")
        self._value = None
        self._mark("")

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Remember the number, in case that none comes of what is typed."""
        super().focusInEvent(event)
        self._before = self._value

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Show the words that fit."""
        super().resizeEvent(event)
        self._fit_words()

    def _fit_words(self) -> None:
        line, (words, shorter) = self.lineEdit(), self._waiting
        width = line.width() - line.textMargins().left() - _PADDING
        fits = line.fontMetrics().horizontalAdvance(words) <= width
        line.setPlaceholderText(words if fits else shorter)

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
        up = (
            StepEnabled.StepUpEnabled
            if self._most is None or self._value < self._most
            else StepEnabled.StepNone
        )
        return up | (
            StepEnabled.StepDownEnabled if self._value > self._least else StepEnabled.StepNone
        )

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Change the value only with the focus: scrolling a page must not change a plan."""
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
        """Leave no text behind that is not the plan's value.

        What came of the beginning of such a text, as 1 of `1e3`, was not meant: the number that was
        there before comes back.
        """
        if not self.wrong:
            self._before = self._value
            return
        self._put("" if self._before is None else write_number(self._before))
        self._mark("")
        if self._value != self._before and self._before is not None:
            self._value = self._before
            self.edited.emit(self._value)

    def _put(self, text: str) -> None:
        line = self.lineEdit()
        if line.text() != text:
            place = line.cursorPosition()
            line.setText(text)
            line.setCursorPosition(min(place, len(text)) if self.hasFocus() else len(text))
            self.update()

    def _bounds(self) -> str:
        if self._most is None:
            return f"Give a whole number of {grouped(self._least)} or more."
        return f"Give a whole number from {grouped(self._least)} to {grouped(self._most)}."

    def _mark(self, wrong: str) -> None:
        self.wrong = wrong
        mark(self, wrong, self._tip)


def bounds_of(least: float, most: float) -> tuple[int, int | None]:
    """Bounds of a number for this field: without a least one 0, without a most one none."""
    return (int(least) if least > -float("inf") else 0, None if most == float("inf") else int(most))
