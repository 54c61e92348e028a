"""What a row shows besides a run's events: the user's labels, and the cards' energy.

Each is read once per version of its files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from gpu_studio.runs.labels import NOTHING, Labels, labels_file, read_labels
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.runs.results.run_cards import uses_cards
from gpu_studio.runs.results.run_figures import joules_of
from gpu_studio.ui.runs.run_row import RunRow

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
