"""A long run opened in the window.

Prints when the whole of its curve was painted, when all was read, and the memory.

`python open_run.py RUNS RUN` prints `{"curve_ms": …, "read_ms": …, "longest_turn_ms": …, "bytes":
…, "mib": …}`. The milliseconds count from the call that opens the run; the memory is what came with
it."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from PySide6.QtCore import QDeadlineTimer, QEvent, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.main_window import MainWindow

MIB = 1024 * 1024
PATIENCE_MS = 60_000
WHOLE = 0.95
"""The part of the run that the curve has to span to count as all of it."""


class Window(MainWindow):
    """Notes when it was painted with the whole curve in it."""

    curve_at: float | None = None

    def event(self, event: QEvent) -> bool:
        """Paint first, then look at the clock."""
        done: bool = super().event(event)
        if (
            event.type() == QEvent.Type.UpdateRequest
            and self.curve_at is None
            and self._shows_all()
        ):
            self.curve_at = time.monotonic()
        return done

    def _shows_all(self) -> bool:
        run = self.shown_run
        if run is None:
            return False
        places, *_ = self.train_page.charts.loss.curve_called("steps").strokes
        return len(places) > 0 and places[-1] - places[0] >= WHOLE * (
            run.history.seconds or math.inf
        )


def main(runs: str, run: str) -> None:
    """Open, and measure."""
    application = make_application()
    theme = ThemeManager("dark")
    theme.dress(application)
    # Fresh: otherwise it would come back with the run that was measured last, and read it before.
    window = Window(Path(runs), None, theme, fresh=True)
    window.resize(1280, 800)
    window.show_page("train")
    window.show()
    window.inventory.refresh()
    # A person opens a run in a window that stands, and not while it still makes its pages.
    turns_until(lambda: window.settled and not window.inventory.looking)
    before = resident()
    began = time.monotonic()
    # In a turn of its own, as a click does it: what it takes counts.
    QTimer.singleShot(0, lambda: window.show_run(RunDirectory(Path(run))))
    longest = turns_until(lambda: window.curve_at is not None and not reading(window))
    told = {
        "curve_ms": 1000 * ((window.curve_at or began) - began),
        "read_ms": 1000 * (time.monotonic() - began),
        "longest_turn_ms": 1000 * longest,
        "bytes": RunDirectory(Path(run)).events_file.stat().st_size,
        "mib": resident() - before,
    }
    window.close()
    sys.stdout.write(json.dumps(told) + "\n")


def reading(window: MainWindow) -> bool:
    """Whether the run's events are not all read yet."""
    return window.shown_run is None or window.shown_run.reading


def turns_until(done: Callable[[], bool]) -> float:
    """Let the window live until it is so; the seconds of its longest turn."""
    deadline, longest = QDeadlineTimer(PATIENCE_MS), 0.0
    while not done():
        if deadline.hasExpired():
            raise TimeoutError("the run was not read in time")
        began = time.monotonic()
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        longest = max(longest, time.monotonic() - began)
    return longest


def resident() -> float:
    """This process's memory in MiB."""
    return float(psutil.Process().memory_info().rss) / MIB


if __name__ == "__main__":
    main(*sys.argv[1:])
