"""What a benchmark's result comes to, in short: its one figure, what it is of, rows in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from gpu_studio.common.figures import UNKNOWN, grouped, plural, share, size, span
from gpu_studio.common.safe_files import csv_line
from gpu_studio.lab.benchmarks import BenchmarkResult, BenchmarkRow, directions_without_copy

HEADINGS: Final = ("What", "Devices", "Type", "Size", "Reaches", "Each", "±", "Held against")
TRANSFERS: Final = ("copy", "pinned copy", "overlapped copy", "sent")
"""What goes from the first of its devices to the second."""
_MANY: Final = 4
NO_FIGURE: Final = "nothing measured"


@dataclass(frozen=True, slots=True)
class Headline:
    """The one `figure` of a result, and what it is `of`."""

    figure: str
    of: str


def headline(result: BenchmarkResult) -> Headline:
    """The figure that sums a result up; of a kind that is not known here, that of its first row."""
    rows = [row for row in result.rows if row.seconds]
    if not rows and any(row.reported for row in result.rows):
        return Headline("refused", plural(len(result.rows), "operation"))
    if not rows:
        return Headline(NO_FIGURE, devices_in_words(result.rows))
    found = _HEADLINES.get(result.benchmark, _of_any)(rows)
    return found or _of_any(rows)


def devices_in_words(rows: Sequence[BenchmarkRow]) -> str:
    """The devices that rows are of: their names if they are few, else how many."""
    names = list(dict.fromkeys(name for row in rows for name in row.devices if name != "host"))
    return ", ".join(names) if len(names) < 3 else plural(len(names), "device")


def machine_in_words(machine: Mapping[str, str]) -> dict[str, str]:
    """What a result was measured on, with neighbouring cards of one kind in one line.

    Their numbers (UUIDs) are left out: the file has them.
    """
    cards = {key: name.partition(_UUID)[0] for key, name in machine.items() if _CARD.match(key)}
    found: dict[str, str] = {}
    first = last = ""
    for key, name in machine.items():
        if key not in cards:
            found[key] = name
            continue
        if first and cards[first] == cards[key]:
            found.pop(first if last == first else f"{first} to {last[4:]}")
            found[f"{first} to {key[4:]}"] = cards[key]
        else:
            first = key
            found[key] = cards[key]
        last = key
    return found


_CARD: Final = re.compile(r"GPU \d+$", re.ASCII)
_UUID: Final = " (GPU-"
OPERATION_HEADINGS: Final = ("Operation", "Asked for", "Executed on", "Each", "±", "Said of it")


def operation_words(row: BenchmarkRow) -> tuple[str, ...]:
    """The words of a row of what was placed by hand, below OPERATION_HEADINGS."""
    sent = row.what in TRANSFERS
    asked = "" if sent or row.what == "all" else row.asked or "any"
    executed = (" to " if sent else ", ").join(row.devices) or "nothing"
    spread = UNKNOWN if math.isnan(row.spread) else share(row.spread)
    said = row.why_not or row.reported
    what = f"{what_in_words(row)}, {size(row.bytes)}" if sent else what_in_words(row)
    return what, asked, executed, span(row.middle), spread, said


def row_words(row: BenchmarkRow) -> tuple[str, ...]:
    """The words of a row, below HEADINGS."""
    devices = (" to " if row.what in TRANSFERS else ", ").join(row.devices)
    if len(row.devices) > _MANY:
        devices = f"{row.devices[0]} … {row.devices[-1]}"
    about = (what_in_words(row), devices or "nothing", row.dtype, amount_in_words(row))
    against = f"asked for {row.asked or 'any'}" if row.name and row.what not in TRANSFERS else ""
    if not row.seconds:
        return (*about, row.why_not, UNKNOWN, UNKNOWN, against)
    against = against or _held_against(row)
    spread = UNKNOWN if math.isnan(row.spread) else share(row.spread)
    return (*about, row.rate, span(row.middle), spread, against)


def csv_of(result: BenchmarkResult, separator: str = ",") -> str:
    """The rows for a spreadsheet or a program, in base units: s, FLOP/s, bytes/s."""
    lines = [_COLUMNS, *map(_cells, result.rows)]
    return "".join(f"{csv_line(cells, separator)}\n" for cells in lines)


def _cells(row: BenchmarkRow) -> tuple[object, ...]:
    """What the line of a row has in its columns."""
    about = (row.what, " ".join(row.devices), row.dtype, row.size)
    if not row.seconds:
        return (*about, *[""] * (len(_COLUMNS) - len(about) - 1), row.why_not)
    times = (row.middle, min(row.seconds), max(row.seconds), len(row.seconds))
    paces = (row.flops_per_second, row.bytes / row.middle)
    held = (row.reference_name, "" if math.isnan(row.against) else row.against)
    error = "" if row.error is None else row.error
    return (*about, *times, *paces, *held, error, row.why_not)


_COLUMNS: Final = (
    *("what", "devices", "type", "size", "median_seconds", "fastest_seconds", "slowest_seconds"),
    *("repeats", "flops_per_second", "bytes_per_second", "held_against", "times_as_fast"),
    *("relative_error", "why_not"),
)


def _held_against(row: BenchmarkRow) -> str:
    if row.reference:
        return f"{row.against:.2f} × {row.reference_name}"
    return "what auto takes" if row.reference_name == "auto" else row.reference_name


def what_in_words(row: BenchmarkRow) -> str:
    """What was measured; of what was placed by hand also by what name: `total = add(a, b)`."""
    if not row.name:
        return row.what
    if row.what in TRANSFERS:
        return f"{row.name} {row.what}"
    taken = f"({', '.join(row.inputs)})" if row.inputs else ""
    return f"{row.name} = {row.what}{taken}"


def amount_in_words(row: BenchmarkRow) -> str:
    """How much one operation is about: bytes, or a plain number; empty if it is about nothing."""
    return size(row.size) if row.in_bytes else grouped(row.size) if row.size else ""


def _compute(rows: Sequence[BenchmarkRow]) -> Headline | None:
    """The fastest product in float32: the type in which nearly all is trained by default."""
    products = [row for row in rows if row.what == "matmul" and row.dtype == "float32"]
    if not products:
        return None
    best = max(products, key=lambda row: row.flops / row.middle)
    return Headline(best.rate, f"matmul, float32 · {devices_in_words(products)}")


def _launched(rows: Sequence[BenchmarkRow]) -> Headline:
    row = rows[0]
    figure = f"{span(median(row.launched))} / {span(row.middle * row.count)}"
    return Headline(figure, f"{row.count} × {grouped(row.size)}² · {row.devices[0]}")


def _together(rows: Sequence[BenchmarkRow]) -> Headline | None:
    alone = {row.devices[0]: row.middle for row in rows if len(row.devices) == 1}
    for row in rows:
        if len(row.devices) > 1 and all(name in alone for name in row.devices):
            times = len(row.devices) * min(alone[name] for name in row.devices) / row.middle
            ideal = sum(min(alone.values()) / alone[name] for name in row.devices)
            return Headline(f"{times:.2f} × of {ideal:.3g}", devices_in_words(rows))
    return None


def _copies(rows: Sequence[BenchmarkRow]) -> Headline:
    """The fastest direction in which bytes are copied at all, as its largest copy shows."""
    none = directions_without_copy(rows)
    copies = (row for row in rows if row.what == "copy")
    largest = {row.devices: row for row in sorted(copies, key=lambda row: row.size)}
    real = [row for direction, row in largest.items() if direction not in none]
    if not real:
        return Headline("no copy", f"one memory · {devices_in_words(rows)}")
    best = max(real, key=lambda row: row.bytes / row.middle)
    return Headline(best.rate, f"{' to '.join(best.devices)}, {size(best.size)}")


def _all_reduce(rows: Sequence[BenchmarkRow]) -> Headline:
    largest = max(row.size for row in rows)
    best = min((row for row in rows if row.size == largest), key=lambda row: row.middle)
    pace = f"{size(best.bytes / best.middle)}/s"
    return Headline(pace, f"{best.what}, {size(largest)} · {devices_in_words([best])}")


def _place(rows: Sequence[BenchmarkRow]) -> Headline | None:
    whole = [row for row in rows if row.what == "all"]
    return Headline(span(whole[0].middle), devices_in_words(whole)) if whole else None


def _input(rows: Sequence[BenchmarkRow]) -> Headline | None:
    read = [row for row in rows if row.what == "read"]
    return Headline(read[0].rate, f"batches of {grouped(read[0].size)}") if read else None


def _of_any(rows: Sequence[BenchmarkRow]) -> Headline:
    return Headline(rows[0].rate, devices_in_words(rows))


_HEADLINES: Final[Mapping[str, Callable[[Sequence[BenchmarkRow]], Headline | None]]] = {
    "compute": _compute,
    "launched": _launched,
    "together": _together,
    "copies": _copies,
    "all-reduce": _all_reduce,
    "place": _place,
    "input": _input,
}
