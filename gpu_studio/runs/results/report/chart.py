"""Line charts as SVG, both inline in a page, which styles them, and as a standalone file.

An axis has a round range and labelled values. A chart is made of elements of HTML and SVG, in
which everything that is not already markup is escaped.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpu_studio.common.figures import alike, grouped, size
from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.ticks import (
    binary_step,
    count_ticks,
    digits_of,
    outward,
    round_step,
    time_ticks,
    with_height,
)

WIDE, HALF = 912, 440
HEIGHT: Final = 220
_TOP, _RIGHT, _BOTTOM = 10, 14, 26
CHARACTER: Final = 6.4
COLOURS: Final = (
    "#1f6feb",
    "#c46a00",
    "#138a5b",
    "#b0387f",
    "#6b46d6",
    "#0e7f95",
    "#857300",
    "#c2452d",
)
"""A line's colour by its place, as in the light theme; a page's style replaces them in the dark."""
DASHES: Final = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "12 3 2 3 2 3")
INK: Final = {
    "line": "#dde1e8",
    "muted": "#5a6372",
    "bad": "#c62f27",
    "text": "#1b1f26",
    "warning": "#a86500",
}
FONT: Final = "Inter, system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A curve: `x` and `y` of shape (points,), NaN at gaps. `place` determines colour and dash."""

    name: str
    x: Array
    y: Array
    place: int = 0
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line: a limit."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over two axes. `words` is its text alternative.

    `bands` are shaded (begin, end) along x.
    """

    title: str
    lines: Sequence[ChartLine]
    x: Axis
    y: Axis
    words: str = ""
    levels: Sequence[Level] = ()
    bands: Sequence[tuple[float, float]] = ()
    width: int = WIDE
    height: int = HEIGHT


def draw(chart: Chart) -> Markup:
    """Return the chart as an element `svg`."""
    words = f"{chart.title}. {chart.words}".strip()
    return tag(
        "svg",
        group(chart),
        role="img",
        aria_label=words,
        viewBox=f"0 0 {chart.width} {chart.height}",
    )


def group(chart: Chart, **attributes: str | float) -> Markup:
    """Return what a chart consists of, as one element `g` with these attributes."""
    pen = _Pen(chart)
    reported = (tag("title", chart.title), tag("desc", chart.words) if chart.words else None)
    lines = (pen.line(line) for line in chart.lines)
    drawn = (*pen.bands(), *pen.grid(), *pen.levels(), *lines)
    return tag("g", *reported, *drawn, font_family=FONT, font_size=11.5, **attributes)


def sample(place: int) -> Markup:
    """Return a short piece of a line, for a legend."""
    mark = tag("line", x1=0, y1=5, x2=24, y2=5, **stroke(place, 2.0))
    return tag("svg", mark, viewBox="0 0 24 10", width=24, height=10, aria_hidden="true")


class _Pen:
    """Draws the parts of one chart, in its coordinates: a unit is a pixel at original size."""

    def __init__(self, chart: Chart) -> None:
        longest = max((len(words) for _, words in chart.y.ticks), default=0)
        self.chart = chart
        self.left = 12 + CHARACTER * longest
        self.right, self.bottom = chart.width - _RIGHT, chart.height - _BOTTOM

    def across(self, value: float) -> float:
        """The horizontal position of a value of x."""
        return self.left + self.chart.x.place(value) * (self.right - self.left)

    def down(self, value: float) -> float:
        """The vertical position of a value of y."""
        return self.bottom - self.chart.y.place(value) * (self.bottom - _TOP)

    def grid(self) -> Iterator[Markup]:
        """The labels of both axes, and a line across at each of y."""
        for value, words in self.chart.y.ticks:
            y = _short(self.down(value))
            yield tag(
                "line",
                class_="grid",
                x1=_short(self.left),
                y1=y,
                x2=self.right,
                y2=y,
                stroke=INK["line"],
            )
            yield self._words(words, self.left - 8, self.down(value) + 4, "end")
        for at, words in self._apart(self.chart.x.ticks):
            yield self._words(words, at, self.chart.height - 8, "middle")

    def bands(self) -> Iterator[Markup]:
        """The shaded bands."""
        for begin, end in self.chart.bands:
            x, until = self.across(begin), self.across(end)
            yield tag(
                "rect", class_="band", x=_short(x), y=_TOP, width=_short(max(1.0, until - x)),
                height=self.bottom - _TOP, fill=INK["warning"], fill_opacity=0.12,
            )  # fmt: skip

    def levels(self) -> Iterator[Markup]:
        """The limits, each with its name."""
        for level in self.chart.levels:
            y = self.down(level.value)
            yield tag(
                "line", class_="level", x1=_short(self.left), y1=_short(y), x2=self.right,
                y2=_short(y), stroke=INK["bad"], stroke_width=1.5,
            )  # fmt: skip
            yield self._words(level.name, self.right, y - 4 if y > _TOP + 14 else y + 13, "end")

    def line(self, line: ChartLine) -> Markup:
        """A curve."""
        pen = stroke(line.place, 1.0 if line.faint else 1.75)
        return tag("path", d=self._path(line), fill="none", stroke_linejoin="round", **pen)

    def _path(self, line: ChartLine) -> str:
        with np.errstate(invalid="ignore", divide="ignore"):
            known = (
                np.isfinite(line.x) & np.isfinite(line.y) & ((line.y > 0) | (not self.chart.y.log))
            )
        begun, steps = False, []
        for x, y, there in zip(line.x.tolist(), line.y.tolist(), known.tolist(), strict=True):
            if there:
                steps.append(
                    f"{'L' if begun else 'M'}{_short(self.across(x))} {_short(self.down(y))}"
                )
            begun = there
        return "".join(steps)

    def _apart(self, ticks: Iterable[tuple[float, str]]) -> Iterator[tuple[float, str]]:
        """The positions of labels that do not overlap an earlier one, moved in at the edges."""
        free = 0.0
        for value, words in ticks:
            half = len(words) * CHARACTER / 2
            at = min(self.across(value), self.chart.width - half)
            if at - half >= free:
                free = at + half + 8
                yield at, words

    def _words(self, words: str, x: float, y: float, anchor: str) -> Markup:
        return tag("text", words, x=_short(x), y=_short(y), text_anchor=anchor, fill=INK["muted"])


def stroke(place: int, width: float) -> dict[str, str | float | None]:
    """Return the style of a line with this index."""
    return {
        "class_": f"d{place % len(COLOURS)}",
        "stroke": COLOURS[place % len(COLOURS)],
        "stroke_width": width,
        "stroke_dasharray": DASHES[place % len(DASHES)] or None,
    }


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if math.isfinite(number) else "0"


TICK_COUNT: Final = 5
"""About so many values are written at an axis."""
_MOST_LOG: Final = 9


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, with labels at some values. On a `log` axis all are above 0."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies between the ends: 0 at `low`, 1 at `high`."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return (value - low) / (high - low)


def number_axis(low: float, high: float, unit: str = "") -> Axis:
    """Plain numbers, widened to round ends."""
    low, high = with_height(low, high)
    step = round_step(high - low, TICK_COUNT)
    first, last = outward(low, high, step)
    digits = digits_of(step)
    ticks = (
        (place * step, grouped(place * step, digits) + unit) for place in range(first, last + 1)
    )
    return Axis(first * step, last * step, tuple(ticks))


def log_axis(low: float, high: float) -> Axis:
    """Numbers above 0 by their logarithm; the ends are 1, 2 or 5 times a power of ten."""
    marks = list(_marks(low, high))
    first = max(mark for mark in marks if mark <= low * (1 + 1e-9))
    last = min(mark for mark in marks if mark >= high * (1 - 1e-9))
    inside = [mark for mark in marks if first <= mark <= last]
    if len(inside) > _MOST_LOG:
        inside = [
            mark
            for mark in inside
            if math.isclose(math.log10(mark), round(math.log10(mark)), abs_tol=1e-9)
        ]
    stride = -(-len(inside) // _MOST_LOG) or 1
    return Axis(
        first, last, tuple(zip(inside[::stride], alike(inside[::stride]), strict=True)), log=True
    )


def bytes_axis(high: float) -> Axis:
    """Memory from zero on, in powers of two."""
    step = binary_step(high, TICK_COUNT)
    count = math.ceil(max(high, step) / step)
    return Axis(
        0.0, count * step, tuple((place * step, size(place * step)) for place in range(count + 1))
    )


def seconds_axis(high: float) -> Axis:
    """Time from zero on, ending where the data end."""
    high = high if high > 0 else 1.0
    return Axis(0.0, high, tuple(time_ticks(0.0, high, TICK_COUNT)))


def steps_axis(low: float, high: float) -> Axis:
    """Training steps, ending where training does."""
    high = high if high > low else low + 1
    return Axis(low, high, tuple(count_ticks(low, high, TICK_COUNT)))


def _marks(low: float, high: float) -> Iterator[float]:
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2):
        yield from (factor * 10.0**power for factor in (1.0, 2.0, 5.0))


# Characters forbidden in HTML and XML, such as lone surrogates: file and plan names may have them.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID: Final = frozenset({"meta", "br"})
_CLOSED_AT_ONCE: Final = frozenset({"circle", "line", "path", "rect"})

Child = str | None


class Markup(str):
    """Text that is already markup and is not escaped."""

    __slots__ = ()


def text(words: str) -> Markup:
    """Return `words` escaped."""
    if isinstance(words, Markup):
        return words
    return Markup(html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", words)))


def join(*children: Child) -> Markup:
    """Return the children one after another, without those that are None."""
    return Markup("".join(text(child) for child in children if child is not None))


def tag(element: str, *children: Child, **attributes: str | float | None) -> Markup:
    """Return an element.

    `class_` is the attribute `class`, `stroke_width` is `stroke-width`; None leaves it out.
    """
    given = "".join(
        f' {_name(name)}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if element in _VOID:
        return Markup(f"<{element}{given}>")
    if element in _CLOSED_AT_ONCE and not children:
        return Markup(f"<{element}{given}/>")
    return Markup(f"<{element}{given}>{join(*children)}</{element}>")


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-") if name not in ("viewBox",) else name


def _value(value: str | float) -> Markup:
    return text(value if isinstance(value, str) else f"{value:.10g}")
