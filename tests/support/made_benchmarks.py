"""Made results of every benchmark, on invented cards, and a process that says such rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio.lab.benchmarks import BenchmarkResult, BenchmarkRow

GIB = 1024**3
CARDS = tuple(f"GPU:{number}" for number in range(4))
MACHINE = {
    "host": "workstation-7",
    "CPU": "a CPU",
    "CPU cores": "16",
    **{f"GPU {n}": f"NVIDIA H100 (GPU-{n})" for n in range(4)},
    "TensorFlow": "2.21.0",
}
SMALL = """
import sys
from gpu_studio.trainer import ask
from gpu_studio.trainer.answers import benchmark_timing, benchmark_transfers, benchmarks
benchmark_timing.LEAST_S, benchmark_timing.REPEATS, benchmarks.CALLS = 0.001, 3, 5
benchmarks.SIZES = {"CPU": {"matmul": (64, 128), "convolution": (8,), "element-wise": (4096,)}}
benchmarks.SIDES = {"CPU": 128}
benchmark_timing.SPIN_S = 0.0
benchmark_transfers.COPIED = benchmark_transfers.REDUCED = (4096, 65536)
sys.exit(ask.main(sys.argv[1:]))
"""
"""The text of a program that answers as the trainer does, with sizes that take no time."""
FAKE = """
import json, os, sys, time
rows, held = sys.argv[1:3]
to = int(sys.argv[sys.argv.index("--to") + 1])
def say(**words):
    os.write(to, json.dumps(words).encode() + b"\\n")
say(progress="importing TensorFlow")
for row in json.load(open(rows)):
    say(progress=row["what"])
    say(part=row)
while os.path.exists(held):
    time.sleep(0.01)
say(answer={"tensorflow": "2.21.0", "devices": ["CPU:0"]})
"""


def row(what: str, *devices: str, size: int = 1024, **more: Any) -> BenchmarkRow:
    return BenchmarkRow(what, devices or ("CPU:0",), size, **more)


def around(seconds: float) -> tuple[float, ...]:
    return (seconds * 0.98, seconds, seconds * 1.03)


def compute(*devices: str) -> list[BenchmarkRow]:
    return [
        made
        for device in devices
        for dtype, times in (("float32", 1.0), ("bfloat16", 0.2))
        for made in (
            row(
                "matmul",
                device,
                size=4096,
                dtype=dtype,
                seconds=around(2e-3 * times),
                flops=1.4e11,
                bytes=2e8,
                error=0.0,
            ),
            row(
                "convolution",
                device,
                size=128,
                dtype=dtype,
                seconds=around(1e-4 * times),
                flops=1.6e9,
                bytes=6e6,
            ),
            row(
                "element-wise",
                device,
                size=1 << 24,
                dtype=dtype,
                seconds=around(1e-4),
                flops=1.7e7,
                bytes=2e8,
            ),
        )
    ]


def copies(*devices: str) -> list[BenchmarkRow]:
    ways = [("host", name) for name in devices] + [(name, "host") for name in devices]
    ways += [(one, other) for one in devices for other in devices if one != other]
    return [
        row(
            "copy",
            *way,
            size=amount,
            dtype="uint8",
            seconds=around(amount / pace + 1e-5),
            bytes=float(amount),
            reference=(amount / (10 * GIB),),
            reference_name="the host's own copy",
        )
        for amount in (4096, 1 << 26)
        for way, pace in zip(ways, _paces(len(ways)), strict=True)
    ]


def _paces(count: int) -> list[float]:
    return [(20 + 3 * place) * GIB for place in range(count)]


def reduced(*devices: str) -> list[BenchmarkRow]:
    return [
        row(
            what,
            *devices,
            size=amount,
            seconds=around(latency + amount / (pace * GIB)),
            bytes=float(amount),
            error=0.0,
            reference_name="auto" if what == "nccl" else "",
        )
        for what, latency, pace in (("nccl", 3e-5, 200.0), ("ring", 9e-5, 90.0))
        for amount in (1 << 10, 1 << 18, 1 << 26)
    ]


def together(*devices: str) -> list[BenchmarkRow]:
    one: dict[str, Any] = {"flops": 1e11, "seconds": around(2e-3)}
    return [
        *(row("matmul", name, **one) for name in devices),
        row("matmul", *devices, flops=1e11, seconds=around(2.1e-3)),
    ]


def launched(*devices: str) -> list[BenchmarkRow]:
    return [
        row(
            "matmul",
            name,
            size=4000,
            seconds=around(9.8e-3),
            launched=around(9e-4),
            count=50,
            flops=1.28e11,
        )
        for name in devices
    ]


ROWS = {
    "compute": compute,
    "launched": launched,
    "together": together,
    "copies": copies,
    "all-reduce": reduced,
}


def made(
    name: str, devices: Sequence[str] = CARDS, begun: float = 1.7e9, **more: Any
) -> BenchmarkResult:
    """A result of this benchmark on these devices."""
    given = {"machine": MACHINE, "rows": tuple(ROWS[name](*devices)), **more}
    return BenchmarkResult(name, begun, **given)


def saying(folder: Path, rows: Sequence[BenchmarkRow]) -> tuple[list[str], Path]:
    """A command that says these rows and then waits while the file that is returned exists."""
    said, held = folder / "rows.json", folder / "held"
    said.write_text(json.dumps(msgspec.to_builtins(list(rows))))
    held.touch()
    return [sys.executable, "-c", FAKE, str(said), str(held)], held
