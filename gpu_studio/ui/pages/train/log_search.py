"""Where words stand in a log, and the way from one place to the next."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

_PARAGRAPH = "\u2029"
_UNIT = 2
"""Qt counts the units of UTF-16, of two bytes each, where Python counts characters."""


def places(text: str, words: str) -> Iterator[int]:
    """The positions of `words` in `text`, in any case; those that overlap count once."""
    text, words = _small(text), _small(words)
    place = text.find(words) if words else -1
    while place >= 0:
        yield place
        place = text.find(words, place + len(words))


def step(view: QPlainTextEdit, words: str, *, back: bool) -> tuple[int, int]:
    """Select the next place of `words`, or the one before, going round at the end; which it is, of how many.

    While a word is typed, the place that has what was typed so far is kept if it has the rest. (0, 0) if there is none.
    """
    text, cursor = view.toPlainText(), view.textCursor()
    found = list(places(text, words))
    start, end = _characters(text, cursor.selectionStart()), _characters(text, cursor.selectionEnd())
    if not found:
        cursor.setPosition(cursor.selectionStart())
        view.setTextCursor(cursor)
        return 0, 0
    grown = end > start and end - start != len(words)
    chosen = _before(found, start) if back else _after(found, start if grown else start + 1, fresh=end == start)
    cursor.setPosition(_units(text, found[chosen]))
    cursor.setPosition(_units(text, found[chosen] + len(words)), QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)
    return chosen + 1, len(found)


def selected_words(view: QPlainTextEdit) -> str:
    """What is selected, if it is within a line."""
    text = view.textCursor().selectedText()
    return "" if _PARAGRAPH in text else text


def _after(found: list[int], least: int, *, fresh: bool) -> int:
    if fresh:
        least -= 1
    return next((number for number, place in enumerate(found) if place >= least), 0)


def _before(found: list[int], start: int) -> int:
    return next((number for number in reversed(range(len(found))) if found[number] < start), len(found) - 1)


def _small(text: str) -> str:
    """`text` in small letters, of the same length: a few letters become two."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(each.lower()[:1] for each in text)


def _units(text: str, place: int) -> int:
    return place if text.isascii() else len(text[:place].encode("utf-16-le", "surrogatepass")) // _UNIT


def _characters(text: str, units: int) -> int:
    if text.isascii():
        return units
    return len(text.encode("utf-16-le", "surrogatepass")[: units * _UNIT].decode("utf-16-le", "replace"))
