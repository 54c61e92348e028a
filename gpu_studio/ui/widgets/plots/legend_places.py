"""Where the entries of a legend stand: in as few words as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QFontMetrics

from gpu_studio.ui.widgets.plots.legend_entry import Entry, Place

# From the roomiest form to the closest: how long the piece of line is, and what is between two entries.
SAMPLES = (22, 22, 16, 11, 8)
GAPS = (6, 6, 5, 4, 3)
BETWEEN = (16, 16, 9, 6, 4)
CLOSEST = len(SAMPLES) - 1


def find_places(entries: Sequence[Entry], metrics: QFontMetrics, width: int, lines: int) -> list[Place]:
    """The places in so many lines of `width` pixels: in the first form in which all entries have room.

    Where there is none, as many as have room in the closest, with room behind them for the number of the others.
    """
    rooms = [width] * lines
    for form in range(len(SAMPLES)):
        found = _placed(entries, form, metrics, rooms)
        if len(found) == len(entries):
            return found
    # The count itself needs most room where it has most to count.
    rooms[-1] -= count_width(len(entries), metrics) + BETWEEN[CLOSEST]
    return _placed(entries, CLOSEST, metrics, rooms)


def laid_out(entries: Sequence[Entry], metrics: QFontMetrics, left: int) -> list[Place]:
    """The places of entries in full, one after the other from `left` on."""
    found = []
    for entry in entries:
        width = SAMPLES[0] + GAPS[0] + metrics.horizontalAdvance(entry.text)
        found.append(Place(entry, entry.text, left, width, SAMPLES[0], GAPS[0]))
        left += width + BETWEEN[0]
    return found


def entry_width(entry: Entry, form: int, metrics: QFontMetrics) -> int:
    """How wide an entry is in a form, in pixels."""
    return SAMPLES[form] + GAPS[form] + metrics.horizontalAdvance(_words(entry, form))


def count_width(count: int, metrics: QFontMetrics) -> int:
    """How wide `+5` is, in pixels."""
    return metrics.horizontalAdvance(f"+{count}")


def _placed(entries: Sequence[Entry], form: int, metrics: QFontMetrics, rooms: Sequence[int]) -> list[Place]:
    """The places in a form, as far as there are lines; `rooms` are the widths of these."""
    found, left, line = [], 0, 0
    for entry in entries:
        width = entry_width(entry, form, metrics)
        if left and left + width > rooms[line] + 1:
            left, line = 0, line + 1
        if line == len(rooms) or left + width > rooms[line] + 1:
            break
        found.append(Place(entry, _words(entry, form), left, width, SAMPLES[form], GAPS[form], line))
        left += width + BETWEEN[form]
    return found


def _words(entry: Entry, form: int) -> str:
    """What is said of an entry in a form: its name with the value, the name, or what is short for it."""
    return (entry.text, entry.name, *[entry.short] * 3)[form]
