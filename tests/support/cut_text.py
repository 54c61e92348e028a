"""Find text on the screen that is cut off."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QStyle,
    QStyleOptionComboBox,
    QWidget,
)

from gpu_studio.ui.kit.basic_widgets import Elided
from gpu_studio.ui.kit.choosable import ChoiceRow, Tile

SLACK = 1
"""Pixels that rounding may take at a broken scale."""
ROOM_OF_A_MARK = 40
GIVES_WAY = {"caption", "muted", "strong"}
"""The roles of lines that hold a path, a name of any length, or what is said in full elsewhere."""


def cut_text(window: QWidget) -> list[str]:
    """Every visible label, button and field whose text is cut, in words.

    A line that gives way to an ellipsis on purpose is none, if it is a caption or detail and its
    tooltip holds it all."""
    return [
        f"{type(widget).__name__} {text!r}: {why}"
        for widget in window.findChildren(QWidget)
        if widget.isVisible()
        for text, why in _cut(widget)
    ]


def _cut(widget: QWidget) -> Iterator[tuple[str, str]]:
    if isinstance(widget, Elided):
        yield from _elided(widget)
    elif isinstance(widget, QLabel):
        yield from _label(widget)
    elif isinstance(widget, QComboBox):
        yield from _wider(widget, widget.currentText(), _room_in(widget))
    elif isinstance(widget, QAbstractSpinBox):
        yield from _wider(widget, widget.text(), widget.lineEdit().width())
    elif isinstance(widget, Tile):
        yield from _tile(widget)
    elif isinstance(widget, ChoiceRow):
        yield from _choice(widget)
    elif isinstance(widget, QAbstractButton):
        yield from _button(widget)


def _elided(label: Elided) -> Iterator[tuple[str, str]]:
    if label.property("role") not in GIVES_WAY:
        yield from _wider(label, label.text(), label.width())
    elif label.fontMetrics().horizontalAdvance(label.text()) > label.width() + SLACK:
        label.repaint()
        if label.toolTip() != label.text():
            yield label.text(), "it is cut, and its tooltip does not hold it"


def _label(label: QLabel) -> Iterator[tuple[str, str]]:
    if not label.wordWrap():
        yield from _wider(label, label.text(), label.contentsRect().width())
    elif label.text() and (needed := label.heightForWidth(label.width())) > label.height() + SLACK:
        yield label.text(), f"its lines need {needed} pixels and have {label.height()}"


def _button(button: QAbstractButton) -> Iterator[tuple[str, str]]:
    needed, room = button.sizeHint(), button.size()
    if button.text() and (
        needed.width() > room.width() + SLACK or needed.height() > room.height() + SLACK
    ):
        yield button.text(), f"it needs {needed.toTuple()} pixels and has {room.toTuple()}"


def _tile(tile: Tile) -> Iterator[tuple[str, str]]:
    lines = tile.fontMetrics().boundingRect(tile.rect(), int(Qt.TextFlag.TextWordWrap), tile.text())
    if lines.width() > tile.width() + SLACK or lines.height() > tile.height() + SLACK:
        yield (
            tile.text(),
            f"its lines need {lines.size().toTuple()} pixels and have {tile.size().toTuple()}",
        )


def _choice(row: ChoiceRow) -> Iterator[tuple[str, str]]:
    """Its note gives way in one line, where the tooltip holds it, or else wraps."""
    yield from _wider(row, row.text(), row.width() - ROOM_OF_A_MARK)
    if row.toolTip() != row.note and row.heightForWidth(row.width()) > row.height() + SLACK:
        yield (
            row.note,
            f"it needs {row.heightForWidth(row.width())} pixels of height and has {row.height()}",
        )


def _wider(widget: QWidget, text: str, room: int) -> Iterator[tuple[str, str]]:
    needed = max(
        (widget.fontMetrics().horizontalAdvance(line) for line in text.splitlines()), default=0
    )
    if needed > room + SLACK:
        yield text, f"it needs {needed} pixels and has {room}"


def _room_in(field: QComboBox) -> int:
    option = QStyleOptionComboBox()
    field.initStyleOption(option)
    part = QStyle.SubControl.SC_ComboBoxEditField
    return int(
        field.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, field).width()
    )
