"""A run in one row: what a list of runs shows, without folding every step of every run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.epochs import Best, EpochTable, higher_is_better
from gpu_studio.runs.events import State, decode
from gpu_studio.runs.history import History
from gpu_studio.runs.inheritance import resumed_from
from gpu_studio.runs.lines import LineTail
from gpu_studio.runs.state import is_live

# Of these only the newest says anything that a row needs; they are nearly all of the file.
_FREQUENT = tuple(f'{{"event":"{kind}"'.encode() for kind in ("steps", "memory", "learning_rate"))
_ID_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Summary:
    """One run. Times are in seconds (`created` since 1970, UTC); None is not known (yet).

    `best` is the best epoch by the metric that says most: a validation accuracy, else the validation loss, else any.
    `curve` holds that metric of each epoch; `peaks` the peak bytes of each device.
    """

    directory: RunDirectory
    plan: str
    state: State
    reason: str
    created: float
    seconds: float | None
    epoch: int
    epochs_total: int | None
    step: int
    steps_total: int | None
    best: Best | None
    curve: tuple[float, ...]
    peaks: dict[str, int]
    strategy: str
    resumed_from: str | None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.directory.id

    @property
    def live(self) -> bool:
        """Whether the trainer is at work."""
        return self.state not in ("finished", "failed", "lost")


def summarise(run: RunDirectory) -> Summary:
    """Read `run` for a list. Raises OSError if its files cannot be read."""
    return Skimmer(run).summary()


class Skimmer:
    """Folds the events of one run, of the frequent kinds only the newest of each, and goes on where it stopped."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._history = History()
        self._lines = LineTail(run.events_file)
        self._newest: dict[bytes, bytes] = {}

    def summary(self) -> Summary:
        """Return how the run stands now. Raises OSError if its files cannot be read."""
        # Asked before reading: a trainer that ends in between has said its last word in what is read.
        live = is_live(self._run)
        self._read()
        if not live:
            self._history.conclude_lost("the trainer ended without a word")
        return _summary(self._run, self._history)

    def _read(self) -> None:
        for line in self._lines.read_all():
            kind = next((kind for kind in _FREQUENT if line.startswith(kind)), None)
            if kind is None:
                self._take_newest()
                self._take(line)
            else:
                self._newest[kind] = line
        self._take_newest()

    def _take_newest(self) -> None:
        for line in self._newest.values():
            self._take(line)
        self._newest.clear()

    def _take(self, line: bytes) -> None:
        event = decode(line)
        if event is not None:
            self._history.apply(event)


def headline(epochs: EpochTable) -> str | None:
    """Choose the metric that says most about a run; None before the end of the first epoch."""
    names = epochs.metrics
    rising = [name for name in names if higher_is_better(name)]
    ranked = [name for name in rising if name.startswith("val_")] + rising + ["val_loss", "loss"]
    return next((name for name in ranked if name in names), names[0] if names else None)


def created_at(run: RunDirectory) -> float:
    """Return when `run` was made, in seconds since 1970 (UTC): by its id, else by its directory."""
    try:
        return datetime.strptime(run.id.partition("-")[0], _ID_TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return run.path.stat().st_mtime


def _summary(run: RunDirectory, history: History) -> Summary:
    metric = headline(history.epochs)
    parent = resumed_from(run)
    return Summary(
        directory=run,
        plan=history.plan or plan_name(run),
        state=history.state,
        reason=history.reason,
        created=created_at(run),
        seconds=history.seconds,
        epoch=history.epoch,
        epochs_total=history.epochs_total,
        step=history.step,
        steps_total=history.steps_total,
        best=history.epochs.best(metric) if metric else None,
        curve=tuple(history.epochs.metric(metric).tolist()) if metric else (),
        peaks={device: memory.peak for device, memory in history.memory.items()},
        strategy=history.devices.strategy if history.devices else "",
        resumed_from=parent.run if parent else None,
    )


def plan_name(run: RunDirectory) -> str:
    """Return the plan's name as the run's plan file says it; the run's id if that cannot be read."""
    try:
        name = tomllib.loads(run.plan_file.read_text(encoding="utf-8")).get("name", run.id)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return run.id
    return str(name)
