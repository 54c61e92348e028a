"""What TensorFlow's own profiler saw being executed: each operation by its full name, when, and for how long."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

OPERATIONS = 3
"""The level of the host's tracer at which it notes every operation."""
PICOSECONDS = 1e-12
_NAME = ("tf_op", "name")


@dataclass(frozen=True, slots=True)
class Executed:
    """An operation: its name in the graph, and when it began and ended, in seconds on one clock."""

    name: str
    begin: float
    end: float


@contextmanager
def profiled() -> Iterator[list[Executed]]:
    """Fill the list, once left, with what was executed meanwhile, in the order in which it began.

    Of a card these are its kernels, under the name of the operation that launched them; of a CPU the operations.
    """
    executed: list[Executed] = []
    with tempfile.TemporaryDirectory(prefix="gpu-studio-profile-") as folder:
        tf.profiler.experimental.start(folder, tf.profiler.experimental.ProfilerOptions(host_tracer_level=OPERATIONS))
        try:
            yield executed
        finally:
            tf.profiler.experimental.stop()
        executed += sorted(_read(Path(folder)), key=lambda each: each.begin)


def _read(folder: Path) -> list[Executed]:
    found: list[Executed] = []
    for path in folder.rglob("*.xplane.pb"):
        space = XSpace()
        space.ParseFromString(path.read_bytes())
        cards = [plane for plane in space.planes if plane.name.startswith("/device:GPU")]
        hosts = [plane for plane in space.planes if plane.name.startswith("/host:CPU")]
        for plane in (*cards, *hosts):
            found += _events(plane, kernels=plane in cards)
    return found


def _events(plane: Any, *, kernels: bool) -> Iterator[Executed]:
    for line in plane.lines:
        start = line.timestamp_ns * 1000
        for event in line.events:
            name = _kernel_name(plane, event) if kernels else _operation_name(plane, event)
            if name:
                begin = start + event.offset_ps
                yield Executed(name, begin * PICOSECONDS, (begin + event.duration_ps) * PICOSECONDS)


def _operation_name(plane: Any, event: Any) -> str:
    """Of `name:Type` the name; what is written otherwise is no operation."""
    text: str = plane.event_metadata[event.metadata_id].name
    name, separator, kind = text.rpartition(":")
    return name if separator and kind and " " not in text and "::" not in text else ""


def _kernel_name(plane: Any, event: Any) -> str:
    for stat in event.stats:
        if plane.stat_metadata[stat.metadata_id].name in _NAME:
            text = stat.str_value or plane.stat_metadata[stat.ref_value].name
            return str(text).rpartition(":")[0] or str(text)
    return ""
