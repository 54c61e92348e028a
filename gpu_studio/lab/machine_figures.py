"""How fast a machine's devices and the links between them are, as kept results of benchmarks say.

Pure: which results are of this machine as it is now is decided by who reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from gpu_studio.common.figures import flops, moment, size
from gpu_studio.lab.benchmark_results import BenchmarkResult, BenchmarkRow
from gpu_studio.lab.benchmarks import directions_without_copy


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """By the physical device: FLOP/s in each type, and bytes/s to it from the slowest other.

    `measured` is when the oldest of the results used began, in s since 1970; None without any: then
    the defaults count, by which all devices are equally fast and nothing is known of links.
    """

    flops: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    links: Mapping[str, float] = field(default_factory=dict)
    measured: float | None = None

    @property
    def known(self) -> str:
        """How that is known, to follow a figure: `at what was measured 14:02`; empty if nothing."""
        return "" if self.measured is None else f"at what was measured {moment(self.measured)}"

    def in_words(self, kind: str) -> str:
        """The figures for computing in a type: `GPU:0 95 TFLOP/s; to GPU:1 24.1 GiB/s`."""
        known = {
            device: rates.get(kind) or rates.get("float32") for device, rates in self.flops.items()
        }
        said = [f"{device} {flops(rate)}/s" for device, rate in known.items() if rate]
        said += [f"to {device} {size(rate)}/s" for device, rate in self.links.items()]
        return "; ".join(said)


def figures_of(results: Sequence[BenchmarkResult], physical: Mapping[str, str]) -> MachineFigures:
    """What the newest result of each benchmark says; `results` are the newest first.

    `physical` gives the name in a plan of each device that a result names by its UUID.
    """
    flops_by: dict[str, dict[str, float]] = {}
    links: dict[str, float] = {}
    used: list[float] = []
    compute = next((each for each in results if each.benchmark == "compute"), None)
    if compute is not None and (flops_by := _flops(compute, physical)):
        used.append(compute.begun)
    copies = next((each for each in results if each.benchmark == "copies"), None)
    if copies is not None and (links := _links(copies, physical)):
        used.append(copies.begun)
    return MachineFigures(flops_by, links, min(used, default=None))


def _flops(result: BenchmarkResult, physical: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The best product of each type on each device: layers are made of products."""
    found: dict[str, dict[str, float]] = {}
    for row in result.rows:
        device = _physical(result, row, 0, physical)
        if row.what == "matmul" and row.seconds and device:
            rates = found.setdefault(device, {})
            rates[row.dtype] = max(rates.get(row.dtype, 0.0), row.flops / median(row.seconds))
    return found


def _links(result: BenchmarkResult, physical: Mapping[str, str]) -> dict[str, float]:
    """The largest copies between devices: the slowest to each counts. A reference is no copy."""
    rows = [row for row in result.rows if row.what == "copy" and row.seconds]
    none = directions_without_copy(rows)
    largest = {row.devices: row for row in sorted(rows, key=lambda row: row.size)}
    found: dict[str, float] = {}
    for direction, row in largest.items():
        source = _physical(result, row, 0, physical)
        target = _physical(result, row, 1, physical)
        if direction not in none and source and target and source != target:
            rate = row.bytes / median(row.seconds)
            found[target] = min(rate, found.get(target, rate))
    return found


def _physical(
    result: BenchmarkResult, row: BenchmarkRow, place: int, physical: Mapping[str, str]
) -> str:
    """The device in a plan that a row is of; empty if that is not there, or is the host."""
    return physical.get(result.devices.get(row.devices[place], ""), "")
