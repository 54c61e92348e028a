"""The operations that TensorFlow's profiler saw: full name, time, and duration of each.

The profiler records what TensorFlow considers expensive. That is every operation of a new function,
because each is considered expensive until it was timed about ninety times; of an old function,
those that take some microseconds (executor.cc, `IsExpensive`). A finer level can be requested, but
TensorFlow 2.21 ignores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

from gpu_studio.trainer.profile_folder import profile_folder

PICOSECONDS = 1e-12
_NAME = "tf_op"
_CARD = "/device:"
# The kernels between cards, which belong to no operation, or to none with a name in the graph.
_NAMELESS = ("nccl", "MemcpyP2P")


@dataclass(frozen=True, slots=True)
class Executed:
    """An operation.

    Its name in the graph, when it began and ended, in seconds on one clock, and its type.

    A kernel of a card has the name of the operation that launched it, `kernel` of its own, and the
    card: `GPU:0`, by CUDA's count.
    """

    name: str
    begin: float
    end: float
    kind: str = ""
    kernel: str = ""
    card: str = ""


@contextmanager
def profiled() -> Iterator[list[Executed]]:
    """Fill the list, on leaving, with what was executed meanwhile, ordered by its beginning.

    For a card these are its kernels, under the name of the operation that launched them, and not
    the launches; for a CPU the operations.
    """
    executed: list[Executed] = []
    with profile_folder() as folder:
        tf.profiler.experimental.start(str(folder))
        try:
            yield executed
        finally:
            tf.profiler.experimental.stop()
        executed += sorted(_read(folder), key=lambda each: each.begin)


def _read(folder: Path) -> list[Executed]:
    found: list[Executed] = []
    for path in folder.rglob("*.xplane.pb"):
        space = XSpace()
        space.ParseFromString(path.read_bytes())
        found += executed_in(space)
    return found


def executed_in(space: Any) -> list[Executed]:
    """Return the operations in a profile."""
    kernels = [
        e
        for p in space.planes
        if p.name.startswith("/device:GPU")
        for e in _events(p, kernels=True)
    ]
    launched = {each.name for each in kernels} - {""}
    hosts = [
        e for p in space.planes if p.name.startswith("/host:CPU") for e in _events(p, kernels=False)
    ]
    return kernels + [each for each in hosts if each.name not in launched]


def _events(plane: Any, *, kernels: bool) -> Iterator[Executed]:
    card = plane.name.removeprefix(_CARD).partition(" ")[0] if kernels else ""
    for line in plane.lines:
        start = line.timestamp_ns * 1000
        for event in line.events:
            text: str = plane.event_metadata[event.metadata_id].name
            name, kind = _launcher(plane, event) if kernels else _operation(text)
            if name or (kernels and text.startswith(_NAMELESS)):
                begin = start + event.offset_ps
                end = begin + event.duration_ps
                yield Executed(
                    name,
                    begin * PICOSECONDS,
                    end * PICOSECONDS,
                    kind,
                    text if kernels else "",
                    card,
                )


def _operation(text: str) -> tuple[str, str]:
    """Split `name:Type` into name and type; anything else is no operation."""
    name, separator, kind = text.rpartition(":")
    return (name, kind) if separator and kind and " " not in text and "::" not in text else ("", "")


def _launcher(plane: Any, event: Any) -> tuple[str, str]:
    """Return name and type of the operation that launched a kernel; the type may be unknown."""
    for stat in event.stats:
        if plane.stat_metadata[stat.metadata_id].name == _NAME:
            text = str(stat.str_value or plane.stat_metadata[stat.ref_value].name)
            name, separator, kind = text.rpartition(":")
            return (name, kind) if separator else (text, "")
    return "", ""
