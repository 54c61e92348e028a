"""Read in the background what the Runs page shows.

The list of runs is read repeatedly while it is visible, with the user's labels and the cards'
energy, each once per version of its files. The figures and curves of the selected runs are read
one after another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.runs.catalogue import Catalogue, purge
from gpu_studio.runs.labels import NOTHING, Labels, labels_file, read_labels
from gpu_studio.runs.lineage import Curve, curve
from gpu_studio.runs.reading.summary import Summary, why_unreadable
from gpu_studio.runs.results.run_cards import uses_cards
from gpu_studio.runs.results.run_figures import RunFigures, figures_of, joules_of
from gpu_studio.ui.kit import BackgroundTask, Report
from gpu_studio.ui.runs.run_rows import RunRow

EVERY_MS = 2000


class RunsReader(QObject):
    """`rows(list)` brings the runs of the directory; `failed(str)` says why it cannot be read.

    What the cards drew is added up from recordings that may be long: it comes with later `rows`.
    """

    rows = Signal(object)
    failed = Signal(str)

    def __init__(self, runs: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalogue = Catalogue(runs)
        self._extras = RunExtras()
        self._again = False
        self._tidying = BackgroundTask("tidying", self)
        self._reading = BackgroundTask("runs", self)
        self._reading.done.connect(self._deliver)
        self._energy = BackgroundTask("energy", self)
        self._energy.done.connect(self.read)
        self.timer = QTimer(self)
        self.timer.setInterval(EVERY_MS)
        self.timer.timeout.connect(self.read)

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._reading.busy

    def tidy(self) -> None:
        """Remove for good what was deleted long ago."""
        self._tidying.start(self._purge)

    def watch(self) -> None:
        """Read now, and every two seconds from now on."""
        self.timer.start()
        self.read()

    def rest(self) -> None:
        """Stop reading until asked to."""
        self.timer.stop()

    def read(self) -> None:
        """Read once; if a reading is under way, once more after it."""
        if self.busy:
            self._again = True
        else:
            self._reading.start(self._rows)

    def close(self) -> None:
        """Stop reading. The thread finishes the recording that it is reading, and then ends."""
        self.rest()
        self._energy.close(wait=False)
        self._reading.close()
        self._tidying.close()

    def _rows(self) -> list[RunRow] | OSError:
        try:
            return self._extras.rows(self._catalogue.summaries())
        except OSError as error:
            return error

    def _purge(self) -> None:
        # The next start tries again what cannot be removed now.
        with suppress(OSError):
            purge(self._catalogue.runs)

    def _deliver(self, found: list[RunRow] | OSError) -> None:
        if isinstance(found, OSError):
            self.failed.emit(
                f"The runs in {self._catalogue.runs} cannot be read: {found.strerror or found}."
            )
        else:
            self.rows.emit(found)
            self._read_energy()
        if self._again:
            self._again = False
            self.read()

    def _read_energy(self) -> None:
        if not self._energy.busy and self._extras.behind:
            self._energy.start_work(self._add_up)

    def _add_up(self, _report: Report, cancelled: threading.Event) -> None:
        self._extras.read_energy(cancelled.is_set)


# How long recordings are read before the results so far are shown.
_SLICE_S = 0.5
# The sampler ends shortly after its run.
_STILL_WRITTEN_NS = 3_000_000_000
_Version = tuple[int, int]


class RunExtras:
    """Remembers what it read of each run for as long as its files stay the same.

    `rows` is for one thread at a time; `read_energy` may go on in another one meanwhile.
    """

    def __init__(self) -> None:
        self._labels: dict[str, tuple[_Version, Labels]] = {}
        self._joules: dict[str, tuple[_Version | None, float | None]] = {}
        self._missing: tuple[Summary, ...] = ()

    @property
    def behind(self) -> bool:
        """Whether `read_energy` has recordings to read."""
        return bool(self._missing)

    def rows(self, summaries: Iterable[Summary]) -> list[RunRow]:
        """Return the runs as rows, with the energy figures that are known so far."""
        rows = [RunRow(summary, self._labels_of(summary)) for summary in summaries]
        self._forget({row.id for row in rows})
        self._missing = tuple(row.summary for row in rows if self._unread(row.summary))
        return [self._with_joules(row) for row in rows]

    def read_energy(self, stop: Callable[[], bool]) -> None:
        """Read recordings for about half a second, the newest runs first.

        No further one is begun after `stop`.
        """
        end = time.monotonic() + _SLICE_S
        for summary in self._missing:
            if stop() or time.monotonic() > end:
                return
            version = _version(summary.directory.hardware_file)
            # Noted before reading, so that a failure does not cause endless readings.
            self._joules[summary.id] = version, None
            self._joules[summary.id] = version, _joules(summary)

    def _labels_of(self, summary: Summary) -> Labels:
        version = _version(labels_file(summary.directory))
        if version is None:
            return NOTHING
        known = self._labels.get(summary.id)
        if known is None or known[0] != version:
            known = self._labels[summary.id] = version, read_labels(summary.directory)
        return known[1]

    def _unread(self, summary: Summary) -> bool:
        """Return whether an ended run has a recording whose present version was not read."""
        if summary.live or not uses_cards(summary.devices):
            return False
        version = _version(summary.directory.hardware_file)
        if version is None or time.time_ns() - version[1] < _STILL_WRITTEN_NS:
            return False
        return self._joules.get(summary.id, (None, None))[0] != version

    def _with_joules(self, row: RunRow) -> RunRow:
        known = self._joules.get(row.id)
        return row if known is None else RunRow(row.summary, row.labels, known[1])

    def _forget(self, others: set[str]) -> None:
        self._labels = {name: known for name, known in self._labels.items() if name in others}
        self._joules = {name: known for name, known in self._joules.items() if name in others}


def _version(path: Path) -> _Version | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _joules(summary: Summary) -> float | None:
    """Return the energy of the run's cards together; None unless it is known for each."""
    with suppress(OSError):
        return joules_of(summary)
    return None


# A live run is read again only after this many times the duration of the last reading.
_FIGURES_REST = 50.0
FigureKey = tuple[str, str]
"""The id of a run, and which curve of it; empty for its figures."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What was read: `found` is None where it could not be, and `why` says why."""

    found: Any = None
    why: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Known:
    result: _Result
    summary: Summary
    read_at: float = field(default_factory=time.monotonic)

    def old(self, summary: Summary) -> bool:
        """Whether the run has continued since, and it was read long enough ago."""
        if self.summary is summary or self.summary == summary:
            return False
        return time.monotonic() - self.read_at >= _FIGURES_REST * self.result.seconds


class FiguresReader(QObject):
    """Holds the figures of the runs last requested, and one curve of each.

    `changed` fires when more of them have arrived.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: dict[str, Summary] = {}
        self._names: tuple[str, ...] = ("",)
        self._known: dict[FigureKey, _Known] = {}
        self._being_read: tuple[FigureKey, Summary] | None = None
        self._task = BackgroundTask("figures", self)
        self._task.done.connect(self._take)
        self._task.failed.connect(self._take_failure)

    def want(self, runs: Sequence[Summary], metric: str = "") -> None:
        """Request the figures of these runs, and the curve of this metric if one is named."""
        self._runs = {run.id: run for run in runs}
        self._names = ("", metric) if metric else ("",)
        self._known = {key: known for key, known in self._known.items() if key[0] in self._runs}
        self._go_on()

    @property
    def waiting(self) -> int:
        """The number of figures and curves still to come."""
        return sum(self._wanted(key) is not None and key not in self._known for key in self._keys())

    def figures(self, run: str) -> RunFigures | None:
        """Return the figures of a run; None until they are there."""
        known = self._known.get((run, ""))
        return known.result.found if known else None

    def curve(self, run: str, metric: str) -> Curve | None:
        """Return a curve of a run; None until it is there."""
        known = self._known.get((run, metric))
        return known.result.found if known else None

    def why_not(self, run: str) -> str:
        """Why the figures of a run cannot be read; empty if they can, or are still being read."""
        known = self._known.get((run, ""))
        return known.result.why if known else ""

    def close(self) -> None:
        """Stop reading. The reading under way may be long, and ends by itself."""
        self._task.close(wait=False)
        self._being_read = None

    def _keys(self) -> list[FigureKey]:
        return [(run, name) for name in self._names for run in self._runs]

    def _wanted(self, key: FigureKey) -> Summary | None:
        """Return the run to read for this; None if what is known will do."""
        known, summary = self._known.get(key), self._runs[key[0]]
        return summary if known is None or known.old(summary) else None

    def _go_on(self) -> None:
        if self._being_read is not None:
            return
        for key in self._keys():
            summary = self._wanted(key)
            if summary is not None:
                self._being_read = key, summary
                self._task.start(partial(_read_figures, summary, key[1]))
                return

    def _take_failure(self) -> None:
        self._take(_Result(why="This run could not be read."))

    def _take(self, result: _Result) -> None:
        if self._being_read is None:
            return
        (key, summary), self._being_read = self._being_read, None
        if key[0] in self._runs:
            self._known[key] = _Known(result, summary)
        self._go_on()
        self.changed.emit()


def _read_figures(summary: Summary, name: str) -> _Result:
    began = time.perf_counter()
    read: Callable[[], object] = (
        (lambda: curve(summary.directory, name)) if name else partial(figures_of, summary.directory)
    )
    try:
        found = read()
    except OSError as error:
        gone = not summary.directory.exists()
        why = (
            "This run is no longer there."
            if gone
            else f"{why_unreadable(summary.directory, error)}."
        )
        return _Result(None, why, time.perf_counter() - began)
    return _Result(found, "", time.perf_counter() - began)
