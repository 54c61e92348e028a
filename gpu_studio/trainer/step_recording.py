"""Record some warm steps of a run with TensorFlow's profiler, and watch the executed graphs.

The recordings become events. It is done once, its time does not count as part of the call, and
no run fails for it. TensorFlow's executed graphs are placed, optimised, and cut into one graph
per device.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

from gpu_studio.contract.events import Event
from gpu_studio.trainer.environment import profile_folder
from gpu_studio.trainer.meters import Call

RECORDED_CALL: Final = 3
"""The first call is compiled and the second allocates buffers; the third is like all others."""
Train = Callable[[Any, int, int], Call]
Entered = TypeVar("Entered")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Everything executed in `steps` steps of the run, of which the first is step `step`.

    `input_seconds` of their time were spent waiting for data.
    """

    executed: Sequence[Executed]
    step: int
    steps: int
    input_seconds: float


class StepRecorder:
    """Trains as requested, and reports what `readers` make of the first steps of the third call."""

    def __init__(
        self,
        watching: Callable[[], AbstractContextManager[object]],
        readers: Sequence[Callable[[Recorded], Event | None]],
        tell: Callable[[Event], object],
        most_steps: int = 1,
    ) -> None:
        """`watching` is entered for the first call; at most `most_steps` are recorded."""
        self._watching, self._readers, self._tell, self._most = watching, readers, tell, most_steps
        self._calls = 0

    def train(self, train: Train, stream: Any, first_step: int, count: int) -> Call:
        """Call `train(stream, first_step, count)`.

        Watch the first call, record part of the third.
        """
        self._calls += 1
        if self._calls == 1:
            with self._watching():
                return train(stream, first_step, count)
        if self._calls != RECORDED_CALL:
            return train(stream, first_step, count)
        steps = min(count, self._most)
        call = self._recorded(train, stream, first_step, steps)
        return (
            call
            if count == steps or call.over
            else call.followed_by(train(stream, first_step + steps, count - steps))
        )

    def _recorded(self, train: Train, stream: Any, first_step: int, steps: int) -> Call:
        began = time.perf_counter()
        # Another profiler may be active, the disk full, or the driver may forbid it.
        with if_possible(profiled, list[Executed]()) as executed:
            trained_from = time.perf_counter()
            call = train(stream, first_step, steps)
            trained = time.perf_counter() - trained_from
        self._report(Recorded(executed, first_step, steps, call.input_seconds))
        return replace(call, aside_seconds=time.perf_counter() - began - trained)

    def _report(self, recorded: Recorded) -> None:
        for read in self._readers:
            event = None
            with suppress(Exception):
                event = read(recorded)
            if event is not None:
                self._tell(event)


@contextmanager
def if_possible(
    made: Callable[[], AbstractContextManager[Entered]], otherwise: Entered
) -> Iterator[Entered]:
    """Enter `made()`, or `otherwise` if it fails to begin; ignore what it raises at its end.

    What fails inside fails as ever.
    """
    stack, entered = ExitStack(), otherwise
    with suppress(Exception):
        entered = stack.enter_context(made())
    try:
        yield entered
    finally:
        with suppress(Exception):
            stack.close()


PICOSECONDS = 1e-12
LONGEST_REST_S = 0.25
_BETWEEN_LOOKS_S = 0.001
_NAME = "tf_op"
_CARD = "/device:"
# The kernels between cards, which belong to no operation, or to none with a name in the graph.
_NAMELESS = ("nccl", "MemcpyP2P")


@dataclass(frozen=True, slots=True)
class Executed:
    """An executed operation: name in the graph, begin and end in seconds on one clock, type.

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

    The profiler records what TensorFlow considers expensive. That is every operation of a new
    function, because each is considered expensive until it was timed about ninety times; of an old
    function, those that take some microseconds (executor.cc, `IsExpensive`). A finer level can be
    requested, but TensorFlow 2.21 ignores it.

    An operation that has not ended when the profiler stops is not in the profile. Within an
    asynchronous one, as a collective, its thread goes on with what follows, up to the end of the
    step: a call may be over before its last thread has come back out of its collective, and long
    before where that thread has lost its core. Therefore the threads are waited for.
    """
    executed: list[Executed] = []
    with profile_folder() as folder:
        tf.profiler.experimental.start(str(folder))
        try:
            yield executed
        finally:
            _let_threads_rest()
            tf.profiler.experimental.stop()
        executed += sorted(_read(folder), key=lambda each: each.begin)


def _let_threads_rest() -> None:
    """Wait until two looks in a row find every other thread of this process asleep.

    At most `LONGEST_REST_S`: threads that read data ahead may never rest. Where Linux' /proc is
    not, nothing is waited for.
    """
    until, looks = time.perf_counter() + LONGEST_REST_S, 0
    with suppress(OSError):
        while looks < 2 and time.perf_counter() < until:
            looks = 0 if _any_other_runs() else looks + 1
            time.sleep(_BETWEEN_LOOKS_S)


def _any_other_runs() -> bool:
    mine = str(threading.get_native_id())
    return any(_runs(task) for task in Path("/proc/self/task").iterdir() if task.name != mine)


def _runs(task: Path) -> bool:
    """Whether a thread has a core, or waits for one."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return False


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


SENDS: Final = ("_Send", "_HostSend")
RECEIVES: Final = ("_Recv", "_HostRecv")
"""The types of the operations that carry a tensor from one of these graphs to another."""


@contextmanager
def watched_graphs() -> Iterator[list[Any]]:
    """Fill the list, on leaving, with the graphs of functions that TensorFlow built meanwhile."""
    graphs: list[Any] = []
    eager = context.context()
    eager.enable_run_metadata()
    try:
        _forget_earlier_graphs(eager)
        yield graphs
        made = eager.export_run_metadata().function_graphs
        graphs += [graph for each in made for graph in each.partition_graphs]
    finally:
        eager.disable_run_metadata()


def _forget_earlier_graphs(eager: Any) -> None:
    """Drop the graphs of earlier functions, which TensorFlow would return with the next ones."""
    tf.function(lambda: tf.constant(0), autograph=False)()
    eager.export_run_metadata()


def logical_name(device: str) -> str:
    """`CPU:1` of TensorFlow's `/job:localhost/replica:0/task:0/device:CPU:1`.

    Empty for no device.
    """
    return device.rpartition("device:")[2]


def devices_in(graphs: Iterable[Any]) -> dict[str, str]:
    """Return the logical device of each operation, by name, and the sender of each edge, by name.

    A card's profile names a copy by its edge.
    """
    found: dict[str, str] = {}
    for node in (node for graph in graphs for node in graph.node):
        device = logical_name(node.device)
        found[node.name] = device
        if node.op in SENDS:
            found[node.attr["tensor_name"].s.decode()] = device
    return found
