"""What watching eight cards once a second costs, against its budget, gpustat and nvitop.

All three ask the same library.

The library is the tests' own, compiled here. The two tools are measured where they are found: on
the PATH, or in the folder that `$GPU_STUDIO_BENCH_TOOLS` names (`python -m venv …; pip install
gpustat nvitop`)."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from measuring import Budget, Row
from workplace import BenchmarkError, Workplace

from gpu_studio.hardware.supervision import sampler_command

if TYPE_CHECKING:
    from nvml_library import NvmlLibrary

SUPPORT = str(Path(__file__).parents[1] / "support")
CARDS = 8
SETTLE_S, MEASURE_S = 3.0, 12.0
MIB = 1024 * 1024
TOOLS: Mapping[str, Sequence[str]] = {
    "gpustat -i 1": ("gpustat", "-i", "1"),
    "nvitop": ("nvitop", "--interval", "1"),
}
COMPARED = (("CPU", "%"), ("memory", "MiB"), ("NVML", "calls/s"))
BUDGETS = (("CPU", "%", 0.5), ("memory", "MiB", 40.0))


@dataclass(frozen=True)
class Cost:
    """Per cent of one core, resident memory in MiB, and calls of the driver's library a second."""

    cpu: float
    memory: float
    calls: float

    @property
    def figures(self) -> tuple[float, float, float]:
        """All three."""
        return self.cpu, self.memory, self.calls


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Rows against the budget, and against each tool that is found. They take turns."""
    library = _library(place.folder)
    commands = {"sampler": sampler_command(), **_tools()}
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for repetition in range(times):
        for name in commands if repetition % 2 == 0 else reversed(commands):
            costs[name].append(_cost(commands[name], library, place.environment))
    library.close()
    yield from _rows(costs)


def _library(folder: Path) -> NvmlLibrary:
    # It belongs to the tests, whose folder is on the path of pytest only.
    sys.path.append(SUPPORT)
    from nvml_library import NvmlLibrary, build, compiler

    if compiler() is None:
        raise BenchmarkError("there is no C compiler to make the driver's library with")
    return NvmlLibrary(build(folder), folder / "nvml-control", CARDS)


def _rows(costs: Mapping[str, Sequence[Cost]]) -> Iterator[Row]:
    ours = list(zip(*(cost.figures for cost in costs["sampler"]), strict=True))
    what = f"sampler, {CARDS} cards at 1 Hz"
    for (name, unit, limit), measured in zip(BUDGETS, ours, strict=False):
        yield Row(
            f"{what}, {name}",
            "the budget",
            unit,
            Budget("at most", 1.0),
            measured,
            (limit,) * len(measured),
        )
    for tool in list(costs)[1:]:
        theirs = list(zip(*(cost.figures for cost in costs[tool]), strict=True))
        for name, unit, mine, other in zip(
            ("CPU", "memory", "NVML"), ("%", "MiB", "calls/s"), ours, theirs, strict=True
        ):
            yield Row(f"{what}, {name}", tool, unit, Budget("at most", 1.0), mine, other)


def _tools() -> dict[str, list[str]]:
    path = os.pathsep.join(
        filter(None, (os.environ.get("GPU_STUDIO_BENCH_TOOLS"), os.environ.get("PATH")))
    )
    found = {name: shutil.which(words[0], path=path) for name, words in TOOLS.items()}
    return {name: [program, *TOOLS[name][1:]] for name, program in found.items() if program}


def _cost(command: Sequence[str], library: NvmlLibrary, environment: Mapping[str, str]) -> Cost:
    ours, theirs = pty.openpty()
    variables = {
        **environment,
        **library.environment,
        "TERM": "xterm-256color",
        "COLUMNS": "160",
        "LINES": "60",
    }
    # gpustat asks the terminal on its stdin what it can do, and waits for the answer.
    source = subprocess.DEVNULL if Path(command[0]).name == "gpustat" else theirs
    process = subprocess.Popen(command, env=variables, stdin=source, stdout=theirs, stderr=theirs)
    try:
        _read_for(ours, SETTLE_S)
        return _between(psutil.Process(process.pid), library, ours)
    except psutil.NoSuchProcess as error:
        raise BenchmarkError(f"{command[0]} ended by itself, with {process.wait()}") from error
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(ours)


def _between(process: psutil.Process, library: NvmlLibrary, terminal: int) -> Cost:
    before, calls, began = _cpu_seconds(process), library.calls, time.monotonic()
    _read_for(terminal, MEASURE_S)
    seconds = time.monotonic() - began
    share = (_cpu_seconds(process) - before) / seconds * 100
    return Cost(share, process.memory_info().rss / MIB, (library.calls - calls) / seconds)


def _cpu_seconds(process: psutil.Process) -> float:
    if sys.platform == "linux":
        # In nanoseconds, where the system's usual account is in hundredths of a second.
        with suppress(OSError):
            threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
            return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
    times = process.cpu_times()
    return float(times.user + times.system)


def _read_for(terminal: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            os.read(terminal, 65536)
