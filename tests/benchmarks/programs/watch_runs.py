"""The window on the Train page, with its sampler.

It shows each run that begins in a folder, until its input ends.

`python watch_runs.py RUNS` prints `shown` when the window is painted. It is what stands beside a
training."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from PySide6.QtCore import QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from gpu_studio.runs.catalogue import directories
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.main_window import MainWindow

EVERY_MS = 200


class Watch:
    """Shows each newer run, and closes the window once nobody wants it any more."""

    def __init__(self, runs: Path) -> None:
        self.theme = ThemeManager("dark")
        self.window = MainWindow(runs, None, self.theme)
        self.window.inventory.refresh()
        self.window.resize(1280, 800)
        self.window.show_page("train")
        self.window.show()
        self._runs = runs
        self._before = directories(runs)
        self._timer = QTimer(self.window)
        self._timer.timeout.connect(self._look)
        self._timer.start(EVERY_MS)
        self._input = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read, self.window)
        self._input.activated.connect(self._end)

    def _look(self) -> None:
        newest = next((run for run in directories(self._runs) if run not in self._before), None)
        if newest is not None and newest != self.window.train_page.current_run:
            self.window.show_run(newest)

    def _end(self) -> None:
        if not os.read(sys.stdin.fileno(), 64):
            self._input.setEnabled(False)
            self.window.close()
            QApplication.quit()


def main(runs: str) -> int:
    """Watch."""
    application = make_application()
    watch = Watch(Path(runs))
    watch.theme.dress(application)
    QTimer.singleShot(0, lambda: (sys.stdout.write("shown\n"), sys.stdout.flush()))
    return application.exec()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
