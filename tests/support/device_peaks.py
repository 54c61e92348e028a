"""Measure the peak memory of placed plans' steps on each logical CPU, by TensorFlow's allocator.

A program: `device_peaks.py PLAN…` trains each plan, and writes {device: bytes} for each, as JSON.
TensorFlow counts all logical CPUs together; but the host's arena (`TF_CPU_ALLOCATOR_USE_BFC=true`)
reports every allocation to its profiler, with its operation. The operation's name identifies the
layer, which is on one device. The variables there are added to the peak of its operations.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WARM_STEPS, STEPS = 3, 3
NO_LAYER = ""
"""What reads the data and computes the loss."""


def peaks(plans: Sequence[Path], folder: Path) -> list[dict[str, int]]:
    """The most bytes that each device held in steps of each plan.

    Under "" what belongs to no layer.
    """
    import warm_python

    # As on a card, one operation after the other: two that update layers at once take twice what
    # one takes.
    settings = {
        "TF_CPU_ALLOCATOR_USE_BFC": "true",
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    environment = {**os.environ, **settings}
    words = [*warm_python.command(__file__), *map(str, plans)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    measured: list[dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return measured


@dataclass(frozen=True)
class Piece:
    """Memory that was given out, or got back (`operation` is empty), at a moment."""

    moment: int
    address: int
    size: int
    operation: str


def most_at_once(pieces: Sequence[Piece], device_of: Mapping[str, str]) -> dict[str, int]:
    """The most that the operations of each device had at one time.

    Of what lay there before nothing is known.
    """
    there: dict[int, tuple[str, int]] = {}
    held: dict[str, int] = {}
    most: dict[str, int] = {}
    for piece in sorted(pieces, key=lambda each: each.moment):
        if piece.operation:
            device = device_of[piece.operation]
            there[piece.address] = device, piece.size
            held[device] = held.get(device, 0) + piece.size
            most[device] = max(most.get(device, 0), held[device])
        elif piece.address in there:
            device, size = there.pop(piece.address)
            held[device] -= size
    return most


def _pieces(folder: Path) -> Iterator[Piece]:
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    for path in folder.rglob("*.xplane.pb"):
        space = XSpace()
        space.ParseFromString(path.read_bytes())
        for plane in space.planes:
            for line in plane.lines:
                for event in line.events:
                    name = plane.event_metadata[event.metadata_id].name
                    if name in ("MemoryAllocation", "MemoryDeallocation"):
                        told = {
                            plane.stat_metadata[stat.metadata_id].name: _value(plane, stat)
                            for stat in event.stats
                        }
                        moment = line.timestamp_ns * 1000 + event.offset_ps
                        yield Piece(
                            moment, told["addr"], told["allocation_bytes"], told.get("tf_op", "")
                        )


def _value(plane: Any, stat: Any) -> Any:
    kind = stat.WhichOneof("value")
    return plane.stat_metadata[stat.ref_value].name if kind == "ref_value" else getattr(stat, kind)


def _measured(made: Any) -> dict[str, int]:
    import tensorflow as tf

    from gpu_studio.trainer.placed.devices import mark_of

    homes = {seat.number: seat.home.removeprefix("/") for seat in made.program.placed.seats}
    stream = made.training_stream(0, 0)
    made.program.train(stream, 0, WARM_STEPS)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        made.program.train(stream, WARM_STEPS, STEPS)
        tf.profiler.experimental.stop()
        pieces = list(_pieces(Path(folder)))
    marks = {piece.operation: mark_of(piece.operation) for piece in pieces if piece.operation}
    most = most_at_once(
        pieces, {name: homes[mark.seat] if mark else NO_LAYER for name, mark in marks.items()}
    )
    for variable in made.program.storage:
        device = variable.value.device[-5:]
        most[device] = (
            most.get(device, 0) + variable.value.shape.num_elements() * variable.value.dtype.size
        )
    return most


def main() -> None:
    """Train each plan, and tell."""
    sys.path.insert(0, str(ROOT))
    from gpu_studio.plan import load
    from gpu_studio.trainer import devices, session

    plans = [load(Path(word)) for word in sys.argv[1:]]
    logical = devices.set_up(plans[0])
    vars(session)["devices"].set_up = lambda *_: logical
    print(
        json.dumps(
            [_measured(session.build(plan, Path.cwd(), lambda _event: None)) for plan in plans]
        )
    )


if __name__ == "__main__":
    main()
