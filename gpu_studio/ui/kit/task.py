"""Background work whose results return to the window's thread by a queued signal.

Each piece of work has a Python thread of its own rather than one of a QThreadPool. A pool's
destructor waits for work that nobody can interrupt (the reading of a long run), so that the
window could not close; a daemon thread ends with the process. And a question that TensorFlow
takes a minute to answer must not hold up a reading of milliseconds. `FileJobs` writes files
this way.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Qt, Signal

from gpu_studio.common.safe_files import write_output
from gpu_studio.ui.kit.garbage import GARBAGE

Report = Callable[[Any], None]
Work = Callable[[Report, threading.Event], object]
"""Work that can report what it has so far, and is to end early once the event is set.

Its result comes last.
"""


class BackgroundTask(QObject):
    """Does work in a thread.

    `reported(object)` brings what the work reports under way, `done(object)` its result.

    Only the newest work is heard of: to start another cancels the one before. With `in_turn` each
    waits for the one before it, and all are heard of. Work that raises has a defect:
    `failed(Exception)` fires, and then the error is raised in the window's thread. A task that is
    destroyed cancels its work, and nothing is heard of it any more.
    """

    reported = Signal(object)
    done = Signal(object)
    failed = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None, *, in_turn: bool = False) -> None:
        super().__init__(parent)
        self._name = name
        self._in_turn = in_turn
        self._threads: list[_WorkThread] = []
        self._awaited: list[_WorkThread] = []
        # The list, not this object: it is half destroyed by then.
        self.destroyed.connect(partial(_cancel, self._awaited))

    @property
    def busy(self) -> bool:
        """Whether a result is awaited."""
        return bool(self._awaited)

    def start(self, job: Callable[[], object]) -> None:
        """Do this, which neither reports anything before its result nor can be interrupted."""
        self.start_work(lambda _report, _cancelled: job())

    def start_work(self, work: Work) -> None:
        """Do this, which may report what it has so far and looks whether it is cancelled."""
        if not self._in_turn:
            self.forget()
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        before = self._threads[-1] if self._in_turn and self._threads else None
        thread = _WorkThread(self, work, before, self._name)
        self._threads.append(thread)
        self._awaited.append(thread)
        GARBAGE.begins(thread)
        thread.start()

    def cancel(self) -> None:
        """Let the work end early; what comes of it is still heard of."""
        _cancel(self._awaited)

    def forget(self) -> None:
        """Cancel, and hear nothing more; work that cannot be interrupted goes on to its end."""
        self.cancel()
        self._awaited.clear()

    def close(self, *, wait: bool = True) -> None:
        """Forget all, and leave no thread behind.

        Without `wait` a thread may go on until its work ends by itself.
        """
        self.forget()
        if wait:
            for thread in self._threads:
                thread.join()
                GARBAGE.ended(thread)
        self._threads.clear()

    def take(self, thread: _WorkThread, signal: str, value: object) -> None:
        """Pass on what a thread has sent, in the window's thread."""
        if thread not in self._awaited:
            return
        if signal == "reported":
            self.reported.emit(value)
            return
        self._awaited.remove(thread)
        if isinstance(value, _Raised):
            self.failed.emit(value.error)
            raise value.error
        self.done.emit(value)


class _Raised:
    """What work raised instead of returning a result."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _WorkThread(threading.Thread):
    """Does one piece of work.

    It holds its task weakly, or a task might be destroyed in this thread.
    """

    def __init__(
        self, task: BackgroundTask, work: Work, before: threading.Thread | None, name: str
    ) -> None:
        # As arguments, which a thread drops at its end: what the work refers to is not kept alive
        # by it.
        super().__init__(target=self._do, args=(work, before), name=name, daemon=True)
        self.cancelled = threading.Event()
        self.task = weakref.ref(task)
        self._post = _post_office()

    def _do(self, work: Work, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        try:
            value = work(partial(self._send, "reported"), self.cancelled)
        except Exception as error:  # noqa: BLE001 - it is raised in the window's thread
            value = _Raised(error)
        self._send("done", value)

    def _send(self, signal: str, value: object) -> None:
        try:
            self._post.arrived.emit(self, signal, value)
        except RuntimeError:
            # The application has ended meanwhile, and Qt's objects with it: there is nobody to hear
            # of it.
            return


class _Post(QObject):
    """Takes what threads send into the window's thread.

    It outlives every task, so no thread emits from a dying one.
    """

    arrived = Signal(object, str, object)

    def __init__(self) -> None:
        super().__init__()
        self.arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def _deliver(self, thread: _WorkThread, signal: str, value: object) -> None:
        GARBAGE.goes_on()
        if signal == "done":
            GARBAGE.ended(thread)
        task = thread.task()
        if task is not None and shiboken6.isValid(task):
            task.take(thread, signal, value)


_posts: list[_Post] = []


def _post_office() -> _Post:
    """The one of this application; another application in the same process has another."""
    if not _posts or not shiboken6.isValid(_posts[0]):
        _posts[:] = [_Post()]
    return _posts[0]


def _cancel(threads: Sequence[_WorkThread], _object: object = None) -> None:
    for thread in threads:
        thread.cancelled.set()


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
