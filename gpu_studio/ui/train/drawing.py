"""The contents of a plot of the run's devices: lines, their names, and words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from gpu_studio.hardware.sample_points import HOST, Figure
from gpu_studio.runs.reading.series import Array, Series
from gpu_studio.runs.results.run_cards import RunCard
from gpu_studio.ui.kit.plots.backdrop import Limit
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.kit.theme.palette import mix
from gpu_studio.ui.kit.theme.tokens import Tokens
from gpu_studio.ui.train.card_record import CardRecord

# A card's line has its logical device's colour and dash, is hidden with it, and is behind it.
_FAINT: Final = 0.65
CPU_OF_HOST: Final = "CPU of the host"
_WHAT: Final[dict[Figure, str]] = {
    "memory": "whole card",
    "utilisation": "utilisation",
    "power": "power",
}


@dataclass(frozen=True, slots=True, eq=False)
class CurveLine:
    """One curve: times in seconds since 1970, shape (points,), and as many values.

    It goes when all the names of the legend that it `belongs` to are hidden; its own where there
    are none. `what` it shows stands over its column in a table; `series` is where it comes from.
    """

    name: str
    style: Style
    times: Array
    values: Array
    longest_gap: float = math.inf
    belongs: tuple[str, ...] = ()
    what: str = ""
    series: Series | None = None


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
        line = _recorded(record, card.key, figure, style(places[card.devices[0]]))
        if line is not None:
            names = card.devices if figure == "memory" else (card.label,)
            found.append(replace(line, belongs=names, what=f"{card.label} {_WHAT[figure]}"))
    return found


def host_lines(record: CardRecord, figure: Figure, *, faint: bool = False) -> list[CurveLine]:
    """Return the host's lines; none if it was not recorded."""
    line = _recorded(record, HOST, figure, faint_style_of(None) if faint else style_of(None))
    if line is None:
        return []
    name = "whole host" if figure == "memory" else CPU_OF_HOST
    return [replace(line, belongs=(name,), what=f"host {_WHAT[figure]}")]


def not_recorded(record: CardRecord, *, begins: bool) -> str:
    """Return why there is no figure of the machine, in words.

    Empty if there is one, or if there may be one in a moment.
    """
    if record.problem or not record.empty:
        return record.problem
    return "" if begins and not record.over else "the machine was not recorded during this run"


def simulated(record: CardRecord) -> str:
    """Return what must accompany figures of simulated cards; empty for real ones."""
    return f"simulated: {record.picture.simulated}" if record.picture.simulated else ""


def joined(*parts: str) -> str:
    """Join the words that are not empty."""
    return " · ".join(filter(None, parts))


def _recorded(record: CardRecord, key: str, figure: Figure, style: Style) -> CurveLine | None:
    series = record.figures.series(key, figure)
    if series is None:
        return None
    gap = record.figures.longest_gap(key, figure)
    times, values = series.column("time"), series.column("value")
    return CurveLine(f"{key} {figure}", style, times, values, gap, series=series)


def _host(tokens: Tokens) -> str:
    return tokens.host
