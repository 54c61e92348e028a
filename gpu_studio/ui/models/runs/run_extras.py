"""What a row shows beside a run's events: what a person wrote on it, and what its cards drew. Read once a version."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from gpu_studio.runs.labels import NOTHING, Labels, labels_file, read_labels
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.runs.results.run_cards import uses_cards
from gpu_studio.runs.results.run_figures import joules_of
from gpu_studio.ui.models.runs.run_row import RunRow

# How long recordings are read before what is known by then is shown.
_SLICE_S = 0.5
# The sampler ends a moment after its run.
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
        """Whether there are recordings that `read_energy` has to read yet."""
        return bool(self._missing)

    def rows(self, summaries: Iterable[Summary]) -> list[RunRow]:
        """The runs as rows, with as much of what their cards drew as is known by now."""
        rows = [RunRow(summary, self._labels_of(summary)) for summary in summaries]
        self._forget({row.id for row in rows})
        self._missing = tuple(row.summary for row in rows if self._unread(row.summary))
        return [self._with_joules(row) for row in rows]

    def read_energy(self, stop: Callable[[], bool]) -> None:
        """Read recordings for about half a second, those of the newest runs first; no further one after `stop`."""
        end = time.monotonic() + _SLICE_S
        for summary in self._missing:
            if stop() or time.monotonic() > end:
                return
            version = _version(summary.directory.hardware_file)
            # Noted before: whatever happens while it is read, it is not read again and again.
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
        """Whether the recording of a run that has ended is there and was not read as it is now."""
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
    """What the run's cards drew together; None unless it is known of each."""
    with suppress(OSError):
        return joules_of(summary)
    return None
