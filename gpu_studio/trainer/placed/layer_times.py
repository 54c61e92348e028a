"""How long each layer takes on a device: real training steps of two sizes, under TensorFlow's profiler.

What is measured of a step of b samples is the time of every operation, by layer and pass. The line through both sizes
gives `fixed + per_sample · b`. Operations of one step can run at once, and between them TensorFlow takes its own time;
therefore all are stretched by the step's time on the clock over their sum, so that the layers together take what a step
takes.

On a CPU a step of the same batch in several micro-batches is timed too. TensorFlow's threads work at several of them at
once, whatever the device: how much sooner it ends than they would one after the other says which part of the cores one
of them occupies.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from gpu_studio.placement.estimate import LayerTime
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.placed.assignment import Seat
from gpu_studio.trainer.placed.marks import mark_of
from gpu_studio.trainer.placed.placing import PlacedModel
from gpu_studio.trainer.placed.program import PlacedProgram
from gpu_studio.trainer.placed.step_held import held_by
from gpu_studio.trainer.profiled import Executed, profiled
from gpu_studio.trainer.session import Session

WARM_STEPS = 4
LEAST_STEPS, MOST_STEPS = 4, 200
TARGET_SECONDS, REPETITIONS = 0.15, 9
"""Of so many short measurements the fastest counts: whatever else the machine does only makes them slower."""
LEAST_SHARE = 1 / 64
Spent = dict[tuple[str, str], float]
"""Seconds of a step by layer and pass."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """A step of `batch` samples: its seconds on the clock, those of each layer in each pass, and the bytes it held."""

    batch: int
    seconds: float
    spent: Spent
    held: int = 0


def measured(session: Session, batch: int) -> StepTimes:
    """Train real steps of `batch` samples of a placed session, and time them with and without the profiler."""
    sized, stream, steps = _warm(session, Cut(session.cut.samples, batch, 1))
    # Before the clock, because operations that were found to be cheap are noted by no profiler any more.
    with profiled() as executed:
        sized.program.train(stream, 0, steps)
    seconds = min(_timed(sized, stream, steps) for _ in range(REPETITIONS))
    seats = _placed(session).seats
    held = held_by(lambda: sized.program.train(stream, 0, 1), seats[0].home) if seats else 0
    return StepTimes(batch, seconds, _stretched(spent_in(executed, seats, steps), seconds), held)


def seconds_in_parts(session: Session, batch: int, micro_batches: int) -> float:
    """The time of a real step of `batch` samples in so many micro-batches, all on the session's one device."""
    sized, stream, steps = _warm(session, Cut(session.cut.samples, batch, micro_batches))
    return min(_timed(sized, stream, steps) for _ in range(REPETITIONS))


def share_of(small: StepTimes, large: StepTimes, micro_batches: int, seconds: float) -> float:
    """The part of the cores that one micro-batch as large as `small` occupies, if a step of several takes `seconds`.

    1 where they take as long as one after the other. Updates are done once, and by themselves.
    """
    alone = micro_batches * (small.seconds - _updates(small))
    return min(1.0, max(LEAST_SHARE, (seconds - _updates(large)) / alone)) if alone > 0 else 1.0


def line_through(
    small: StepTimes, large: StepTimes, paths: Iterable[str], share: float | None = None
) -> dict[str, LayerTime]:
    """For each layer the line through both measurements; one that would fall with the batch is level."""
    return {path: replace(_layer_time(small, large, path), share=share) for path in paths}


def spent_in(executed: Iterable[Executed], seats: Sequence[Seat], steps: int) -> Spent:
    """The seconds of one step that went into each layer and pass; what belongs to no layer is under ("", "").

    Of each operation the median is taken, because whatever else the machine does falls on few of its executions.
    """
    paths = {seat.number: seat.path for seat in seats}
    took: dict[str, list[float]] = {}
    for each in executed:
        if "/" in each.name:  # The others read data ahead, beside the step.
            took.setdefault(each.name, []).append(each.end - each.begin)
    spent: dict[tuple[str, str], float] = {}
    for name, times in took.items():
        mark = mark_of(name)
        key = ("", "") if mark is None else (paths.get(mark.seat, ""), mark.way)
        spent[key] = spent.get(key, 0.0) + median(times) * len(times) / steps
    return spent


def _program(session: Session, cut: Cut) -> Any:
    loss, seed = session.program.loss, session.plan.training.seed
    return PlacedProgram(_placed(session), session.optimizer, loss, session.meters, seed, cut, lambda _event: None)


def _placed(session: Session) -> PlacedModel:
    """The placed model of a session of the strategy `placed`."""
    if not isinstance(session.program, PlacedProgram):
        raise TypeError("Only the layers of a placed model can be told apart in a step.")
    return session.program.placed


def _warm(session: Session, cut: Cut) -> tuple[Session, Any, int]:
    """The session cut so, its stream, and how many steps to time, once everything has been compiled and allocated."""
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
    slope = max(0.0, (other - one) / (large.batch - small.batch)) if large.batch > small.batch else 0.0
    # Where noise would make the fixed part negative, the line goes through the larger, better measured size.
    fixed = max(0.0, other - slope * large.batch)
    return fixed, (other - fixed) / large.batch
