"""A run's numbers at one moment, among them the speed of each call of the compiled function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gpu_studio.common import figures
from gpu_studio.common.figures import metric_label, metric_names
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import Steps
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.series import Series
from gpu_studio.ui.train.earlier import Earlier

Row = tuple[str, str]
NONE_YET = "–"
IN_EARLIER = "In the earlier run"


@dataclass(frozen=True, slots=True)
class DeviceTable:
    """A row for each device.

    It has the device's name, and a value under each of the `heads`, which are a name and a unit.
    """

    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, head: str) -> dict[str, str]:
        """The values under a head, by device; none where there is no such column."""
        places = [place for place, (name, _) in enumerate(self.heads, start=1) if name == head]
        return {row[0]: row[place] for row in self.rows for place in places}

    def texts(self) -> Iterator[str]:
        """Each device in words: `GPU:0 in use 611 MiB, busy 71 %`."""
        for name, *values in self.rows:
            pairs = zip(self.heads, values, strict=True)
            yield f"{name} " + ", ".join(f"{head} {value} {unit}" for (head, unit), value in pairs)


@dataclass(frozen=True, slots=True)
class Readout:
    """A title, rows of a name and a value, a table of the devices, and what is marked then.

    `past` is a moment that somebody points at; else the figures are the newest.
    """

    title: str
    rows: tuple[Row, ...]
    devices: DeviceTable | None = None
    marked: tuple[str, ...] = ()
    past: bool = False

    @property
    def text(self) -> str:
        """All of it in one line, for screen readers."""
        texts = ", ".join(f"{name} {value}" for name, value in self.rows)
        devices = self.devices.texts() if self.devices else ()
        return f"{self.title}: " + "; ".join((texts, *devices, *self.marked))

    def lines(self) -> list[tuple[str, ...]]:
        """All of it as rows of cells, in a form for spreadsheets."""
        found: list[tuple[str, ...]] = [(self.title,), *self.rows]
        if self.devices is not None:
            heads = (f"{name} {unit}".rstrip() for name, unit in self.devices.heads)
            found += [("device", *heads), *self.devices.rows]
        return [*found, *((words,) for words in self.marked)]


def readout(
    history: History,
    calls: RunCalls,
    moment: float | None,
    metric: str | None,
    earlier: Earlier | None = None,
) -> Readout | None:
    """The numbers at `moment` seconds after the run's start, or the newest.

    None before the first step.

    `metric` is the name of the metric to tell besides the losses, without `val_`. Moments before
    the start are those of what is shown from `earlier` runs.
    """
    if moment is not None and moment < 0 and earlier is not None:
        return Readout(
            IN_EARLIER,
            _rows(earlier.history, RunCalls(), earlier.seconds + moment, metric),
            past=True,
        )
    if history.started is None or not len(history.losses):
        return None
    newest = history.last_time or history.started.time
    time = newest if moment is None else history.started.time + moment
    title = "Newest step" if moment is None else f"At {figures.clock(time)}"
    return Readout(title, _rows(history, calls, time, metric), past=moment is not None)


def _rows(history: History, calls: RunCalls, time: float, metric: str | None) -> tuple[Row, ...]:
    return (
        *_step_rows(history, time),
        *_epoch_rows(history, time, metric),
        *_pace_rows(history, calls, time),
    )


def _step_rows(history: History, time: float) -> tuple[Row, ...]:
    step = _at(history.losses, "step", time)
    loss = _at(history.losses, "loss", time)
    return (
        ("step", NONE_YET if step is None else figures.grouped(step)),
        ("loss", NONE_YET if loss is None else figures.metric(loss)),
    )


def _epoch_rows(history: History, time: float, metric: str | None) -> tuple[Row, ...]:
    """Return the validation loss and the metric at the last epoch's end.

    The metric is given for training and validation data.
    """
    known = history.epochs.metrics
    names = ["val_loss"] if "val_loss" in known else []
    if metric is not None:
        names += [name for name in (metric, f"val_{metric}") if name in known] or [metric]
    index = int(np.searchsorted(history.epochs.times, time, side="right")) - 1
    metrics = history.epochs.rows[index].metrics if index >= 0 else {}
    among = metric_names(known)
    texts = {name: figures.metric(metrics[name]) for name in names if name in metrics}
    return tuple((_label(name, among), texts.get(name, NONE_YET)) for name in names)


def _label(name: str, among: list[str]) -> str:
    bare = name.removeprefix("val_")
    return ("val " if bare != name else "") + metric_label(bare, among)


def _pace_rows(history: History, calls: RunCalls, time: float) -> tuple[Row, ...]:
    rate, call = _at(history.learning_rates, "value", time), calls.at(time)
    return (
        ("learning rate", NONE_YET if rate is None else figures.learning_rate(rate)),
        ("step time", NONE_YET if call is None else figures.span(call.step_seconds)),
        ("input wait", NONE_YET if call is None else figures.share(call.input_share)),
    )


def _at(series: Series, column: str, time: float) -> float | None:
    """The newest value of a column that was known at `time`; None if none was."""
    series = series.nearest(time)
    index = int(np.searchsorted(series.column("time"), time, side="right")) - 1
    return float(series.column(column)[index]) if index >= 0 else None


_MOST_CALLS = 1 << 16
_CALL_COLUMNS = ("time", "step", "input", "samples")


@dataclass(frozen=True, slots=True)
class CallFigures:
    """One call.

    It has seconds per step, the share (0 to 1) of the time spent waiting for data, and samples per
    second.
    """

    step_seconds: float
    input_share: float
    samples_per_second: float


class RunCalls:
    """The calls of a run in the order of their arrival."""

    def __init__(self) -> None:
        self._series = Series(*_CALL_COLUMNS, by="step", along="time", most=_MOST_CALLS)
        self._clock = SteadyClock()

    def add(self, event: Steps) -> None:
        """Add a call; one without steps or time is ignored."""
        self.add_all((event,))

    def add_all(self, reported: Iterable[Steps]) -> None:
        """Add calls, which is cheaper together than one by one."""
        calls = [call for call in reported if call.losses and call.seconds > 0]
        if calls:
            self._series.add(
                [self._clock.at(call.time, call.elapsed) for call in calls],
                [call.seconds / len(call.losses) for call in calls],
                [call.input_seconds / call.seconds for call in calls],
                [call.samples / call.seconds for call in calls],
            )

    def foresee(self, later: RunCalls) -> None:
        """Use the calls of `later`, which are still to be added, until they are."""
        self._series.foresee(*(later._series.column(name) for name in _CALL_COLUMNS))

    def at(self, time: float) -> CallFigures | None:
        """Return the newest call that had ended by `time`, in seconds since 1970.

        None if there is none.
        """
        index = int(np.searchsorted(self._series.column("time"), time, side="right")) - 1
        if index < 0:
            return None
        step, waiting, samples = (
            float(self._series.column(name)[index]) for name in _CALL_COLUMNS[1:]
        )
        return CallFigures(step, waiting, samples)
