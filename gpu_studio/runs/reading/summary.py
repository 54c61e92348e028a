"""A run in one row, for lists of runs, without folding every step of every run.

The summaries of ended runs are cached, so that a folder of a thousand runs is listed at once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from platformdirs import user_cache_path

from gpu_studio import __version__
from gpu_studio.contract import (
    ENDED,
    AnyEvent,
    Devices,
    LineTail,
    RunDirectory,
    State,
    cluster_file,
    lock,
    make_private_directory,
    read_json,
    resumed_from,
    write_private,
)
from gpu_studio.contract.directory import ID_TIME
from gpu_studio.contract.events import decode
from gpu_studio.runs.labels import number_of, plan_name
from gpu_studio.runs.reading.epochs import BestValue, EpochTable, higher_is_better
from gpu_studio.runs.reading.progress import reached, trained
from gpu_studio.runs.reading.workers import hosts_of, where_words
from gpu_studio.runs.state import is_live

if TYPE_CHECKING:
    from gpu_studio.runs.reading.history import History

# A row needs only the newest of these kinds, which make up nearly all of the file.
_FREQUENT: Final = frozenset((b"steps", b"memory", b"learning_rate", b"workers"))
# These are independent of the newest of the frequent kinds, whichever came first.
_BESIDE: Final = frozenset((b"epoch", b"checkpoint", b"log", b"warning"))
_BEFORE_KIND: Final = len(b'{"event":"')
_TOGETHER: Final = 512
_ENDINGS: Final = {"early_stopping": "early stopping", "stopped_now": "without a checkpoint"}


@dataclass(frozen=True, slots=True)
class Summary:
    """One run. Times are in seconds (`created` since 1970, UTC); None is unknown (yet).

    `created` is of its id, by which runs follow one another, and `began` of its trainer's clock.
    `best` is the best epoch by the most informative metric: a validation accuracy, else the
    validation loss, else any. `curve` has that metric of each epoch, `losses` the validation loss,
    else the loss; `peaks` the peak bytes of each device. `model` is the name of the built model,
    empty before there is one, `devices` what TensorFlow saw. `number` distinguishes the run in its
    folder. `practice` are the practice cards, `4 × 2 GiB`; empty for real ones. `hosts` are the
    machines that it trained on. `job` is the number that Slurm gave the job of a run that is lost:
    nobody may have ended it; `left` says that it is still there, and `reason` how. `problem` says
    why the run cannot be read, if so: then nothing else is known, and `state` is `lost`.
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
    best: BestValue | None
    curve: tuple[float, ...]
    peaks: dict[str, int]
    strategy: str
    resumed_from: str | None
    losses: tuple[float, ...] = ()
    model: str = ""
    devices: Devices | None = None
    number: int | None = None
    problem: str = ""
    practice: str = ""
    hosts: tuple[str, ...] = ()
    job: str = ""
    left: bool = False
    began: float | None = None

    @property
    def started(self) -> float:
        """When it started, in seconds since 1970 (UTC).

        An id lies ahead of the clock where that had been set back (`new_id`).
        """
        return self.created if self.began is None else min(self.created, self.began)

    @property
    def standing(self) -> str:
        """The state as a word; `unreadable` if it is unknown."""
        return "unreadable" if self.problem else self.state

    @property
    def state_words(self) -> str:
        """The state and its reason.

        `failed · out of memory on GPU:1`, `finished · early stopping`.
        """
        if self.state in ("failed", "lost"):
            ending = self.reason
        else:
            ending = "" if self.live else _ENDINGS.get(self.reason, "")
        if self.state == "starting":
            ending = self.reason
        return f"{self.standing} · {ending}" if ending else self.standing

    @property
    def where(self) -> str:
        """Where it trains, or did: `this machine`, `n0 and n1`; empty until it is known."""
        return where_words(self.hosts)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.directory.id

    @property
    def peaks_at_work(self) -> dict[str, int]:
        """The peaks without those of GPUs that the run saw and did not train on."""
        at_work = self.devices.at_work if self.devices is not None else frozenset(self.peaks)
        return {
            device: peak
            for device, peak in self.peaks.items()
            if device in at_work or not device.startswith("GPU")
        }

    @property
    def reached(self) -> str:
        """How far the training came, in words: `after 35 of 400 epochs and 14 steps`."""
        return reached(self.step, self.steps_per_epoch, self.epochs_total)

    @property
    def trained(self) -> str:
        """How much was trained, in words: `35 of 400 epochs and 14 steps`.

        Empty before the first step.
        """
        return trained(self.step, self.steps_per_epoch, self.epochs_total)

    @property
    def steps_per_epoch(self) -> int | None:
        """The global batches of an epoch; None until the model is built."""
        return (
            self.steps_total // self.epochs_total
            if self.steps_total and self.epochs_total
            else None
        )

    @property
    def live(self) -> bool:
        """Whether the trainer is running."""
        return self.state not in ENDED


def summarise(run: RunDirectory) -> Summary:
    """Read `run` for a list. Raises OSError if its files cannot be read."""
    return Skimmer(run).summary()


def unreadable(run: RunDirectory, error: Exception) -> Summary:
    """The summary of a run that cannot be read, for this reason."""
    try:
        created = created_at(run)
    except OSError:
        created = 0.0
    return Summary(
        directory=run,
        plan=plan_name(run),
        state="lost",
        reason=(problem := why_unreadable(run, error)),
        created=created,
        seconds=None,
        epoch=0,
        epochs_total=None,
        step=0,
        steps_total=None,
        best=None,
        curve=(),
        peaks={},
        strategy="",
        resumed_from=None,
        problem=problem,
    )


def why_unreadable(run: RunDirectory, error: Exception) -> str:
    """Why `run` cannot be read, in a few words; files of its folder are named relatively."""
    if not isinstance(error, OSError) or not error.strerror:
        return f"{type(error).__name__}: {error}"
    if not error.filename:
        return error.strerror
    file = Path(os.fsdecode(error.filename))
    name = file.relative_to(run.path) if file.is_relative_to(run.path) else file
    return f"{name}: {error.strerror}"


def _why_lost(run: RunDirectory) -> str:
    """Why no event ends `run`, in a clause: in the trainer's own words where the disk was full."""
    words = lock.last_words(run.lock_file).rstrip(".")
    return words[:1].lower() + words[1:] if words else "the trainer ended without a word"


class Skimmer:
    """Folds the events of one run incrementally, using only the newest of each frequent kind."""

    def __init__(self, run: RunDirectory) -> None:
        # Imported here, with NumPy: runs whose summaries are kept are listed without either.
        from gpu_studio.runs.reading.history import History

        self.run = run
        self._history = History()
        self._lines = LineTail(run.events_file)
        self._newest: dict[bytes, tuple[int, int, bytes]] = {}
        self._batch: list[AnyEvent] = []

    @property
    def history(self) -> History:
        """The history as of the last read, with only the newest of each frequent kind."""
        return self._history

    def summary(self) -> Summary:
        """Return the run's present summary. Raises OSError if its files cannot be read."""
        # Checked before reading: a trainer that ends in between has then written its final event.
        live = is_live(self.run)
        self._read()
        if not live:
            self._history.conclude_lost(_why_lost(self.run))
        return _summary(self.run, self._history)

    def _read(self) -> None:
        for number, line in enumerate(self._lines.read_all()):
            kind = line[_BEFORE_KIND : line.find(b'"', _BEFORE_KIND)]
            if kind in _FREQUENT:
                self._newest[kind] = number, len(self._batch), line
            else:
                self._take(line, alone=kind not in _BESIDE)
        self._pour()

    def _take(self, line: bytes, *, alone: bool) -> None:
        if alone or len(self._batch) >= _TOGETHER:
            self._pour()
        event = decode(line)
        if event is not None:
            self._batch.append(event)

    def _pour(self) -> None:
        """Give the history what has come, with the newest of each frequent kind in its place."""
        # From the last to the first, so that the places of those before stay what they are.
        for _, place, line in sorted(self._newest.values(), reverse=True):
            event = decode(line)
            if event is not None:
                self._batch.insert(place, event)
        self._history.apply_all(self._batch)
        self._newest.clear()
        self._batch.clear()


def headline(epochs: EpochTable) -> str | None:
    """Choose the most informative metric of a run; None before the end of the first epoch."""
    names = epochs.metrics
    rising = [name for name in names if higher_is_better(name)]
    ranked = [name for name in rising if name.startswith("val_")] + rising + ["val_loss", "loss"]
    return next((name for name in ranked if name in names), names[0] if names else None)


def created_at(run: RunDirectory) -> float:
    """Return when `run` was created, in seconds since 1970 (UTC): by its id, or its directory."""
    try:
        return datetime.strptime(run.id.partition("-")[0], ID_TIME).replace(tzinfo=UTC).timestamp()
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
        losses=_losses(history.epochs),
        model=history.model.name if history.model else "",
        devices=history.devices,
        number=number_of(run),
        practice=history.practice,
        hosts=hosts_of(history.workers, history.started),
        job=cluster_file.job_of(run) if history.state == "lost" else "",
        began=history.started.time if history.started else None,
    )


def _losses(epochs: EpochTable) -> tuple[float, ...]:
    name = "val_loss" if "val_loss" in epochs.metrics else "loss"
    return tuple(epochs.metric(name).tolist())


WORTH_BYTES: Final = 8 * 1024 * 1024
"""Bytes of events that a program has to read later before it writes anew what came of them."""
EventsVersion = tuple[int, int]
"""The size of a run's events in bytes and their last change in ns; an ended run keeps both."""
KnownSummaries = dict[str, tuple[EventsVersion, Summary]]
_LARGEST_CACHE: Final = 256 * 1024 * 1024
_CACHE_FORMAT: Final = 2


class _CacheFile(msgspec.Struct):
    """The content of the file: who wrote it, of which folder, and the summaries by run id."""

    written_by: list[str]
    folder: str
    known: KnownSummaries


def load_summaries(runs: Path) -> KnownSummaries:
    """The cached summaries of this folder; none if unreadable or written by another version."""
    try:
        kept = read_json(cache_file(runs), _decoder.decode, _LARGEST_CACHE)
    except OSError:
        return {}
    if kept.written_by != _cache_writer() or kept.folder != _as_text(runs):
        return {}
    return kept.known


def keep_summaries(runs: Path, known: Mapping[str, tuple[EventsVersion, Summary]]) -> None:
    """Replace the cache by these. A failure is ignored: they are then read again.

    What cannot be written down is left out, as of a run whose name is not UTF-8, or whose files are
    of a time before or after all that a clock counts.
    """
    try:
        text = _encoded(runs, known)
    except _NO_TEXT:
        text = _encoded(runs, {name: each for name, each in known.items() if _has_text(each)})
    try:
        make_private_directory(cache_file(runs).parent)
        write_private(cache_file(runs), text)
    except OSError:
        return


_NO_TEXT: Final = (ValueError, OverflowError)


def _encoded(runs: Path, known: Mapping[str, tuple[EventsVersion, Summary]]) -> bytes:
    return _encoder.encode(_CacheFile(_cache_writer(), _as_text(runs), dict(known)))


def _as_text(folder: Path) -> str:
    return os.fsencode(folder).decode("utf-8", "replace")


def _has_text(known: tuple[EventsVersion, Summary]) -> bool:
    try:
        _encoder.encode(known)
    except _NO_TEXT:
        return False
    return True


def _cache_writer() -> list[str]:
    return [str(_CACHE_FORMAT), __version__, *(field.name for field in fields(Summary))]


def cache_file(runs: Path) -> Path:
    """The file that keeps the summaries of the runs in this folder."""
    digest = hashlib.sha256(str(runs).encode("utf-8", "surrogateescape")).hexdigest()
    return Path(user_cache_path("gpu-studio")) / "summaries" / f"{digest[:32]}.msgpack"


def _path_as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _text_as_path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


_encoder = msgspec.msgpack.Encoder(enc_hook=_path_as_text)
_decoder = msgspec.msgpack.Decoder(_CacheFile, dec_hook=_text_as_path)
