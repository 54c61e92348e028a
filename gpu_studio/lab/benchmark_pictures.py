"""The pictures that show why a benchmark's result says what it says, as plain values.

A result has one or several, of which one is looked at; a kind that is not known here has none, and
its rows are the picture. Whoever draws them needs to know nothing of benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final, Literal

from gpu_studio.common.figures import (
    amount_in,
    flops,
    grouped,
    plural,
    size,
    span,
    throughput,
    unit_of,
)
from gpu_studio.lab.benchmark_figures import amount_in_words
from gpu_studio.lab.benchmarks import (
    OVERLAPPED,
    BenchmarkResult,
    BenchmarkRow,
    directions_without_copy,
)
from gpu_studio.lab.published_peaks import PUBLISHED

Unit = Literal["seconds", "flops a second", "bytes a second", "bytes", "flops a byte"]
Line = tuple[tuple[float, float], ...]
HOST: Final = "host"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from 0 to `value`, with its figure as `text`.

    Of a `device` it has the colour. `part` says that it is only a part of the bar after it.
    """

    label: str
    value: float
    text: str
    device: str = ""
    part: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars on one scale; `ideal` is a value to hold them against, named by `ideal_name`."""

    title: str
    bars: tuple[Bar, ...]
    ideal: float | None = None
    ideal_name: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a matrix: what is written there, and said of it; a `value` gives its colour.

    `link` is what joins the two, as the machine's topology has it: `NV18`, `PIX`.
    """

    text: str
    said: str
    value: float | None = None
    link: str = ""


@dataclass(frozen=True, slots=True)
class Heat:
    """A matrix from each of `names` (a row) to each (a column). `unit` is that of the cells."""

    title: str
    names: tuple[str, ...]
    unit: str
    cells: Mapping[tuple[str, str], Cell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PictureMark:
    """A measured point, from the fastest to the slowest repeat; `said` names it in words."""

    x: float
    y: float
    low: float
    high: float
    said: str


@dataclass(frozen=True, slots=True)
class MarkedCurve:
    """Points of one kind, joined or not, and the line that they cannot cross, if there is one.

    `published` is the line that they should come near to.
    """

    name: str
    marks: tuple[PictureMark, ...]
    joined: bool = True
    ceiling: Line = ()
    published: Line = ()


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves over two logarithmic axes, each with a unit and a name."""

    title: str
    x_name: str
    x_unit: Unit
    y_name: str
    y_unit: Unit
    curves: tuple[MarkedCurve, ...]


Picture = Bars | Heat | Curves


def pictures(result: BenchmarkResult) -> tuple[Picture, ...]:
    """The pictures of a result, the one that says most first."""
    rows = [row for row in result.rows if row.seconds]
    made = _PICTURES.get(result.benchmark)
    return tuple(made(rows)) if made is not None and rows else ()


def with_links(picture: Picture, links: Mapping[tuple[str, str], str]) -> Picture:
    """The picture with what joins each pair of a matrix, as far as `links` know."""
    if not isinstance(picture, Heat):
        return picture
    cells = {
        pair: replace(cell, said=f"{cell.said}, over {links[pair]}", link=links[pair])
        if pair in links
        else cell
        for pair, cell in picture.cells.items()
    }
    return replace(picture, cells=cells)


def described(picture: Picture) -> str:
    """What is drawn, in words, for those who do not see it."""
    if isinstance(picture, Bars):
        said = [f"{bar.label} {bar.text}" for bar in picture.bars]
        if picture.ideal is not None:
            said.append(picture.ideal_name)
    elif isinstance(picture, Heat):
        said = [cell.said for cell in picture.cells.values()]
    else:
        said = [mark.said for curve in picture.curves for mark in curve.marks]
    return f"{picture.title}: {'; '.join(said)}."


def in_unit(value: float, unit: Unit) -> str:
    """A value on an axis, with its unit."""
    if unit == "seconds":
        return span(value)
    if unit == "flops a byte":
        return grouped(round(value)) if value >= 1 else f"{value:.3g}"
    if unit == "flops a second":
        return f"{flops(value)}/s"
    return size(value) if unit == "bytes" else f"{size(value)}/s"


def _devices(rows: Iterable[BenchmarkRow]) -> list[str]:
    return list(dict.fromkeys(row.devices[0] for row in rows))


# Compute


def _compute(rows: Sequence[BenchmarkRow]) -> Iterator[Picture]:
    """Rooflines, then the best of each kind."""
    devices = _devices(rows)
    for device in devices:
        of = f" of {device}" if len(devices) > 1 else ""
        mine = [row for row in rows if row.devices == (device,) and row.flops and row.bytes]
        if mine:
            yield _roofline(f"Roofline{of}", mine)
    for device in devices:
        of = f" of {device}" if len(devices) > 1 else ""
        products = [r for r in rows if r.devices == (device,) and r.what != "element-wise"]
        if products:
            yield _best(f"Best by type{of}", device, products)


def _roofline(title: str, rows: Sequence[BenchmarkRow]) -> Curves:
    """Achieved FLOP/s over FLOP a byte, below what was the most of each.

    After Williams, Waterman and Patterson, Roofline, Communications of the ACM 52 (4), 2009.
    """
    types = dict.fromkeys(row.dtype for row in rows)
    left = min(row.flops / row.bytes for row in rows) / 2
    right = max(row.flops / row.bytes for row in rows) * 2
    curves = []
    for dtype in types:
        mine = [row for row in rows if row.dtype == dtype]
        marks = tuple(_on_roofline(row) for row in mine)
        ceiling = _roof(*_reached(mine), left, right)
        published = _roof(*_published(mine), left, right)
        curves.append(MarkedCurve(dtype, marks, joined=False, ceiling=ceiling, published=published))
    return Curves(
        title,
        "FLOP a byte",
        "flops a byte",
        "FLOP/s",
        "flops a second",
        tuple(curves),
    )


def _on_roofline(row: BenchmarkRow) -> PictureMark:
    pace = [row.flops / each for each in row.seconds]
    said = f"{row.what} {amount_in_words(row)}, {row.dtype}: {row.rate}"
    return PictureMark(row.flops / row.bytes, row.flops / row.middle, min(pace), max(pace), said)


def _reached(rows: Sequence[BenchmarkRow]) -> tuple[float, float]:
    """The most FLOP/s and bytes/s that were measured."""
    pace = (row.bytes / row.middle for row in rows if row.what == "element-wise")
    return max(row.flops / row.middle for row in rows), max(pace, default=0.0)


def _published(rows: Sequence[BenchmarkRow]) -> tuple[float, float]:
    """The FLOP/s and bytes/s that the card's maker publishes; 0 where nothing is known."""
    held = [row for row in rows if row.reference and row.reference_name.startswith(PUBLISHED)]
    top = (row.flops / median(row.reference) for row in held if row.what != "element-wise")
    pace = (row.bytes / median(row.reference) for row in held if row.what == "element-wise")
    return max(top, default=0.0), max(pace, default=0.0)


def _roof(top: float, pace: float, left: float, right: float) -> Line:
    """What so many bytes a second allow, up to so many FLOP/s; nothing if one is not known."""
    if not top or not pace:
        return ()
    knee = min(max(top / pace, left), right)
    return tuple((x, min(top, pace * x)) for x in sorted({left, knee, right}))


def _best(title: str, device: str, rows: Sequence[BenchmarkRow]) -> Bars:
    best: dict[str, BenchmarkRow] = {}
    for row in rows:
        name = f"{row.what}, {row.dtype}"
        if name not in best or row.flops / row.middle > best[name].flops / best[name].middle:
            best[name] = row
    bars = (Bar(name, row.flops / row.middle, row.rate, device) for name, row in best.items())
    return Bars(title, tuple(bars))


# The others


def _launched(rows: Sequence[BenchmarkRow]) -> Iterator[Picture]:
    bars = []
    for row in rows:
        device, done = row.devices[0], row.middle * row.count
        returned = median(row.launched)
        bars.append(Bar(f"{device}, calls returned", returned, span(returned), device, part=True))
        bars.append(Bar(f"{device}, results there", done, span(done), device))
    yield Bars("Returned, and done", tuple(bars))


def _together(rows: Sequence[BenchmarkRow]) -> Iterator[Picture]:
    alone = {row.devices[0]: row for row in rows if len(row.devices) == 1}
    for row in rows:
        if len(row.devices) < 2 or any(name not in alone for name in row.devices):
            continue
        paces = {name: alone[name].flops_per_second for name in row.devices}
        bars = [
            Bar(f"{name} alone", pace, f"{flops(pace)}/s", name) for name, pace in paces.items()
        ]
        bars.append(Bar("all at once", row.flops_per_second, row.rate))
        ideal = sum(paces.values())
        yield Bars("Alone, and all at once", tuple(bars), ideal, f"the sum: {flops(ideal)}/s")


def _copies(rows: Sequence[BenchmarkRow]) -> Iterator[Picture]:
    """A matrix for each number of bytes, the largest first."""
    none = directions_without_copy(rows)
    for what in dict.fromkeys(row.what for row in rows):
        of_kind = [row for row in rows if row.what == what]
        for amount in sorted({row.size for row in of_kind}, reverse=True):
            kind = "" if what == "copy" else f"{what}, "
            yield _matrix(f"{kind}{size(amount)}", [r for r in of_kind if r.size == amount], none)


def _matrix(title: str, rows: Sequence[BenchmarkRow], none: set[tuple[str, ...]]) -> Heat:
    names = dict.fromkeys(name for row in rows for name in row.devices if name != HOST)
    there = [name for name in (HOST, *names) if any(name in row.devices for row in rows)]
    real = [row.bytes / row.middle for row in rows if row.devices not in none]
    unit = unit_of(max(real, default=1.0))
    cells = {}
    for row in rows:
        pace, pair = row.bytes / row.middle, " to ".join(row.devices)
        if row.what == OVERLAPPED:
            times = f"{row.against:.2f} times as fast as {row.reference_name}"
            said = f"{pair}: {times}, 2 is the ideal"
            cell = Cell(f"{row.against:.2f} ×", said, row.against)
        elif row.devices in none:
            cell = Cell("no copy", f"{pair}: no byte is copied, both read the same memory")
        else:
            cell = Cell(amount_in(pace, unit), f"{pair}: {size(pace)}/s", pace)
        cells[row.devices[0], row.devices[1]] = cell
    overlapped = any(row.what == OVERLAPPED for row in rows)
    return Heat(title, tuple(there), "times as fast" if overlapped else f"{unit}/s", cells)


def _all_reduce(rows: Sequence[BenchmarkRow]) -> Iterator[Picture]:
    """Of each number of devices, the most first: what the link carries, and how long it takes."""
    by_devices: dict[tuple[str, ...], list[BenchmarkRow]] = {}
    for row in rows:
        by_devices.setdefault(row.devices, []).append(row)

    def time(_row: BenchmarkRow, seconds: float) -> float:
        return seconds

    def bus(row: BenchmarkRow, seconds: float) -> float:
        return row.bus_bandwidth * row.middle / seconds

    for devices in sorted(by_devices, key=len, reverse=True):
        among, mine = plural(len(devices), "device"), by_devices[devices]
        yield _by_size(f"Bus bandwidth, {among}", mine, "bus bandwidth", "bytes a second", bus)
        yield _by_size(f"Time, {among}", mine, "time", "seconds", time)


def _by_size(
    title: str,
    rows: Sequence[BenchmarkRow],
    y_name: str,
    unit: Unit,
    value: Callable[[BenchmarkRow, float], float],
) -> Curves:
    curves = []
    for what in dict.fromkeys(row.what for row in rows):
        marks = []
        for row in sorted((row for row in rows if row.what == what), key=lambda row: row.size):
            y = value(row, row.middle)
            ends = sorted((value(row, min(row.seconds)), value(row, max(row.seconds))))
            said = f"{what}, {size(row.size)}: {in_unit(y, unit)}"
            marks.append(PictureMark(float(row.size), y, ends[0], ends[1], said))
        curves.append(MarkedCurve(what, tuple(marks)))
    return Curves(title, "size", "bytes", y_name, unit, tuple(curves))


def _input(rows: Sequence[BenchmarkRow]) -> Iterator[Picture]:
    for row in rows:
        if row.what != "read" or not row.samples:
            continue
        alone = row.samples / row.middle
        bars = [Bar("data alone", alone, throughput(alone))]
        if row.reference:
            pace = row.samples / median(row.reference)
            bars.append(Bar(f"training, {row.reference_name}", pace, throughput(pace)))
        yield Bars("Samples a second", tuple(bars))


_PICTURES: Final[Mapping[str, Callable[[Sequence[BenchmarkRow]], Iterator[Picture]]]] = {
    "compute": _compute,
    "launched": _launched,
    "together": _together,
    "copies": _copies,
    "all-reduce": _all_reduce,
    "input": _input,
}
