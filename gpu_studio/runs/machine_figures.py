"""What kept results of benchmarks say of this machine, as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from gpu_studio.lab.benchmark_results import BenchmarkResult
from gpu_studio.lab.machine_figures import MachineFigures, figures_of
from gpu_studio.plan import Machine
from gpu_studio.runs.benchmark_shelf import TENSORFLOW, benchmarks_folder, kept_results
from gpu_studio.runs.machine_identity import CARD, identity, physical_names

_DISTRIBUTIONS: Final = ("tensorflow", "tensorflow-cpu", "tf-nightly")
_read: dict[Path, tuple[int, list[BenchmarkResult]]] = {}
"""The results of a folder, as it was last changed: the window asks at every look."""


def kept_figures(machine: Machine, folder: Path | None = None) -> MachineFigures:
    """What was measured of this machine; nothing that was measured of another, or of it before.

    The host, the cards by their UUIDs, the driver and all versions must be those of now. Of cards
    that are simulated or for practice nothing was measured. An unreadable folder has no results.
    """
    if machine.simulated or machine.practice:
        return MachineFigures()
    now = identity(machine)
    if version := _installed():
        now[TENSORFLOW] = version
    found = [each for each in _results(folder or benchmarks_folder()) if _is_of(each, now)]
    return figures_of(found, physical_names(machine))


def _is_of(result: BenchmarkResult, now: Mapping[str, str]) -> bool:
    """Whether a result is of the machine as it is now: no card more, none fewer, none newer."""
    cards = {name for name in result.machine if name.startswith(CARD)}
    same = all(result.machine.get(name) == value for name, value in now.items())
    return same and cards == {name for name in now if name.startswith(CARD)}


def _results(folder: Path) -> list[BenchmarkResult]:
    try:
        changed = folder.stat().st_mtime_ns
        if folder not in _read or _read[folder][0] != changed:
            _read[folder] = changed, [each.result for each in kept_results(folder) if each.result]
    except OSError:
        return []
    return _read[folder][1]


def _installed() -> str:
    """The version of the TensorFlow beside this program; empty if another Python has it."""
    for name in _DISTRIBUTIONS:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""
