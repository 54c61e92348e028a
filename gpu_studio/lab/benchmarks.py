"""Benchmarks of a machine: what can be measured, the results as files, and what they say.

Pure values and rules: who measures and who keeps the files is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import msgspec

from gpu_studio.common.figures import flops, grouped, plural, share, size, span

VERSION: Final = 1
WITHIN_NOISE: Final = 0.05
"""Two medians that differ by less are not told apart."""
_OF_MEDIAN: Final = 1.2533 * 1.4826
NO_COPY: Final = 4.0
"""So many times as fast as the host's own copy is no copy at all."""
_ASYNCHRONOUS: Final = 0.5
"""The calls have returned in less than this share of the time: the device computes meanwhile."""


class BenchmarkError(Exception):
    """A result that cannot be read or measured: what, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Something that can be measured: its name, a title, and the question that it answers.

    `several` says that it needs two devices or more.
    """

    name: str
    title: str
    question: str
    several: bool = False


BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    each.name: each
    for each in (
        Benchmark(
            "compute",
            "Compute",
            "How fast does each device multiply, convolve and go through memory?",
        ),
        Benchmark(
            "launched",
            "Launched against done",
            "Have the results come when the calls return, or does a naive timing lie?",
        ),
        Benchmark(
            "together",
            "One after another, and all at once",
            "Do the devices compute side by side, or do they share what they compute with?",
            several=True,
        ),
        Benchmark(
            "copies",
            "Copies",
            "How fast are bytes copied between the host and each device, and between devices?",
        ),
        Benchmark(
            "all-reduce",
            "All-reduce",
            "Which way to add up gradients is the fastest, and from which size on?",
            several=True,
        ),
    )
}


class BenchmarkRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing measured: `seconds` has the time of one operation, once for each repeat.

    `size` is the length of a side (matmul), channels (convolution), elements, or bytes moved.
    `flops` and `bytes` are those of one operation; `reference` has the seconds of the same by what
    it is held against, which `reference_name` names. `launched` is the time until all of `count`
    calls had returned, `error` the largest difference from the true result, relative to its
    largest value; `why_not` says why there is no figure.
    """

    what: str
    devices: tuple[str, ...]
    size: int
    dtype: str = "float32"
    seconds: tuple[float, ...] = ()
    flops: float = 0.0
    bytes: float = 0.0
    count: int = 1
    launched: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    reference_name: str = ""
    error: float | None = None
    why_not: str = ""

    @property
    def middle(self) -> float:
        """The median of the repeats, in s; not a number where nothing was measured."""
        return median(self.seconds) if self.seconds else math.nan

    @property
    def spread(self) -> float:
        """Half of the way from the fastest to the slowest repeat, as a share of the median."""
        if len(self.seconds) < 2:
            return math.nan
        return (max(self.seconds) - min(self.seconds)) / 2 / self.middle

    @property
    def uncertainty(self) -> float:
        """The standard error of the median, as a share of it: 1.2533 σ / √n.

        That is its limit for many repeats of normal noise (Kendall and Stuart, The Advanced Theory
        of Statistics, volume 1, 14.12); σ is 1.4826 times the median distance from the median.
        """
        apart = median(abs(each - self.middle) for each in self.seconds)
        return _OF_MEDIAN * apart / math.sqrt(len(self.seconds)) / self.middle

    def is_faster_than(self, other: BenchmarkRow) -> bool:
        """Whether it is faster beyond the noise: by 5 %, and by twice the error of the ratio."""
        doubt = 2 * math.hypot(self.uncertainty, other.uncertainty)
        return other.middle / self.middle > 1 + max(WITHIN_NOISE, doubt)

    @property
    def against(self) -> float:
        """How many times as fast as the reference it is; not a number without one."""
        return median(self.reference) / self.middle if self.reference and self.seconds else math.nan

    @property
    def key(self) -> tuple[str, str, int, tuple[str, ...]]:
        """What the same measurement has in another result."""
        return self.what, self.dtype, self.size, self.devices

    @property
    def rate(self) -> str:
        """What it reaches, in words: `95.2 GFLOP/s`, `8.31 GiB/s`."""
        if not self.seconds:
            return self.why_not
        if self.flops and self.what != "element-wise":
            return f"{flops(self.flops / self.middle)}/s"
        return f"{size(self.bytes / self.middle)}/s"


class BenchmarkResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a benchmark has measured, and on what.

    `begun` is in s since 1970. `machine` has names and versions by what they are of. A result that
    is not `complete` was broken off; `why_not_complete` says by what.
    """

    benchmark: str
    begun: float
    machine: dict[str, str]
    rows: tuple[BenchmarkRow, ...]
    complete: bool = True
    why_not_complete: str = ""
    version: int = VERSION


def dumps_result(result: BenchmarkResult) -> bytes:
    """The result as the text of its file, in JSON."""
    return msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n"


def loads_result(data: bytes, name: str) -> BenchmarkResult:
    """Read a result from its file's text. Raises BenchmarkError naming the file."""
    try:
        version = msgspec.json.decode(data, type=_Versioned).version
        if version > VERSION:
            raise BenchmarkError(
                f"{name} is of version {version}, and this GPU Studio reads up to {VERSION}: open "
                "it with the version that wrote it, or a later one."
            )
        result = msgspec.json.decode(data, type=BenchmarkResult)
    except msgspec.MsgspecError as error:
        raise BenchmarkError(
            f"{name} is no whole result of a benchmark ({error}): measure again, and remove it."
        ) from error
    if result.benchmark not in BENCHMARKS or not math.isfinite(result.begun):
        raise BenchmarkError(f"{name} is of a benchmark that is not known here: remove it.")
    return result


class _Versioned(msgspec.Struct):
    version: int = 0


def judged(result: BenchmarkResult) -> list[str]:
    """What the result says, in sentences."""
    measured = [row for row in result.rows if row.seconds]
    said = list(_JUDGES[result.benchmark](measured)) if measured else ["Nothing was measured."]
    wrong = [row for row in measured if row.error is not None and row.error > tolerance(row.dtype)]
    for row in wrong:
        said.append(
            f"WRONG RESULT: {row.what} in {row.dtype} on {', '.join(row.devices)} differs by "
            f"{share(row.error)} from the true one."
        )
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
        said = [f"{name} {row.rate}" for name, row in best.items()]
        yield f"{device} reaches at most: {'; '.join(said)}."
        held = [row for row in mine if row.reference]
        if held:
            largest = max(held, key=lambda row: (row.what == "matmul", row.size))
            yield (
                f"Its {largest.what} of {grouped(largest.size)} is {largest.against:.2f} times as "
                f"fast as {largest.reference_name}."
            )


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
        rate = len(row.devices) * row.flops / row.middle
        one = sum(alone[name].flops / alone[name].middle for name in row.devices)
        best = max(alone[name].flops / alone[name].middle for name in row.devices)
        ideal = one / best
        yield (
            f"{plural(len(row.devices), 'device')} at once: {rate / best:.2f} times the fastest "
            f"of them alone, where {ideal:.2f} is the ideal ({share(rate / one)} of it)."
        )
        if rate / one < 1 - 2 * WITHIN_NOISE and all(name.startswith("CPU") for name in alone):
            yield "Logical CPUs are one processor: each alone may use all of its cores."


def _copies(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    for ways in {row.devices: row for row in rows}:
        largest = max((row for row in rows if row.devices == ways), key=lambda row: row.size)
        source, target = ways
        if largest.against > NO_COPY:
            yield (
                f"{source} to {target}: no byte is copied, both read the same memory "
                f"({span(largest.middle)} for {size(largest.bytes)})."
            )
            continue
        held = (
            f", {largest.against:.2f} times {largest.reference_name}" if largest.reference else ""
        )
        yield f"{source} to {target}: {largest.rate} for {size(largest.bytes)}{held}."


def _all_reduce(rows: Sequence[BenchmarkRow]) -> Iterator[str]:
    """Name the fastest way by size; one is named only where it is faster beyond the noise."""
    best: list[tuple[int, str]] = []
    for amount in sorted({row.size for row in rows}):
        of_size = sorted((row for row in rows if row.size == amount), key=lambda row: row.middle)
        first = of_size[0]
        name = first.what if all(map(first.is_faster_than, of_size[1:])) else ""
        if not best or best[-1][1] != name:
            best.append((amount, name))
    for place, (amount, name) in enumerate(best):
        until = f" and below {size(best[place + 1][0])}" if place + 1 < len(best) else ""
        what = f"{name} is the fastest" if name else "the ways do not differ beyond the noise"
        yield f"From {size(amount)} on{until}, {what}."
    chosen = [row for row in rows if row.reference_name == "auto"]
    if chosen:
        largest = max(chosen, key=lambda row: row.size)
        fastest = min((r for r in rows if r.size == largest.size), key=lambda row: row.middle)
        agrees = not fastest.is_faster_than(largest)
        yield (
            f'The plan\'s "auto" takes {largest.what} for these devices: '
            f"{'the measurement agrees' if agrees else f'{fastest.what} is faster here'} at "
            f"{size(largest.size)}."
        )


_JUDGES: Final = {
    "compute": _compute,
    "launched": _launched,
    "together": _together,
    "copies": _copies,
    "all-reduce": _all_reduce,
}


def _devices(rows: Iterable[BenchmarkRow]) -> list[str]:
    return list(dict.fromkeys(row.devices[0] for row in rows))


@dataclass(frozen=True, slots=True)
class RowChange:
    """The same thing in two results. `ratio` is how many times as fast the second one is."""

    before: BenchmarkRow
    after: BenchmarkRow

    @property
    def ratio(self) -> float:
        """The first median over the second."""
        return self.before.middle / self.after.middle

    @property
    def told_apart(self) -> bool:
        """Whether the difference is more than noise."""
        one, other = self.before, self.after
        return one.is_faster_than(other) or other.is_faster_than(one)


def changes(before: BenchmarkResult, after: BenchmarkResult) -> list[RowChange]:
    """What both have measured. Raises BenchmarkError for two that measure different things."""
    if before.benchmark != after.benchmark:
        raise BenchmarkError(
            f"One measures {before.benchmark} and the other {after.benchmark}: compare two of one."
        )
    known = {row.key: row for row in before.rows if row.seconds}
    found = [
        RowChange(known[row.key], row) for row in after.rows if row.seconds and row.key in known
    ]
    if not found:
        raise BenchmarkError("The two results have no measurement in common: measure one again.")
    return found


def other_machine(before: BenchmarkResult, after: BenchmarkResult) -> list[str]:
    """What differs between the machines of two results, as `driver: 550.54, then 560.28`."""
    names = [*before.machine, *(name for name in after.machine if name not in before.machine)]
    return [
        f"{name}: {before.machine.get(name, 'unknown')}, then {after.machine.get(name, 'unknown')}"
        for name in names
        if before.machine.get(name) != after.machine.get(name)
    ]


def row_of(part: Mapping[str, Any]) -> BenchmarkRow:
    """A row as who measures says it. Raises BenchmarkError for anything else."""
    try:
        return msgspec.convert(part, BenchmarkRow)
    except msgspec.ValidationError as error:
        raise BenchmarkError(f"A measurement cannot be read ({error}).") from error
