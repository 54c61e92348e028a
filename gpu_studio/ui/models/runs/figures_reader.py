"""The figures and curves of the runs that are selected, read one after another beside the window's thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.runs.reading.curves import Curve, curve
from gpu_studio.runs.reading.summary import Summary, why_unreadable
from gpu_studio.runs.results.run_figures import RunFigures, figures_of
from gpu_studio.ui.models.background import Background, Tell

_LOOK_MS = 15
# A live run is read again no more often than this many times as long as that took.
_REST = 50.0
Key = tuple[str, str]
"""The id of a run, and which curve of it; empty for its figures."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was read: `found` is None where it could not be, and `why` says why."""

    found: Any = None
    why: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Known:
    told: Told
    summary: Summary
    read_at: float = field(default_factory=time.monotonic)

    def old(self, summary: Summary) -> bool:
        """Whether the run has gone on since, and it was read long enough ago."""
        if self.summary is summary or self.summary == summary:
            return False
        return time.monotonic() - self.read_at >= _REST * self.told.seconds


class FiguresReader(QObject):
    """Holds the figures of the runs last asked for, and one curve of each. `changed` fires when there is more of them.

    A run is read once, and one that is live again as it goes on. What nobody asks for any more is forgotten.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: dict[str, Summary] = {}
        self._names: tuple[str, ...] = ("",)
        self._known: dict[Key, _Known] = {}
        self._job: tuple[Key, Summary, Background[Told]] | None = None
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._take)

    def want(self, runs: Sequence[Summary], metric: str = "") -> None:
        """Have the figures of these runs, and the curve of this metric if one is named."""
        self._runs = {run.id: run for run in runs}
        self._names = ("", metric) if metric else ("",)
        self._known = {key: known for key, known in self._known.items() if key[0] in self._runs}
        self._go_on()

    @property
    def waiting(self) -> int:
        """How many figures and curves are still to come."""
        return sum(self._wanted(key) is not None and key not in self._known for key in self._keys())

    def figures(self, run: str) -> RunFigures | None:
        """The figures of a run; None while they are not there."""
        known = self._known.get((run, ""))
        return known.told.found if known else None

    def curve(self, run: str, metric: str) -> Curve | None:
        """A curve of a run; None while it is not there."""
        known = self._known.get((run, metric))
        return known.told.found if known else None

    def why_not(self, run: str) -> str:
        """Why the figures of a run cannot be read; empty if they can, or are still being read."""
        known = self._known.get((run, ""))
        return known.told.why if known else ""

    def close(self) -> None:
        """Read no more. What is being read just now may be long, and is left to end by itself."""
        self._look.stop()
        self._job = None

    def _keys(self) -> list[Key]:
        return [(run, name) for name in self._names for run in self._runs]

    def _wanted(self, key: Key) -> Summary | None:
        """The run that is to be read for this; None if what is known of it will do."""
        known, summary = self._known.get(key), self._runs[key[0]]
        return summary if known is None or known.old(summary) else None

    def _go_on(self) -> None:
        if self._job is not None:
            return
        for key in self._keys():
            summary = self._wanted(key)
            if summary is not None:
                self._job = key, summary, Background("figures", partial(_read, summary, key[1]))
                self._look.start()
                return
        self._look.stop()

    def _take(self) -> None:
        if self._job is None:
            return
        key, summary, work = self._job
        # Asked before: what ends after having told all has told it by now.
        alive = work.alive
        found = next(work.told(), None)
        if found is None and alive:
            return
        self._job = None
        if key[0] in self._runs:
            self._known[key] = _Known(found or Told(why="This run could not be read."), summary)
        self._go_on()
        self.changed.emit()


def _read(summary: Summary, name: str, tell: Tell[Told], _cancelled: threading.Event) -> None:
    began = time.perf_counter()
    read: Callable[[], object] = (
        (lambda: curve(summary.directory, name)) if name else partial(figures_of, summary.directory)
    )
    try:
        found = read()
    except OSError as error:
        gone = not summary.directory.exists()
        why = "This run is no longer there." if gone else f"{why_unreadable(summary.directory, error)}."
        tell(Told(None, why, time.perf_counter() - began))
    else:
        tell(Told(found, "", time.perf_counter() - began))
