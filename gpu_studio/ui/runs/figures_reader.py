"""Read the figures and curves of the selected runs, one after another, in the background."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from gpu_studio.runs.reading.curves import Curve, curve
from gpu_studio.runs.reading.summary import Summary, why_unreadable
from gpu_studio.runs.results.run_figures import RunFigures, figures_of
from gpu_studio.ui.kit.task import BackgroundTask

# A live run is read again only after this many times the duration of the last reading.
_REST = 50.0
Key = tuple[str, str]
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
        return time.monotonic() - self.read_at >= _REST * self.result.seconds


class FiguresReader(QObject):
    """Holds the figures of the runs last requested, and one curve of each.

    `changed` fires when more of them have arrived.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: dict[str, Summary] = {}
        self._names: tuple[str, ...] = ("",)
        self._known: dict[Key, _Known] = {}
        self._being_read: tuple[Key, Summary] | None = None
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

    def _keys(self) -> list[Key]:
        return [(run, name) for name in self._names for run in self._runs]

    def _wanted(self, key: Key) -> Summary | None:
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
                self._task.start(partial(_read, summary, key[1]))
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


def _read(summary: Summary, name: str) -> _Result:
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
