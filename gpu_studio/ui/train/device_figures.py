"""The figures of a run's devices: memory now, all figures at one moment, and lines over time.

The memory stands in bars beside the plots, the figures of a moment in the readout's table, and
the lines, with their names and words, in the plot of the devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from gpu_studio.common import figures
from gpu_studio.hardware.sample_points import HOST, Figure
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.series import MemorySeries, Series
from gpu_studio.runs.results.run_cards import RunCard, card_numbers, run_cards, uses_cards
from gpu_studio.ui.kit import Tokens, device_place, mix
from gpu_studio.ui.kit.plots.backdrop import Limit
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.train.card_record import CardRecord
from gpu_studio.ui.train.readout import NONE_YET, DeviceTable

MEMORY_SOURCES = {
    "allocator": "in use by TensorFlow's allocator",
    "variables": "variables placed on this logical CPU",
    "host": "host arena, all logical CPUs together and data that lie ready",
}


@dataclass(frozen=True, slots=True)
class DeviceMemoryNow:
    """Bytes of one device. `place` is its number among the logical devices, None for the host.

    `used` is the most since the sample before, `least` what stayed between steps, if it is known,
    and `peak` the most of the whole run.
    """

    name: str
    place: int | None
    used: int
    peak: int
    limit: int | None
    source: str
    least: int | None = None

    @property
    def share(self) -> float | None:
        """The share (0 to 1) of its limit that is in use; None without a limit."""
        return min(self.used / self.limit, 1.0) if self.limit else None

    @property
    def least_share(self) -> float | None:
        """The share (0 to 1) of its limit that stays in use between steps; None if not known."""
        return min(self.least / self.limit, 1.0) if self.limit and self.least is not None else None

    @property
    def peak_share(self) -> float | None:
        """The share (0 to 1) of its limit that was in use at the peak; None without a limit."""
        return min(self.peak / self.limit, 1.0) if self.limit else None

    @property
    def amount(self) -> str:
        """The bytes in use, in the unit in which they stand beside the limit."""
        if not self.limit:
            return figures.size(self.used)
        return figures.size(self.used, figures.unit_beside(self.limit))

    @property
    def caption(self) -> str:
        """Its peak and limit, or what was counted if not by the allocator."""
        if self.source == "variables":
            return "variables placed here"
        if self.source == "host":
            return f"peak {figures.size(self.peak)} · all logical CPUs"
        if not self.limit:
            return f"peak {figures.size(self.peak)} · no limit"
        return f"peak {figures.size_of(self.peak, self.limit, 'of')}"

    @property
    def text(self) -> str:
        """All of it in a sentence."""
        limit = f" of {figures.size(self.limit)}" if self.limit else ""
        between = "" if self.least is None else f"{figures.size(self.least)} between steps, "
        counted = MEMORY_SOURCES.get(self.source, self.source)
        return (
            f"{self.name}: {figures.size(self.used)}{limit}, {between}peak "
            f"{figures.size(self.peak)} ({counted})"
        )


def places(history: History, record: CardRecord) -> dict[str, int]:
    """The number of each logical device by its name, from which it has its colour and dash.

    The cards are numbered as they were recorded beside the run, so that one named by its UUID looks
    as it does on the Devices page.
    """
    if history.devices is None:
        return {}
    listed = [card.facts for card in record.picture.cards.values()]
    return device_place.places(
        history.devices.logical, numbers=card_numbers(history.devices, record.known, listed)
    )


def memory_now(history: History, record: CardRecord) -> list[DeviceMemoryNow]:
    """Return every device whose memory was reported.

    They are in the order of the logical devices, with the host last.
    """
    known = places(history, record)
    rows = [_memory_of(series, known.get(name)) for name, series in history.memory.items()]
    order = {name: number for number, name in enumerate(known)}
    return sorted(rows, key=lambda row: order.get(row.name, len(order)))


def _memory_of(series: MemorySeries, place: int | None) -> DeviceMemoryNow:
    latest = series.latest
    return DeviceMemoryNow(
        series.device,
        place,
        used=latest.used if latest else 0,
        peak=max(series.peak, latest.used if latest else 0),
        limit=series.limit,
        source=series.source,
        least=latest.least if latest else None,
    )


TEXTS: dict[Figure, Callable[[float], str]] = {
    "memory": lambda value: figures.size(int(value)),
    "utilisation": figures.percent,
    "power": lambda value: f"{value:.0f} W",
}
_HOST_NAME: Final = "host"
_RECORDED: Final[tuple[Figure, ...]] = ("memory", "utilisation", "power")
_CARD_HEADS: Final[dict[Figure, tuple[str, str]]] = {
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
    rows = list(_device_rows(history, record, time))
    if not rows:
        return None
    used, whole = _unit(rows, 0), _unit(rows, 1)
    heads = [("in use", used), *_card_heads(history, whole)]
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


def _device_rows(history: History, record: CardRecord, time: float | None) -> Iterator[Row]:
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


def _card_heads(history: History, unit: str) -> Iterator[tuple[str, str]]:
    whole = "card" if uses_cards(history.devices) else "whole"
    yield from (
        (whole, unit) if figure == "memory" else _CARD_HEADS[figure] for figure in _RECORDED
    )


def _recorded(record: CardRecord, key: str | None, figure: Figure, when: float) -> float | None:
    return None if key is None else record.figures.value_at(key, figure, when)


def _used(series: MemorySeries | None, time: float | None) -> float | None:
    """Return the most bytes in use up to the sample before a moment, or up to the newest."""
    if series is None or not len(series.times):
        return None
    if time is None:
        return float(series.used[-1])
    known = series.series.nearest(time)
    place = int(np.searchsorted(known.column("time"), time, side="right"))
    return float(known.column("used")[place - 1]) if place else None


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return NONE_YET
    return figures.amount_in(int(value), unit) if unit in figures.UNITS else f"{value:.0f}"


# A card's line has its logical device's colour and dash, is hidden with it, and is behind it.
_FAINT: Final = 0.65
CPU_OF_HOST: Final = "CPU of the host"
_LINE_WORDS: Final[dict[Figure, str]] = {
    "memory": "whole card",
    "utilisation": "utilisation",
    "power": "power",
}


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One curve, of a `series` along times in seconds since 1970.

    It goes when all the names of the legend that it `belongs` to are hidden; its own where there
    are none. `what` it shows stands over its column in a table. With the line named `down_to`, if
    there is one, it encloses a band.
    """

    name: str
    style: Style
    series: Series
    longest_gap: float = math.inf
    belongs: tuple[str, ...] = ()
    what: str = ""
    down_to: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """All of a plot.

    `lines` from the backmost; `caption` in full and in short; `nothing` stands where no line does.

    `cards` is what the lines that can be left out are called, empty if there are none;
    `cards_shown` whether they are among the lines.
    """

    lines: Sequence[CurveLine] = ()
    entries: Sequence[LegendEntry] = ()
    limits: Sequence[Limit] = ()
    caption: tuple[str, str] = ("", "")
    nothing: str = "no figure in view"
    cards: str = ""
    cards_shown: bool = False


@cache
def style_of(place: int | None) -> Style:
    """Return the line style of the logical device with this number, or of the host."""
    if place is None:
        return Style(_host)
    return Style(lambda tokens: tokens.device_colour(place), Tokens.device_dash(place))


@cache
def edge_style_of(place: int | None) -> Style:
    """Return the style of the lower edge of a device's band, at which there is no line."""
    return replace(style_of(place), line=False)


@cache
def faint_style_of(place: int | None) -> Style:
    """Return the same style, fainter: for the whole card, or the whole host."""
    strong = style_of(place)
    return Style(lambda tokens: mix(strong.colour(tokens), tokens.surface, _FAINT), strong.dash)


def card_lines(
    record: CardRecord,
    cards: Sequence[RunCard],
    figure: Figure,
    places: Mapping[str, int],
    *,
    faint: bool = False,
) -> list[CurveLine]:
    """Return the cards' lines, each in the colour and dash of the first device carved from it.

    `places` has the numbers of the devices by their names.
    """
    style = faint_style_of if faint else style_of
    found = []
    for card in cards:
        line = _recorded_line(record, card.key, figure, style(places[card.devices[0]]))
        if line is not None:
            names = card.devices if figure == "memory" else (card.label,)
            found.append(replace(line, belongs=names, what=f"{card.label} {_LINE_WORDS[figure]}"))
    return found


_MOST_NAMED: Final = 4
"""So many cards have a name each in the memory's legend; more share one."""


def card_entries(cards: Sequence[CurveLine], word: str) -> list[LegendEntry]:
    """Return what names the cards' lines, in the colours and dashes that they are drawn in."""
    if len(cards) > _MOST_NAMED:
        return [LegendEntry(f"{word}s", faint_style_of(None), fixed=True)]
    names = [line.what.removesuffix(f" {_LINE_WORDS['memory']}") for line in cards]
    return [
        LegendEntry(word if len(cards) == 1 else f"{word} of {name}", line.style, fixed=True)
        for name, line in zip(names, cards, strict=True)
    ]


def host_lines(record: CardRecord, figure: Figure, *, faint: bool = False) -> list[CurveLine]:
    """Return the host's lines; none if it was not recorded."""
    line = _recorded_line(record, HOST, figure, faint_style_of(None) if faint else style_of(None))
    if line is None:
        return []
    name = "whole host" if figure == "memory" else CPU_OF_HOST
    return [replace(line, belongs=(name,), what=f"host {_LINE_WORDS[figure]}")]


def not_recorded(record: CardRecord, *, begins: bool) -> str:
    """Return why there is no figure of the machine, in words.

    Empty if there is one, or if there may be one in a moment.
    """
    if record.problem or not record.empty:
        return record.problem
    return "" if begins and not record.over else "the machine was not recorded during this run"


def joined(*parts: str) -> str:
    """Join the words that are not empty."""
    return " · ".join(filter(None, parts))


def _recorded_line(record: CardRecord, key: str, figure: Figure, style: Style) -> CurveLine | None:
    series = record.figures.series(key, figure)
    if series is None:
        return None
    gap = record.figures.longest_gap(key, figure)
    return CurveLine(f"{key} {figure}", style, series, gap)


def _host(tokens: Tokens) -> str:
    return tokens.host
