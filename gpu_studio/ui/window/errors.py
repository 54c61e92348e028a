"""Unexpected errors: each is logged to a file and shown once.

The window continues.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType

from platformdirs import user_log_path
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QWidget

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
        from gpu_studio.ui.kit.asking.dialogs import ErrorDialog

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
