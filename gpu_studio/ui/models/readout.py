"""What a run's numbers were at one moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.runs.history import History
from gpu_studio.runs.series import Series
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.calls import Calls

Row = tuple[str, str]
_NONE_YET = "–"


@dataclass(frozen=True, slots=True)
class Readout:
    """A title, and rows of a name and a value."""

    title: str
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """All of it in one line, for who cannot see it."""
        return f"{self.title}: " + ", ".join(f"{name} {value}" for name, value in self.rows)


def readout(history: History, calls: Calls, moment: float | None, metric: str | None) -> Readout | None:
    """The numbers at `moment` seconds after the run's start, or the newest; None before the first step.

    `metric` is the name of the metric to tell besides the losses, without `val_`.
    """
    if history.started is None or not len(history.losses):
        return None
    newest = history.last_time or history.started.time
    time = newest if moment is None else history.started.time + moment
    title = "Newest step" if moment is None else f"At {figures.clock(time)}"
    return Readout(
        title, (*_step_rows(history, time), *_epoch_rows(history, time, metric), *_pace_rows(history, calls, time))
    )


def _step_rows(history: History, time: float) -> tuple[Row, ...]:
    step = _at(history.losses, "step", time)
    loss = _at(history.losses, "loss", time)
    return (
        ("step", _NONE_YET if step is None else figures.count(step)),
        ("loss", _NONE_YET if loss is None else figures.value(loss)),
    )


def _epoch_rows(history: History, time: float, metric: str | None) -> tuple[Row, ...]:
    """The validation loss and the metric at the last epoch's end, of the validation data where there is any."""
    known = history.epochs.metrics
    names = ["val_loss"] if "val_loss" in known else []
    if metric is not None:
        names.append(f"val_{metric}" if f"val_{metric}" in known else metric)
    index = int(np.searchsorted(history.epochs.times, time, side="right")) - 1
    metrics = history.epochs.rows[index].metrics if index >= 0 else {}
    among = figures.metric_names(known)
    return tuple(
        (_label(name, among), figures.value(metrics[name]) if name in metrics else _NONE_YET) for name in names
    )


def _label(name: str, among: list[str]) -> str:
    bare = name.removeprefix("val_")
    return ("val " if bare != name else "") + figures.metric_label(bare, among)


def _pace_rows(history: History, calls: Calls, time: float) -> tuple[Row, ...]:
    rate, call = _at(history.learning_rates, "value", time), calls.at(time)
    return (
        ("learning rate", _NONE_YET if rate is None else figures.rate(rate)),
        ("step time", _NONE_YET if call is None else figures.milliseconds(call.step_seconds)),
        ("input wait", _NONE_YET if call is None else figures.percent(call.input_share)),
    )


def _at(series: Series, column: str, time: float) -> float | None:
    """The newest value of a column that was known at `time`; None if none was."""
    index = int(np.searchsorted(series.column("time"), time, side="right")) - 1
    return float(series.column(column)[index]) if index >= 0 else None
