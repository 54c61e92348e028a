"""Start the window: `gpu-studio` calls `run` if there is a display."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import get_args

from PySide6.QtCore import QObject, QSocketNotifier, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gpu_studio import __version__
from gpu_studio.hardware.source import SIMULATED_SINCE, simulated
from gpu_studio.runs.paths import open_to_others
from gpu_studio.ui.kit.settings import THEME, Settings, settings_path
from gpu_studio.ui.kit.theme.manager import Mode, ThemeManager
from gpu_studio.ui.machine.inventory import Inventory
from gpu_studio.ui.window.errors import ErrorKeeper, log_path
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quitting import close_unasked


def run(runs_dir: Path, plan_path: Path | None = None) -> int:
    """Show the window until it is closed; returns the exit code. `plan_path` is a plan to open."""
    application = make_application()
    if simulated():
        # The sampler, the inventory and the doctor are processes of their own, and show one
        # machine.
        os.environ.setdefault(SIMULATED_SINCE, str(time.monotonic()))
    # The machine is asked first: it answers while the window is built.
    inventory = Inventory()
    inventory.refresh()
    settings = Settings(settings_path())
    theme = ThemeManager(remembered_mode(settings))
    theme.dress(application)
    window = MainWindow(runs_dir, plan_path, theme, settings=settings, inventory=inventory)
    keeper = ErrorKeeper(log_path(), application)
    signals = Signals(application)
    window.show()
    if danger := open_to_others(runs_dir):
        window.notice.say(danger, "warning")
    try:
        return application.exec()
    finally:
        signals.close()
        keeper.close()


def make_application() -> QApplication:
    """The QApplication of this process, named and set for screens of any density."""
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    application.setApplicationName("gpu-studio")
    application.setApplicationDisplayName("GPU Studio")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("gpu-studio")
    return application


def remembered_mode(settings: Settings) -> Mode:
    """The theme chosen last; the system's if none was."""
    remembered = settings.get(THEME)
    return next((mode for mode in get_args(Mode) if mode == remembered), "system")


class Signals(QObject):
    """SIGINT and SIGTERM close the window as its owner would, but nothing is asked.

    Nobody may be there to answer.

    Python runs its handlers only between bytecodes, and Qt's loop is none; a byte through a pipe
    wakes it.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._write)
        self._before = {
            number: signal.signal(number, lambda *_: close_unasked())
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        self._notifier = QSocketNotifier(self._read, QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(lambda: os.read(self._read, 64))

    def close(self) -> None:
        """Give the signals back."""
        self._notifier.setEnabled(False)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        for end in (self._read, self._write):
            os.close(end)
