"""The window on a folder of hostile runs.

Prints the longest that it stood still (s), and how many runs it lists.

`python hostile_window.py RUNS` chooses every run in the list, one after another, and shows each on
the Train page."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from gpu_studio.runs.catalogue import directories
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.main_window import MainWindow

BEAT_MS, SETTLE_MS, PATIENCE_S = 10, 40, 60.0


class Heart:
    """Beats as often as the window's thread lets it, and keeps the longest pause."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = time.monotonic()
        self._timer = QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.start(BEAT_MS)

    def _beat(self) -> None:
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now


def pause(milliseconds: int) -> None:
    """Let the window do what it has to."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def main(runs: Path) -> int:
    """Open the window and go through it."""
    application = make_application()
    theme = ThemeManager("dark")
    theme.dress(application)
    window = MainWindow(runs, None, theme)
    window.show()
    pause(1000)
    heart = Heart()
    window.show_page("runs")
    table = window.run_list.page.table
    end = time.monotonic() + PATIENCE_S
    while not table.model().rowCount() and time.monotonic() < end:
        pause(SETTLE_MS)
    listed = table.model().rowCount()
    for row in range(listed):
        table.selectRow(row)
        pause(SETTLE_MS)
    for run in directories(runs):
        window.show_run(run)
        pause(SETTLE_MS)
    sys.stdout.write(json.dumps({"longest": heart.longest, "listed": listed}) + "\n")
    sys.stdout.flush()
    window.close()
    return 0


sys.exit(main(Path(sys.argv[1])))
