"""The figures of every device of a run at one moment, as a table for the readout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from gpu_studio.common import figures
from gpu_studio.hardware.sample_points import HOST, Figure
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.memory import MemorySeries
from gpu_studio.runs.results.run_cards import run_cards, uses_cards
from gpu_studio.ui.train.card_record import CardRecord
from gpu_studio.ui.train.memory_now import memory_now
from gpu_studio.ui.train.readout import NONE_YET, DeviceTable

TEXTS: dict[Figure, Callable[[float], str]] = {
    "memory": lambda value: figures.size(int(value)),
    "utilisation": figures.percent,
    "power": lambda value: f"{value:.0f} W",
}
_HOST_NAME: Final = "host"
_RECORDED: Final[tuple[Figure, ...]] = ("memory", "utilisation", "power")
_HEADS: Final[dict[Figure, tuple[str, str]]] = {
    "memory": ("card", ""),
    "utilisation": ("busy", "%"),
    "power": ("power", "W"),
}
Row = tuple[str, tuple[float | None, ...]]


def device_table(history: History, record: CardRecord, moment: float | None) -> DeviceTable | None:
    """Return TensorFlow's memory on each device at `moment`, or the newest.

    `moment` is in seconds after the run's start. Beside it are all the memory in use on the
    device's card, the card's utilisation, and its power, as far as they were recorded; for the host
    its own. None before anything is known, and for moments before the start.
    """
    if history.started is None or history.devices is None or (moment is not None and moment < 0):
        return None
    time = None if moment is None else history.started.time + moment
    rows = list(_rows(history, record, time))
    if not rows:
        return None
    used, whole = _unit(rows, 0), _unit(rows, 1)
    heads = [("in use", used), *_heads(history, whole)]
    kept = [
        0,
        *(
            place
            for place in range(1, len(heads))
            if any(values[place] is not None for _, values in rows)
        ),
    ]
    cells = tuple(
        (name, *(_text(values[place], heads[place][1]) for place in kept)) for name, values in rows
    )
    return DeviceTable(tuple(heads[place] for place in kept), cells)


def _unit(rows: Sequence[Row], place: int) -> str:
    """Return the unit of a column of memory.

    A card has gigabytes where TensorFlow may use a few megabytes of it.
    """
    return figures.unit_of(max((values[place] or 0.0 for _, values in rows), default=0.0))


def _rows(history: History, record: CardRecord, time: float | None) -> Iterator[Row]:
    """Return TensorFlow's bytes on each device, and the figures recorded of its card."""
    keys = {
        name: card.key for card in run_cards(history.devices, record.known) for name in card.devices
    }
    names = [device.name for device in memory_now(history, record)]
    if not uses_cards(history.devices):
        keys[_HOST_NAME] = HOST
        names += [] if _HOST_NAME in names or record.empty else [_HOST_NAME]
    when = record.figures.last if time is None else time
    for name in names:
        found = (_recorded(record, keys.get(name), figure, when) for figure in _RECORDED)
        yield name, (_used(history.memory.get(name), time), *found)


def _heads(history: History, unit: str) -> Iterator[tuple[str, str]]:
    whole = "card" if uses_cards(history.devices) else "whole"
    yield from ((whole, unit) if figure == "memory" else _HEADS[figure] for figure in _RECORDED)


def _recorded(record: CardRecord, key: str | None, figure: Figure, when: float) -> float | None:
    return None if key is None else record.figures.value_at(key, figure, when)


def _used(series: MemorySeries | None, time: float | None) -> float | None:
    """Return the bytes in use at a moment, or the newest."""
    if series is None or not len(series.times):
        return None
    if time is None:
        return float(series.current[-1])
    known = series.series.nearest(time)
    place = int(np.searchsorted(known.column("time"), time, side="right"))
    return float(known.column("current")[place - 1]) if place else None


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return NONE_YET
    return figures.amount_in(int(value), unit) if unit in figures.UNITS else f"{value:.0f}"
