"""Results of benchmarks: what was measured, as rows, in files, and compared.

Pure values: who measures and who keeps the files is decided elsewhere.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import msgspec

from gpu_studio.common.figures import flops, size, throughput
from gpu_studio.common.json_text import JSON_ERRORS
from gpu_studio.common.steady import LATEST
from gpu_studio.plan import ALL_REDUCES

VERSION: Final = 2
"""2 has operations placed by hand, samples that are read, and what TensorFlow said."""
WITHIN_NOISE: Final = 0.05
"""Two medians that differ by less are not distinguished."""
OVERLAPPED: Final = "overlapped copy"
"""What goes on while its card computes, held against one after the other."""
_OF_MEDIAN: Final = 1.2533 * 1.4826


class BenchmarkError(Exception):
    """A result that cannot be read or measured: what, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Something that can be measured: its name, a title, and the question that it answers.

    `several` says that it needs two devices or more, `of_a_plan` that a plan must be given.
    """

    name: str
    title: str
    question: str
    several: bool = False
    of_a_plan: bool = False


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
        Benchmark(
            "place",
            "Place by hand",
            "Which device has TensorFlow really executed each operation on?",
        ),
        Benchmark(
            "input",
            "Input",
            "How many samples a second can the data of a plan be read and prepared at, alone?",
            of_a_plan=True,
        ),
    )
}


class BenchmarkRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing measured: `seconds` has the time of one operation, once for each repeat.

    `size` is the length of a side (matmul), channels (convolution), elements, or bytes moved.
    `flops`, `bytes` and `samples` are those of one operation; `reference` has the seconds of the
    same by what it is held against, which `reference_name` names. `launched` is the time until all
    of `count` calls had returned, `error` the largest difference from the true result, relative to
    its largest value; `why_not` says why there is no figure.

    Of an operation that was placed by hand: its `name`, the names of its `inputs`, the device that
    it was `asked` for, and in `devices` the one that executed it; none if nothing did. `reported`
    is what TensorFlow said of it; kept files name it `told`.
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
    samples: float = 0.0
    name: str = ""
    inputs: tuple[str, ...] = ()
    asked: str = ""
    reported: str = msgspec.field(default="", name="told")

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
    def key(self) -> tuple[str, str, str, int, tuple[str, ...]]:
        """What the same measurement has in another result."""
        return self.what, self.name, self.dtype, self.size, self.devices

    @property
    def in_bytes(self) -> bool:
        """Whether its size is in bytes."""
        return bool(self.bytes) and self.size == self.bytes

    @property
    def bus_bandwidth(self) -> float:
        """Of an all-reduce: bytes/s over the slowest link that an ideal way would need, for n.

        The algorithm's bytes/s times 2 · (n - 1) / n, as nccl-tests defines it (doc/PERFORMANCE.md
        of github.com/NVIDIA/nccl-tests): unlike those, it can be held against a link's own figure,
        whatever n is. Not a number of anything else.
        """
        if self.what not in ALL_REDUCES or not self.seconds:
            return math.nan
        return self.bytes / self.middle * 2 * (len(self.devices) - 1) / len(self.devices)

    @property
    def flops_per_second(self) -> float:
        """FLOP/s of all its devices together, each of which does one operation at a time."""
        return len(self.devices) * self.flops / self.middle

    @property
    def rate(self) -> str:
        """What it reaches, in words: `95.2 GFLOP/s`, `8.31 GiB/s`, `4,100 samples/s`."""
        if not self.seconds:
            return self.why_not
        if self.samples:
            return throughput(self.samples / self.middle)
        if self.flops and self.what != "element-wise":
            return f"{flops(self.flops_per_second)}/s"
        reached = f"{size(self.bytes / self.middle)}/s" if self.bytes else ""
        bus = self.bus_bandwidth
        return reached if math.isnan(bus) else f"{reached}, bus {size(bus)}/s"


@dataclass(frozen=True, slots=True)
class TrainingPace:
    """How many samples a second a plan trains, and how that is known: `as in run …`."""

    samples_per_second: float
    known: str


def with_pace(row: BenchmarkRow, pace: TrainingPace | None) -> BenchmarkRow:
    """The row of data that are read, held against the time in which training takes as many."""
    if pace is None or row.what != "read" or not row.samples:
        return row
    taken = (row.samples / pace.samples_per_second,)
    return msgspec.structs.replace(row, reference=taken, reference_name=pace.known)


class BenchmarkResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a benchmark has measured, and on what.

    `begun` is in s since 1970. `machine` has names and versions by what they are of. A result that
    is not `complete` was broken off; `why_not_complete` says by what. `devices` has what each
    logical device is a part of: a card, by its UUID, or the CPU.
    """

    benchmark: str
    begun: float
    machine: dict[str, str]
    rows: tuple[BenchmarkRow, ...]
    complete: bool = True
    why_not_complete: str = ""
    devices: dict[str, str] = {}
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
    except JSON_ERRORS as error:
        raise BenchmarkError(
            f"{name} is no whole result of a benchmark ({error}): measure again, and remove it."
        ) from error
    found = (_why_not_sane(row) or _why_not_of(result.benchmark, row) for row in result.rows)
    if wrong := next(filter(None, found), ""):
        raise BenchmarkError(f"{name} is no result of a benchmark ({wrong}): remove it.")
    if result.benchmark not in BENCHMARKS or not 0 <= result.begun <= LATEST:
        raise BenchmarkError(f"{name} is of a benchmark that is not known here: remove it.")
    return result


class _Versioned(msgspec.Struct):
    version: int = 0


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
    def is_clear(self) -> bool:
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
        row = msgspec.convert(part, BenchmarkRow)
    except msgspec.ValidationError as error:
        raise BenchmarkError(f"A measurement cannot be read ({error}).") from error
    if wrong := _why_not_sane(row):
        raise BenchmarkError(f"A measurement cannot be read ({wrong}).")
    return row


def _why_not_of(benchmark: str, row: BenchmarkRow) -> str:
    """What a row of this benchmark has not that was measured; empty if it has all."""
    if not row.seconds or benchmark not in _NEEDED:
        return ""
    devices, amounts = _NEEDED[benchmark]
    least, most = devices
    if not least <= len(row.devices) <= most:
        return f"{row.what} is of {len(row.devices)} devices"
    amounts += ("reference",) if row.what == OVERLAPPED else ()
    missing = [name for name in amounts if not getattr(row, name)]
    return f"{row.what} has no {missing[0]}" if missing else ""


_MANY: Final = sys.maxsize
_NEEDED: Final[Mapping[str, tuple[tuple[int, int], tuple[str, ...]]]] = {
    "compute": ((1, 1), ()),
    "launched": ((1, _MANY), ("launched", "count")),
    "together": ((1, _MANY), ("flops",)),
    "copies": ((2, _MANY), ("bytes",)),
    "all-reduce": ((1, _MANY), ("bytes",)),
}
"""By benchmark, how many devices a measured row has, and what else is not empty."""
_SHORTEST_S, _LONGEST_S = 1e-15, 1e9
_LARGEST: Final = 1e21
"""No operation is of more FLOP or bytes: what is written of a file's figures must be finite."""


def _why_not_sane(row: BenchmarkRow) -> str:
    """What in a row nothing can have measured: all else divides by its times."""
    times = (*row.seconds, *row.launched, *row.reference)
    if not all(_SHORTEST_S <= each <= _LONGEST_S for each in times):
        return f"{row.what} took a time that is none"
    amounts = (row.flops, row.bytes, row.samples, row.size)
    if not all(0 <= each <= _LARGEST for each in amounts):
        return f"{row.what} is of an amount that is none"
    if row.seconds and not 0 < row.count <= _LARGEST:
        return f"{row.what} was done {row.count} times"
    return ""
