"""A run in one line: how far, how fast, how long still; or how it ended."""

from __future__ import annotations

from gpu_studio.runs.events import Finished
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.wording import UNKNOWN
from gpu_studio.ui.models import figures
from gpu_studio.ui.units import duration

_SEPARATOR = " · "
_TEST = "test_"


def headline(history: History, left: str = UNKNOWN, *, short: bool = False) -> str:
    """What stands beside the name of the run, with the time that is `left`; a `short` one leaves the steps out."""
    if history.finished is not None:
        return _finished(history, history.finished)
    if history.state in ("failed", "lost"):
        return f"ended {history.reached}"
    if history.model is None:
        return "starting TensorFlow…" if history.devices is None else "building the model…"
    return _SEPARATOR.join(filter(None, (_place(history, short=short), _speed(history), _left(history, left))))


def _place(history: History, *, short: bool = False) -> str:
    total = f" of {figures.count(history.epochs_total)}" if history.epochs_total else ""
    step = "" if short else f"{_SEPARATOR}step {figures.count(history.step)}"
    return f"epoch {figures.count(max(history.epoch, 1))}{total}{step}"


def _speed(history: History) -> str:
    speed = history.samples_per_second
    return "" if speed is None else f"{figures.whole(speed)} samples/s"


def _left(history: History, left: str) -> str:
    if history.state == "stopping":
        return ""
    return f"time left {UNKNOWN}" if left == UNKNOWN else f"{left} left"


def _finished(history: History, event: Finished) -> str:
    reached = history.reached
    # That it is finished, or stopped, stands beside this already.
    how = {
        "completed": "",
        "early_stopping": f"ended early {reached}",
        "stopped": f"{reached}, with a checkpoint",
        "stopped_now": f"{reached}, without a checkpoint",
    }[event.reason]
    test = _test_figures(event.metrics)
    # As everywhere else: with what the trainer took to start.
    took = duration(event.seconds if history.seconds is None else history.seconds)
    return _SEPARATOR.join(filter(None, (how, *test, f"took {took}")))


def _test_figures(metrics: dict[str, float | None]) -> list[str]:
    """The metrics of the test data, the loss last."""
    test = {name.removeprefix(_TEST): number for name, number in metrics.items() if name.startswith(_TEST)}
    ordered = sorted(test, key=lambda name: name == "loss")
    return [f"test {figures.metric_label(name, test)} {figures.value(test[name])}" for name in ordered]
