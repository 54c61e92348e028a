"""Write a file in the background; the job may take long and can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.common.output_files import write_output
from gpu_studio.ui.kit.task import BackgroundTask, Report

_LINES_AT_ONCE = 2000
Stop = Callable[[], bool]
Write = Callable[[Stop], None]


class CancelledError(Exception):
    """The user has cancelled the file."""


class FileJobs(QObject):
    """Writes files one after another.

    `done(Path)` or `failed(Path, why)` ends each; neither if it was cancelled.
    """

    done = Signal(object)
    failed = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._task = BackgroundTask("file", self, in_turn=True)
        self._task.done.connect(self._tell)

    @property
    def busy(self) -> bool:
        """Whether a file is being written."""
        return self._task.busy

    def start(self, path: Path, write: Write) -> None:
        """Let `write` write to `path`.

        It must ask now and then whether to stop, and raises OSError if it fails.
        """
        self._task.start_work(partial(_written, path, write))

    def cancel(self) -> None:
        """Stop writing; a partial file is removed."""
        self._task.cancel()

    def close(self) -> None:
        """Cancel, and stop the thread."""
        self._task.close()

    def _tell(self, written: tuple[Path, str] | None) -> None:
        if written is None:
            return
        path, why_not = written
        if why_not:
            self.failed.emit(path, why_not)
        else:
            self.done.emit(path)


def _written(
    path: Path, write: Write, _report: Report, cancelled: threading.Event
) -> tuple[Path, str] | None:
    """Write a file.

    Return its path and why it could not be written, which is empty if it was; None if cancelled.
    """
    try:
        write(cancelled.is_set)
    except CancelledError:
        return None
    except OSError as error:
        return path, error.strerror or str(error)
    return path, ""


def write_lines(path: Path, lines: Iterable[str], stop: Stop) -> None:
    """Write lines to `path`, which always holds the old file or the whole new one.

    Raises CancelledError once `stop` says so, OSError if it cannot be written.
    """
    write_parts(path, _joined(lines), stop)


def write_parts(path: Path, parts: Iterable[bytes], stop: Stop) -> None:
    """Write `parts` to `path` as `write_lines` does; `stop` is called before each."""
    write_output(path, _until(parts, stop))


def _joined(lines: Iterable[str]) -> Iterator[bytes]:
    rest = iter(lines)
    while part := list(islice(rest, _LINES_AT_ONCE)):
        yield ("\n".join(part) + "\n").encode()


def _until(parts: Iterable[bytes], stop: Stop) -> Iterator[bytes]:
    for part in parts:
        if stop():
            raise CancelledError
        yield part
