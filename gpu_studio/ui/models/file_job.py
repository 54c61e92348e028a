"""A file written beside the window's thread, which may take long and can be given up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, Signal

from gpu_studio.output_files import write_output

_LINES_AT_ONCE = 2000
Stop = Callable[[], bool]
Write = Callable[[Stop], None]


class GivenUpError(Exception):
    """The person does not want the file any more."""


class FileJobs(QObject):
    """Writes one file after another. `done(path)` and `failed(text)` say how each came out; given up, neither."""

    done = Signal(object)
    failed = Signal(str)
    _ended = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stop = threading.Event()
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._ended.connect(self._tell)

    def start(self, path: Path, write: Write) -> None:
        """Let `write` write to `path`; it is to ask now and then whether to stop, and raises OSError if it cannot."""
        self._stop.clear()
        self._pool.start(lambda: self._work(path, write))

    def give_up(self) -> None:
        """Write no further; what was begun is taken away."""
        self._stop.set()

    def close(self) -> None:
        """Give up, and leave no thread behind."""
        self.give_up()
        self._ended.disconnect(self._tell)
        self._pool.waitForDone()

    def _work(self, path: Path, write: Write) -> None:
        try:
            write(self._stop.is_set)
        except GivenUpError:
            self._ended.emit(None, "")
        except OSError as error:
            why = error.strerror or str(error)
            self._ended.emit(None, f"{path} could not be written: {why}. Write it to another place.")
        else:
            self._ended.emit(path, "")

    def _tell(self, path: Path | None, why_not: str) -> None:
        if path is not None:
            self.done.emit(path)
        elif why_not:
            self.failed.emit(why_not)


def write_lines(path: Path, lines: Iterable[str], stop: Stop) -> None:
    """Put lines at `path`, 0600, so that there is the old file or the whole new one, never a part.

    Raises GivenUpError once `stop` says so, OSError if it cannot be written.
    """
    write_output(path, _parts(lines, stop))


def _parts(lines: Iterable[str], stop: Stop) -> Iterator[bytes]:
    rest = iter(lines)
    while part := list(islice(rest, _LINES_AT_ONCE)):
        if stop():
            raise GivenUpError
        yield ("\n".join(part) + "\n").encode()
