"""What the results of benchmarks say, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from gpu_studio.common.figures import grouped, plural, share, size, small_share, span, throughput
from gpu_studio.lab.benchmark_results import (
    BENCHMARKS,
    OVERLAPPED,
    VERSION,
    WITHIN_NOISE,
    Benchmark,
    BenchmarkError,
    BenchmarkResult,
    BenchmarkRow,
    RowChange,
    TrainingPace,
    changes,
    dumps_result,
    loads_result,
    other_machine,
    row_of,
    with_pace,
)
from gpu_studio.lab.published_peaks import PUBLISHED

__all__ = [
    "BENCHMARKS",
    "NO_COPY",
    "OVERLAPPED",
    "VERSION",
    "Benchmark",
    "BenchmarkError",
    "BenchmarkResult",
    "BenchmarkRow",
    "RowChange",
    "TrainingPace",
    "changes",
    "directions_without_copy",
    "dumps_result",
    "judged",
    "loads_result",
    "other_machine",
    "row_of",
    "tolerance",
    "with_pace",
]

NO_COPY: Final = 4.0
"""So many times as fast as the host's own copy is no copy at all."""
_ASYNCHRONOUS: Final = 0.5
"""The calls have returned in less than this share of the time: the device computes meanwhile."""


def judged(result: BenchmarkResult) -> list[str]:
    """What the result says, in sentences."""
    measured = [row for row in result.rows if row.seconds or row.name or row.what == "read"]
    said = list(_JUDGES[result.benchmark](measured)) if measured else ["Nothing was measured."]
    said += [
        f"WRONG RESULT: {row.what} in {row.dtype} on {', '.join(row.devices)} differs by "
        f"{small_share(row.error)} from the true one."
        for row in measured
        if row.error is not None and row.error > tolerance(row.dtype)
    ]
    if not result.complete:
        said.append(f"It was broken off ({result.why_not_complete}): what was measured is kept.")
    return said


def tolerance(dtype: str) -> float:
    """The relative error that a sum of some thousand products may have in a type.

    By the unit roundoff u of its products and a sum in float32: 2u, and 1e-4 for that sum.
    """
    return {"float32": 1e-4, "tf32": 2e-3, "float16": 5e-3, "bfloat16": 2e-2}.get(dtype, 1e-4)


def _compute(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    for device in _devices(rows):
        mine = [row for row in rows if row.devices == (device,)]
        best: dict[str, BenchmarkRow] = {}
        for row in mine:
            name = f"{row.what} in {row.dtype}"
            if name not in best or _pace(row) > _pace(best[name]):
                best[name] = row
        said = [f"{name} {row.rate}{_of_peak(row)}" for name, row in best.items()]
        yield f"{device} reaches at most: {'; '.join(said)}."
        held = [row for row in mine if row.reference]
        if held:
            largest = max(held, key=lambda row: (row.what == "matmul", row.size))
            yield (
                f"Its {largest.what} of {grouped(largest.size)} in {largest.dtype} is "
                f"{largest.against:.2f} times as fast as {largest.reference_name}."
            )
        elif mine[0].reference_name:
            yield f"It is held against nothing: {mine[0].reference_name}."


def _of_peak(row: BenchmarkRow) -> str:
    if not row.reference_name.startswith(PUBLISHED):
        return ""
    return f" ({share(row.against)} of {PUBLISHED})"


def _pace(row: BenchmarkRow) -> float:
    return (row.flops if row.what != "element-wise" else row.bytes) / row.middle


def _launched(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    for row in rows:
        part = median(row.launched) / (row.middle * row.count)
        device = row.devices[0]
        many = f"{plural(row.count, 'multiplication')} of {grouped(row.size)} × {grouped(row.size)}"
        if part < _ASYNCHRONOUS:
            yield (
                f"{device}: the calls of {many} returned after {span(median(row.launched))}, the "
                f"results were there after {span(row.middle * row.count)}. A timing that does not "
                f"wait for a result measures {share(part)} of the truth."
            )
        else:
            yield (
                f"{device}: {many} were done when the calls returned "
                f"({span(row.middle * row.count)}). TensorFlow computes on the CPU before a call "
                "returns; on a card it would only have been asked to."
            )


def _together(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    alone = {row.devices[0]: row for row in rows if len(row.devices) == 1}
    for row in rows:
        if len(row.devices) < 2 or any(name not in alone for name in row.devices):
            continue
        rate = row.flops_per_second
        one = sum(alone[name].flops_per_second for name in row.devices)
        best = max(alone[name].flops_per_second for name in row.devices)
        ideal = one / best
        yield (
            f"{plural(len(row.devices), 'device')} at once: {rate / best:.2f} times the fastest "
            f"of them alone, where {ideal:.2f} is the ideal ({share(rate / one)} of it)."
        )
        if rate / one < 1 - 2 * WITHIN_NOISE and all(name.startswith("CPU") for name in alone):
            yield "Logical CPUs are one processor: each alone may use all of its cores."


def directions_without_copy(rows: Sequence[BenchmarkRow]) -> set[tuple[str, ...]]:
    """The directions in which no byte moves: host to CPU and back, which read the same memory.

    The largest copy tells: a few bytes take as long as the asking for them. A card is another
    matter: its links may well be many times as fast as the host's own copy.
    """
    copies = (row for row in rows if row.what == "copy")
    largest = {row.devices: row for row in sorted(copies, key=lambda row: row.size)}
    return {
        direction
        for direction, row in largest.items()
        if row.against > NO_COPY and not any(name.startswith("GPU") for name in direction)
    }


def _copies(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    none = directions_without_copy(rows)
    for what, devices in {(row.what, row.devices): row for row in rows}:
        each = (row for row in rows if (row.what, row.devices) == (what, devices))
        largest = max(each, key=lambda row: row.size)
        kind = "" if what == "copy" else f", {what.removesuffix(' copy')}"
        title = " to ".join(devices) + kind
        if what == OVERLAPPED:
            yield (
                f"{title}: a copy of {size(largest.bytes)} and computing take "
                f"{span(largest.middle)} at once, {largest.against:.2f} times as fast as one after "
                "the other; 2 is the ideal."
            )
        elif what == "copy" and devices in none:
            yield (
                f"{title}: no byte is copied, both read the same memory "
                f"({span(largest.middle)} for {size(largest.bytes)})."
            )
        else:
            said = f" ({largest.reported})" if largest.reported else ""
            times = f", {largest.against:.2f} times {largest.reference_name}"
            held = times if largest.reference else ""
            yield f"{title}{said}: {largest.rate} for {size(largest.bytes)}{held}."


def _all_reduce(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    for names in dict.fromkeys(row.devices for row in rows):
        mine = [row for row in rows if row.devices == names]
        among = plural(len(names), "device")
        yield from (f"{among}: {each}" for each in _fastest_by_size(mine))


def _fastest_by_size(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    """Name the fastest method by size; one is named only where it is faster beyond the noise."""
    best: list[tuple[int, str]] = []
    for amount in sorted({row.size for row in rows}):
        of_size = sorted((row for row in rows if row.size == amount), key=lambda row: row.middle)
        what = _fastest(of_size)
        if not best or best[-1][1] != what:
            best.append((amount, what))
    for place, (amount, what) in enumerate(best):
        until = f" and below {size(best[place + 1][0])}" if place + 1 < len(best) else ""
        yield f"from {size(amount)} on{until}, {what}."
    smallest = min(rows, key=lambda row: (row.size, row.middle))
    widest = max(rows, key=lambda row: row.bus_bandwidth)
    yield (
        f"the latency is {span(smallest.middle)} ({smallest.what}, {size(smallest.size)}); the bus "
        f"reaches {size(widest.bus_bandwidth)}/s ({widest.what}, {size(widest.size)})."
    )
    yield from _of_auto(rows)


def _fastest(rows: Sequence[BenchmarkRow]) -> str:
    """Which of these methods, the one of the least time first, is the fastest, as a clause."""
    first, *others = rows
    if not others:
        return f"{first.what} alone was measured"
    alike = not all(map(first.is_faster_than, others))
    return "the methods do not differ beyond the noise" if alike else f"{first.what} is the fastest"


def _of_auto(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    chosen = [
        row
        for row in rows
        if row.reference_name == "auto"
        and any(each.size == row.size and each.what != row.what for each in rows)
    ]
    if not chosen:
        return
    slower = [
        row
        for row in chosen
        if any(each.size == row.size and each.is_faster_than(row) for each in rows)
    ]
    method = chosen[0].what
    if not slower:
        yield f'the plan\'s "auto" takes {method}: the measurement agrees at every size.'
        return
    largest = max(slower, key=lambda row: row.size)
    fastest = min((r for r in rows if r.size == largest.size), key=lambda row: row.middle)
    yield (
        f'the plan\'s "auto" takes {method}, and at {plural(len(slower), "size")} of {len(chosen)} '
        f"another is faster: at {size(largest.size)} {fastest.what}, "
        f"{largest.middle / fastest.middle:.2f} times."
    )


def _place(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    """Hold what was asked against what was executed, and say what became of the rest."""
    operations = [row for row in rows if row.name and row.what != "sent"]
    refused = [row for row in operations if not row.devices]
    if refused:
        yield f"TensorFlow refused: {refused[0].reported}"
        unknown = (row.why_not for row in refused if row.asked and row.asked in row.why_not)
        yield from dict.fromkeys(unknown)
        yield "Nothing was executed."
        return
    moved = [row for row in operations if row.asked and row.devices != (row.asked,)]
    if not moved:
        every = plural(len(operations), "operation")
        yield f"{every}, each executed where it was asked to be."
    for row in moved:
        why = row.why_not or f"TensorFlow has nothing that does a {row.what} there."
        yield f"{row.name} was asked for {row.asked}, and executed on {row.devices[0]}. {why}"
    for row in operations:
        if row.why_not and row not in moved:
            yield f"{row.name}: {row.why_not}."
    yield from _log_of_placements(operations)
    whole = next((row for row in rows if row.what == "all"), None)
    if whole is not None and len(whole.devices) > 1:
        yield (
            f"All together take {span(whole.middle)}, {whole.against:.2f} times as fast as "
            f"{whole.reference_name}."
        )


def _log_of_placements(operations: Sequence[BenchmarkRow]) -> Iterator[str]:
    known = [row for row in operations if row.reported]
    others = [row for row in known if not row.reported.endswith(f"device:{row.devices[0]}")]
    for row in others:
        yield f"TensorFlow's log of placements says otherwise of {row.name}: {row.reported}."
    if known and not others:
        yield "TensorFlow's own log of placements says the same."


def _input(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    for row in rows:
        if row.what == "load" and row.samples:
            yield f"Loading {grouped(round(row.samples))} samples takes {span(row.middle)}: once."
        elif row.what == "load":
            yield f"Opening the data takes {span(row.middle)}; they are read batch by batch."
        elif row.why_not:
            yield row.why_not
        else:
            yield f"The data can be read at {row.rate}, in batches of {grouped(row.size)}."
            yield from _pace_of_training(row)


def _pace_of_training(row: BenchmarkRow) -> Iterator[str]:
    if not row.reference:
        yield "Nothing is known of how fast the plan trains: train it, and measure again."
        return
    yield (
        f"That is {row.against:.1f} times the pace at which it trains ({row.reference_name}, "
        f"{throughput(row.samples / median(row.reference))})."
    )
    if row.against < 1 + 2 * WITHIN_NOISE:
        yield "Training waits for its data: a faster device would not train faster."


_JUDGES: Final = {
    "compute": _compute,
    "launched": _launched,
    "together": _together,
    "copies": _copies,
    "all-reduce": _all_reduce,
    "place": _place,
    "input": _input,
}


def _devices(rows: Iterable[BenchmarkRow]) -> list[str]:
    return list(dict.fromkeys(row.devices[0] for row in rows))
