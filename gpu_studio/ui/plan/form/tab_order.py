"""Keep the Tab order of a form equal to its reading order when rows come or go.

Qt puts each new widget at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QScrollArea, QWidget


def follow_layout(widget: QWidget) -> None:
    """Order the Tab stops in the scrolled column around `widget`, or in its window, by layout."""
    around = widget
    while (parent := around.parentWidget()) is not None and not isinstance(around, QScrollArea):
        around = parent
    for before, after in pairwise(as_read(around)):
        QWidget.setTabOrder(before, after)


def as_read(widget: QWidget) -> Iterator[QWidget]:
    """Return all widgets that Tab can reach, in the order of their layouts."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        yield widget
    elif isinstance(widget, QScrollArea) and (inside := widget.widget()) is not None:
        yield from as_read(inside)
    elif (layout := widget.layout()) is not None:
        yield from _within(layout)


def _within(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        if item is None:
            continue
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield from as_read(widget)
        elif inner is not None:
            yield from _within(inner)
