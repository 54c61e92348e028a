"""A crash of the window: written down as it happens, reported at the next start.

Python's faulthandler writes where each thread was. A window that ends otherwise leaves nothing.
"""

from __future__ import annotations

import faulthandler
import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import qVersion

from gpu_studio import __version__
from gpu_studio.common.figures import dated, moment
from gpu_studio.common.safe_files import read_text
from gpu_studio.contract import lock, make_private_directory
from gpu_studio.ui.kit import Notice, Tone

_OPEN, _KEPT = "window-{}.open", "window-crash-{}.txt"
MOST_KEPT: Final = 5
_MOST_BYTES: Final = 1024 * 1024
_FATAL: Final = "Fatal Python error: "
_WORDS: Final = {
    "Segmentation fault": "a segmentation fault",
    "Bus error": "a bus error",
    "Aborted": "an abort of Qt or another library",
    "Illegal instruction": "an illegal instruction",
    "Floating-point exception": "a floating-point exception",
    "Floating point exception": "a floating-point exception",
}


@dataclass(frozen=True, slots=True)
class CrashReport:
    """A crash of an earlier window, at `time` (seconds since 1970), and the file with its report.

    `kind` says in words what kind of crash it was.
    """

    file: Path
    text: str
    kind: str
    time: float

    @property
    def said(self) -> str:
        """What is said of it at the next start."""
        return (
            f"The window crashed at {moment(self.time)} ({self.kind}). Runs went on without it, "
            "and unsaved changes of plans were kept."
        )


class CrashWatch:
    """Notes in `folder` what this process does as it crashes, until `close`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _OPEN.format(os.getpid())
        self._lock: lock.Lock | None = None
        self._before = faulthandler.is_enabled()
        # Where the folder cannot be written the window starts all the same.
        with suppress(OSError, lock.LockHeldError):
            make_private_directory(folder)
            # Held while the window lives, so that another one does not take it for crashed.
            self._lock = held = lock.reserve(self._file, 0.0)
            os.truncate(held.descriptor, 0)
            os.write(held.descriptor, _heading().encode())
            faulthandler.enable(held.descriptor)

    def close(self) -> None:
        """The window ended as it should: nothing is noted any more."""
        if self._lock is None:
            return
        faulthandler.disable()
        if self._before:
            faulthandler.enable()
        self._file.unlink(missing_ok=True)
        self._lock.release()
        self._lock = None


def _heading() -> str:
    begun = time.strftime("%Y-%m-%d %H:%M:%S")
    system = f"{platform.system()} {platform.machine()}"
    return (
        f"GPU Studio {__version__}, Python {platform.python_version()}, Qt {qVersion()}, {system}; "
        f"begun {begun}\n\n"
    )


def earlier_crash(folder: Path) -> CrashReport | None:
    """The last crash that has not been reported. Its report is kept, with a few before it."""
    found = sorted(_crashes(folder), key=lambda report: report.time)
    kept = sorted(folder.glob(_KEPT.format("*")))
    for old in kept[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    return found[-1] if found else None


def _crashes(folder: Path) -> Iterator[CrashReport]:
    for file in folder.glob(_OPEN.format("*")):
        with suppress(OSError):
            if lock.held(file):
                continue
            text, ended = read_text(file, _MOST_BYTES), file.stat().st_mtime
            _, fatal, rest = text.partition(_FATAL)
            if not fatal:
                # It was killed, or the machine went off.
                file.unlink()
                continue
            reason = rest.partition("\n")[0].strip()
            stamp = dated(ended, "%Y-%m-%d-%H%M%S")
            kept = file.rename(file.with_name(_KEPT.format(stamp)))
            yield CrashReport(kept, text, _WORDS.get(reason, reason), ended)


def tell(report: CrashReport, notice: Notice) -> None:
    """Say once that a window crashed, besides what the start has to say already."""
    already = "" if notice.isHidden() else f" {notice.text}"
    shown = not notice.isHidden() and notice.property("tone") == "warning"
    tone: Tone = "warning" if shown else "plain"
    notice.say(
        f"{report.said}{already}", tone, "Show report", partial(_show, report, notice), stays=True
    )


def _show(report: CrashReport, notice: Notice) -> None:
    # Imported when somebody asks for it.
    from gpu_studio.ui.kit import TraceDialog

    message = (
        f"What was noted when the window crashed. It is kept in {report.file}; with it, and with "
        "what you did before, the crash can be found."
    )
    TraceDialog(message, report.text, report.file, notice.window()).show()
