"""Measure how long each layer takes on a device, and how fast tensors travel between devices.

Real training steps of two sizes are timed under TensorFlow's profiler, by layer and pass. The
line through both sizes gives `fixed + per_sample · b`. Operations of one step can run at once,
and TensorFlow takes time between them; therefore all times are scaled by the step's wall-clock
time over their sum, so that the layers together take as long as a step.

On a CPU a step of the same batch in several micro-batches is timed too. TensorFlow's threads
work on several of them at once, whatever the device: how much sooner the step ends than the
same micro-batches one after the other shows which share of the cores one of them occupies.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

import tensorflow as tf

from gpu_studio.placement.work import LayerTime
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.placed.devices import mark_of
from gpu_studio.trainer.placed.placing import LayerAssignment, PlacedModel
from gpu_studio.trainer.placed.program import PlacedProgram
from gpu_studio.trainer.session import Session
from gpu_studio.trainer.step_recording import Executed, profiled

STEPS: Final = 5


def held_by(step: Callable[[], object], device: str) -> int:
    """Return the most bytes that `step` has in use on `device` (`GPU:0`), above those before it.

    It is the median over several runs. For a logical CPU the allocator counts what all of them hold
    together. How far data are read ahead differs from step to step, and so does the peak, a little.
    """
    return round(median(_once(step, device) for _ in range(STEPS)))


def _once(step: Callable[[], object], device: str) -> int:
    gc.collect()
    before = tf.config.experimental.get_memory_info(device)["current"]
    tf.config.experimental.reset_memory_stats(device)
    step()
    return max(0, int(tf.config.experimental.get_memory_info(device)["peak"]) - int(before))


WARM_STEPS = 4
LEAST_STEPS, MOST_STEPS = 4, 200
TARGET_SECONDS, REPETITIONS = 0.15, 9
"""Of so many short measurements the fastest counts: other work of the machine only slows them."""
LEAST_SHARE = 1 / 64
Spent = dict[tuple[str, str], float]
"""Seconds of a step by layer and pass."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """A step of `batch` samples.

    It has the step's wall-clock seconds, those of each layer in each pass, and the bytes it held.
    """

    batch: int
    seconds: float
    spent: Spent
    held: int = 0


def measured(session: Session, batch: int) -> StepTimes:
    """Train real steps of `batch` samples of a placed session.

    Time them with and without the profiler.
    """
    sized, stream, steps = _warm(session, Cut(session.cut.samples, batch, 1))
    # Before timing, because the profiler ignores operations once they were found to be cheap.
    with profiled() as executed:
        sized.program.train(stream, 0, steps)
    seconds = min(_timed(sized, stream, steps) for _ in range(REPETITIONS))
    seats = _placed(session).seats
    held = held_by(lambda: sized.program.train(stream, 0, 1), seats[0].home) if seats else 0
    return StepTimes(batch, seconds, _stretched(spent_in(executed, seats, steps), seconds), held)


def seconds_in_parts(session: Session, batch: int, micro_batches: int) -> float:
    """Return the time of a real step of `batch` samples in this many micro-batches.

    All of them run on the session's one device.
    """
    sized, stream, steps = _warm(session, Cut(session.cut.samples, batch, micro_batches))
    return min(_timed(sized, stream, steps) for _ in range(REPETITIONS))


def share_of(small: StepTimes, large: StepTimes, micro_batches: int, seconds: float) -> float:
    """Return the share of the cores that a micro-batch of the size of `small` occupies.

    `seconds` is the time of a step of several of them. The share is 1 where they take as long as
    one after the other. Updates run once, and alone.
    """
    alone = micro_batches * (small.seconds - _updates(small))
    return min(1.0, max(LEAST_SHARE, (seconds - _updates(large)) / alone)) if alone > 0 else 1.0


def line_through(
    small: StepTimes, large: StepTimes, paths: Iterable[str], share: float | None = None
) -> dict[str, LayerTime]:
    """Fit a line to both measurements of each layer.

    One that would fall with the batch is level.
    """
    return {path: replace(_layer_time(small, large, path), share=share) for path in paths}


def spent_in(executed: Iterable[Executed], seats: Sequence[LayerAssignment], steps: int) -> Spent:
    """Return the seconds of a step by layer and pass; what belongs to no layer is under ("", "").

    The median of each operation's executions counts, because disturbances by the machine hit few of
    them.
    """
    paths = {seat.number: seat.path for seat in seats}
    took: dict[str, list[float]] = {}
    for each in executed:
        if "/" in each.name:  # The others read data ahead, outside the step.
            took.setdefault(each.name, []).append(each.end - each.begin)
    spent: dict[tuple[str, str], float] = {}
    for name, times in took.items():
        mark = mark_of(name)
        key = ("", "") if mark is None else (paths.get(mark.seat, ""), mark.way)
        spent[key] = spent.get(key, 0.0) + median(times) * len(times) / steps
    return spent


def _program(session: Session, cut: Cut) -> Any:
    loss, seed = session.program.loss, session.plan.training.seed
    return PlacedProgram(
        _placed(session), session.optimizer, loss, session.meters, seed, cut, lambda _event: None
    )


def _placed(session: Session) -> PlacedModel:
    """The placed model of a session with the strategy `placed`."""
    if not isinstance(session.program, PlacedProgram):
        raise TypeError("Only the layers of a placed model can be distinguished in a step.")
    return session.program.placed


def _warm(session: Session, cut: Cut) -> tuple[Session, Any, int]:
    """Return the session in this many parts, its stream, and how many steps to time.

    Everything has been compiled and allocated by then.
    """
    sized = replace(session, cut=cut, program=_program(session, cut))
    stream = sized.training_stream(0, 0)
    sized.program.train(stream, 0, WARM_STEPS)
    return sized, stream, _steps_in(TARGET_SECONDS, _timed(sized, stream, LEAST_STEPS))


def _timed(session: Session, stream: Any, steps: int) -> float:
    begin = time.perf_counter()
    session.program.train(stream, 0, steps)
    return (time.perf_counter() - begin) / steps


def _steps_in(seconds: float, each: float) -> int:
    return max(LEAST_STEPS, min(MOST_STEPS, round(seconds / max(each, 1e-6))))


def _stretched(spent: Spent, seconds: float) -> Spent:
    whole = sum(spent.values())
    return {key: value * seconds / whole for key, value in spent.items()} if whole else spent


def _layer_time(small: StepTimes, large: StepTimes, path: str) -> LayerTime:
    forward = _line(small, large, path, "forward")
    backward = _line(small, large, path, "backward")
    return LayerTime(*forward, *backward, large.spent.get((path, "update"), 0.0))


def _updates(step: StepTimes) -> float:
    return sum(spent for (_, way), spent in step.spent.items() if way == "update")


def _line(small: StepTimes, large: StepTimes, path: str, way: str) -> tuple[float, float]:
    one, other = small.spent.get((path, way), 0.0), large.spent.get((path, way), 0.0)
    slope = (
        max(0.0, (other - one) / (large.batch - small.batch)) if large.batch > small.batch else 0.0
    )
    # Where noise would make the fixed part negative, the line goes through the larger, better
    # measured size.
    fixed = max(0.0, other - slope * large.batch)
    return fixed, (other - fixed) / large.batch


SMALL = 1 << 20
LARGE = (1 << 27, 1 << 24)
"""Bytes. The time that a transfer takes whatever its size falls out of their difference. The second
is for slices that have no room for the first."""
TRANSFERS = 12
HANDED_OVER = 1e12
"""Bytes/s that no link reaches: what is faster was handed over by reference and not copied."""


def bandwidth(source: str, target: str) -> float | None:
    """Return the bytes per second from one logical device to another.

    None where nothing is copied, or where there is no memory for it.
    """
    for size in LARGE:
        try:
            small, large = (_seconds(source, target, each) for each in (SMALL, size))
        except tf.errors.ResourceExhaustedError:
            continue
        rate = (size - SMALL) / max(large - small, 1e-9)
        return None if rate >= HANDED_OVER else rate
    return None


def _seconds(source: str, target: str, size: int) -> float:
    """Return the least time in which a tensor of `size` bytes travels from `source` to `target`."""
    with tf.device(source):
        tensor = tf.fill((size // 4,), 1.0)
    across = tf.function(lambda x: _taken(x, target), autograph=False)
    across(tensor).numpy()
    return min(_time_of_transfer(across, tensor) for _ in range(TRANSFERS))


def _taken(tensor: Any, target: str) -> Any:
    """One number of the tensor, read on `target`: the read waits for the whole tensor."""
    with tf.device(target):
        return tf.identity(tensor)[:1]


def _time_of_transfer(across: Any, tensor: Any) -> float:
    begin = time.perf_counter()
    across(tensor).numpy()
    return time.perf_counter() - begin
