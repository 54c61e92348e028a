"""Start the window: `gpu-studio` calls `run` if there is a display.

`ErrorKeeper` logs unexpected errors to a file and shows each once; the window continues.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import get_args

from platformdirs import user_log_path
from PySide6.QtCore import QObject, QSocketNotifier, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio import __version__
from gpu_studio.common.choices import chosen_thousands
from gpu_studio.common.figures import write_thousands
from gpu_studio.hardware.source import SIMULATED_SINCE, simulated
from gpu_studio.runs.paths import open_to_others
from gpu_studio.ui.kit import ThemeManager
from gpu_studio.ui.kit.settings import THEME, Settings, settings_path
from gpu_studio.ui.kit.theme import Mode
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.window.arrivals import Arrivals
from gpu_studio.ui.window.crash_report import CrashWatch, earlier_crash, tell
from gpu_studio.ui.window.display import checked_display
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quitting import close_unasked
from gpu_studio.ui.window.services import PAGES


def run(
    runs_dir: Path, plan_path: Path | None = None, *, page: str = "", fresh: bool = False
) -> int:
    """Show the window until it is closed; returns the exit code.

    `plan_path` is a plan to open, `page` a page to open on; with `fresh` a new plan is made.
    Raises NoWindowError where there can be no window.
    """
    with checked_display():
        application = make_application()
    watch = CrashWatch(log_path().parent)
    if simulated():
        # The sampler, the inventory and the doctor are processes of their own, and show one
        # machine.
        os.environ.setdefault(SIMULATED_SINCE, str(time.monotonic()))
    # The machine is asked first: it answers while the window is built.
    inventory = Inventory()
    inventory.refresh()
    settings = Settings(settings_path())
    write_thousands(chosen_thousands(NARROW_SPACE))
    theme = ThemeManager(remembered_mode(settings))
    theme.dress(application)
    window = MainWindow(
        runs_dir, plan_path, theme, fresh=fresh, settings=settings, inventory=inventory
    )
    if page:
        window.show_page(next(name for name in PAGES if name == page))
    arrivals = Arrivals(window.services, window.pages, window.plan_files)
    keeper, signals = ErrorKeeper(log_path(), application), Signals(application)
    window.show()
    _warn(window, runs_dir)
    try:
        return application.exec()
    finally:
        arrivals.close()
        signals.close()
        keeper.close()
        watch.close()


def _warn(window: MainWindow, runs_dir: Path) -> None:
    """Say what a person should know from before: others can change the runs, or a crash."""
    if danger := open_to_others(runs_dir):
        window.notice.say(danger, "warning")
    if crash := earlier_crash(log_path().parent):
        tell(crash, window.notice)


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


NARROW_SPACE = "\u202f"
"""Stands between thousands if a space was chosen: no line breaks there."""
_log = logging.getLogger("gpu_studio.ui")
_LOG_BYTES = 512 * 1024


def log_path() -> Path:
    """The file in which the window's errors are noted."""
    return user_log_path("gpu-studio") / "window.log"


class ErrorKeeper(QObject):
    """Takes the place of `sys.excepthook`, also for threads, until `close`."""

    _caught = Signal(str, str)

    def __init__(self, log: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._log = log
        self._handler: logging.Handler | None = None
        self._before = (sys.excepthook, threading.excepthook)
        self._shown: set[str] = set()
        self._open: set[QWidget] = set()
        self._caught.connect(self._show)
        sys.excepthook = self._take
        threading.excepthook = self._take_of_thread

    def close(self) -> None:
        """Give the hooks back and close the file."""
        sys.excepthook, threading.excepthook = self._before
        if self._handler is not None:
            _log.removeHandler(self._handler)
            self._handler.close()

    def _take(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        self._note(text)
        # By signal: the error may come from a thread, and a dialog must not.
        self._caught.emit(f"{kind.__name__}: {error}" if str(error) else kind.__name__, text)

    def _note(self, text: str) -> None:
        try:
            if self._handler is None:
                self._handler = _file_handler(self._log)
                _log.addHandler(self._handler)
            _log.error("%s", text)
        except OSError as error:
            # Shown it is all the same; only the file lacks it.
            if sys.__stderr__ is not None:
                sys.__stderr__.write(f"{self._log} cannot be written: {error}\n{text}")

    def _take_of_thread(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._take(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def _show(self, summary: str, text: str) -> None:
        if text in self._shown:
            return
        # An error in a paint or a timer comes again and again; one dialog says it.
        self._shown.add(text)
        from gpu_studio.ui.kit import ErrorDialog

        parent = QApplication.activeWindow()
        dialog = ErrorDialog(
            summary, text, str(self._log), parent if isinstance(parent, QWidget) else None
        )
        # Without a window as its parent nobody else holds it.
        self._open.add(dialog)
        dialog.finished.connect(lambda _result: self._open.discard(dialog))
        dialog.show()


def _file_handler(log: Path) -> logging.Handler:
    # Imported only for an error: it brings half of the network with it.
    from logging.handlers import RotatingFileHandler

    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log.touch(mode=0o600)
    handler = RotatingFileHandler(
        log, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    return handler
