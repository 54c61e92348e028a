"""Read a run and the runs that it was resumed from as one training, from its first step.

Either all events are read, or one curve, thinned so that its peaks stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import (
    AnyEvent,
    Epoch,
    LearningRate,
    LineTail,
    RunDirectory,
    Steps,
    resumed_from,
)
from gpu_studio.contract.events import decode
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.series import Array, Series, extremes
from gpu_studio.runs.state import is_live


def read_history(run: RunDirectory, runs: Path | None = None) -> History:
    """Return all that is known of `run`, with its present state and what it inherited.

    `runs` is where its ancestors are looked for, by default beside `run`.
    """
    history = History()
    history.inherit_all(inherited_events(run, runs))
    # Checked before the events are read: a trainer that ends in between has then written so.
    live = is_live(run)
    history.apply_all(events_of(run))
    if not live:
        history.conclude_lost()
    return history


def events_of(run: RunDirectory) -> Iterator[AnyEvent]:
    """Yield the events of `run` so far, read in bounded batches."""
    for line in LineTail(run.events_file).read_all():
        event = decode(line)
        if event is not None:
            yield event


def inherited_events(run: RunDirectory, runs: Path | None = None) -> Iterator[AnyEvent]:
    """Yield what the ancestors of `run` trained before it resumed: for `History.inherit`."""
    folder = runs or run.path.parent
    for ancestor, end in reversed(_ancestors(run, folder)):
        for event in events_of(ancestor):
            kept = _until(event, end)
            if kept is not None:
                yield kept


def in_training_time(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """Yield the same events, each with the seconds trained by then as its time.

    So runs that were resumed days later follow each other directly.
    """
    seconds = 0.0
    for event in events:
        if isinstance(event, Steps):
            seconds += max(event.seconds, 0.0)
        yield replace(event, time=seconds, elapsed=0.0)


def ancestors(run: RunDirectory, runs: Path | None = None) -> list[tuple[RunDirectory, int]]:
    """Return the existing ancestors of `run`, nearest first, with the number of their steps used.

    `runs` is as in `read_history`.
    """
    return _ancestors(run, runs or run.path.parent)


def _ancestors(run: RunDirectory, runs: Path) -> list[tuple[RunDirectory, int]]:
    """Return the existing ancestors, nearest first, each with the number of its steps used."""
    found: list[tuple[RunDirectory, int]] = []
    seen = {run.id}
    end: int | None = None
    while (note := resumed_from(run)) and note.run not in seen:
        seen.add(note.run)
        run = RunDirectory(runs / Path(note.run).name)
        end = note.step if end is None else min(end, note.step)
        if not run.exists():
            break
        found.append((run, end))
    return found


def _until(event: AnyEvent, end: int) -> AnyEvent | None:
    """Return the part of `event` within the first `end` steps; None if there is none."""
    match event:
        case Steps():
            return _cut(event, end - event.first_step)
        case Epoch():
            return event if event.step <= end else None
        case LearningRate():
            return event if event.step < end else None
    return None


def _cut(event: Steps, count: int) -> Steps | None:
    if count >= len(event.losses):
        return event
    if count <= 0:
        return None
    part = count / len(event.losses)
    return replace(
        event,
        losses=event.losses[:count],
        samples=round(event.samples * part),
        seconds=event.seconds * part,
        input_seconds=event.input_seconds * part,
    )


LOSS: Final = "loss"
"""The loss of each step; every other name is a metric of the epochs."""
POINTS: Final = 1000
_KEPT: Final = 1 << 16
_BATCH: Final = 1 << 15
_STARTED, _STEPS, _EPOCH = (
    f'{{"event":"{kind}"'.encode() for kind in ("started", "steps", "epoch")
)


class Curve(NamedTuple):
    """Points in order; columns of shape (points,): steps trained, seconds trained by then, values.

    The seconds are wall time since the run's start; a resumed run continues from where its parent
    was.
    """

    steps: Array
    seconds: Array
    values: Array


NO_CURVE = Curve(*(np.zeros(0),) * 3)
"""Of a run that has no value, or cannot be read."""


def curve(
    run: RunDirectory, name: str = LOSS, points: int = POINTS, *, by_epoch: bool = False
) -> Curve:
    """Read a curve of `run`: `loss` of every step, or the metric `name` of every epoch.

    Empty if it has none.

    With `by_epoch` the loss too is that of every epoch.

    At most `points` points are returned (at least 2), the least and greatest of each stretch of
    steps; memory stays bounded however long the run is. Raises OSError if its events cannot be
    read.
    """
    series = Series("step", "seconds", "value", by="value", most=_KEPT)
    began = 0.0
    for part, end in [*reversed(ancestors(run)), (run, None)]:
        reader = _Reader(name, began, end, series, by_epoch or name != LOSS)
        reader.read(part)
        began = reader.reached
    columns = np.stack([series.column(column) for column in ("step", "seconds", "value")])
    return Curve(*thinned(columns, 2, points))


def thinned(points: Array, by: int, most: int) -> Array:
    """Return at most `most` (2 or more) of the points (shape (columns, points)), in order.

    Column 0 is the horizontal axis, and rises: in each of its equally long parts the points with
    the minimum and the maximum of column `by` are kept, so that every part of the curve has the
    same detail.
    """
    if points.shape[1] <= most:
        return points
    along = np.maximum.accumulate(points[0])
    ends = np.linspace(along[0], along[-1], max(1, most // 2) + 1)[1:-1]
    pieces = np.split(points, np.searchsorted(along, ends, side="right"), axis=1)
    # Two or fewer are their own extremes.
    return np.concatenate(
        [extremes(each, by, each.shape[1]) if each.shape[1] > 2 else each for each in pieces],
        axis=1,
    )


class _Reader:
    """Reads one run's part of a curve: its first `end` steps, or all if that is None.

    `began` are the seconds of training that it starts with; `reached` those at its last point.
    """

    def __init__(
        self, name: str, began: float, end: int | None, series: Series, by_epoch: bool
    ) -> None:
        self.reached = began
        self._name, self._began, self._end = name, began, end
        self._series = series
        self._wanted = (_STARTED, _EPOCH if by_epoch else _STEPS)
        self._started: float | None = None
        self._clock = SteadyClock()
        self._calls: list[tuple[int, int, float, float]] = []
        self._losses: list[float | None] = []

    def read(self, run: RunDirectory) -> None:
        """Put the points into the series."""
        for line in LineTail(run.events_file).read_all():
            if line.startswith(self._wanted):
                self._take(decode(line))
        self._flush()

    def _take(self, event: AnyEvent | None) -> None:
        if event is None:
            return
        time = self._clock.at(event.time, event.elapsed)
        if self._started is None:
            self._started = time
        if isinstance(event, Steps):
            self._take_steps(event, time)
        elif isinstance(event, Epoch):
            self._take_epoch(event, time)

    def _seconds(self, time: float) -> float:
        self.reached = max(self.reached, self._began + time - (self._started or 0.0))
        return self.reached

    def _take_epoch(self, event: Epoch, time: float) -> None:
        if self._name in event.metrics and (self._end is None or event.step <= self._end):
            self._series.add(event.step, self._seconds(time), event.metrics[self._name])

    def _take_steps(self, event: Steps, time: float) -> None:
        whole = len(event.losses)
        count = whole if self._end is None else min(whole, self._end - event.first_step)
        if count <= 0:
            return
        each = event.seconds / whole
        self._calls.append(
            (event.first_step, count, self._seconds(time - (whole - count) * each), each)
        )
        self._losses += event.losses[:count]
        if len(self._losses) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        """Add the calls read so far to the series, each call's steps evenly over its time."""
        if not self._calls:
            return
        first, count, end, each = (np.array(column) for column in zip(*self._calls, strict=True))
        after = np.cumsum(count)
        place = np.arange(after[-1], dtype=np.float64)
        steps = place + np.repeat(first - (after - count), count) + 1
        seconds = np.repeat(end, count) - (np.repeat(after, count) - 1 - place) * np.repeat(
            each, count
        )
        self._series.add(steps, seconds, np.array(self._losses, dtype=np.float64))
        self._calls, self._losses = [], []
