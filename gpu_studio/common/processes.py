"""Run a module of this package as another process, and count or defer Ctrl+C meanwhile."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from gpu_studio.common.safe_files import open_regular

_ROOT = Path(__file__).resolve().parents[2]


def module_command(module: str, python: str = sys.executable) -> list[str]:
    """The command line that runs `module` of this package.

    `-P` keeps a `json.py` in the current folder from shadowing Python's: no user code runs unasked.
    """
    return [python, "-P", "-m", module]


def module_environment(added: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for `module_command`: this process's, plus `added`.

    PYTHONPATH is set only where Python could not find the package otherwise.
    """
    environment = {**os.environ, **(added or {})}
    if not _is_installed():
        paths = (str(_ROOT), environment.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


@cache
def _is_installed() -> bool:
    """Whether Python finds the package without PYTHONPATH."""
    kinds = ("purelib", "platlib")
    return _ROOT in {Path(sysconfig.get_path(kind)).resolve() for kind in kinds}


def start_in_background(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Run the command line with these words in a process that outlives this one; return at once.

    What it says is in `log`, from the beginning. Call `poll` on it from time to time while this
    process lives. Raises OSError if it cannot be started.
    """
    file = open_regular(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        return subprocess.Popen(
            [*module_command("gpu_studio"), *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=module_environment(),
            start_new_session=True,
        )
    finally:
        os.close(file)


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def signals_await_handlers() -> Iterator[None]:
    """Processes that are started in the block keep what would end them until `take_signals`.

    A process that tells its end cannot do so while Python still imports. Only for programs that
    call `take_signals`: nothing but SIGKILL ends others.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_signals() -> None:
    """Take what was kept since this process began: its handlers are there now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


_MOST_AT_ONCE = 64


class Interrupts:
    """Counts Ctrl+C and wakes a thread that waits for it.

    Each Ctrl+C writes a byte to a pipe: a signal handler may run at any point, and could deadlock
    on an event or a lock that the main thread holds at that moment.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._closed = self._left = False

    @property
    def came(self) -> bool:
        """Whether a Ctrl+C has not been taken yet.

        After `close`, whether there was one at that time.
        """
        return self._left if self._closed else bool(select.select([self._reader], [], [], 0)[0])

    def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until Ctrl+C."""
        select.select([self._reader], [], [], seconds)

    def take(self) -> int:
        """Return the number of Ctrl+C since the last call."""
        try:
            return len(os.read(self._reader, _MOST_AT_ONCE))
        except BlockingIOError:
            return 0

    def note(self) -> None:
        """Record one Ctrl+C; called by the signal handler."""
        with suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def close(self) -> None:
        """Stop counting."""
        self._left, self._closed = self.came, True
        os.close(self._reader)
        os.close(self._writer)


@contextmanager
def counted_interrupts() -> Iterator[Interrupts]:
    """Count Ctrl+C, instead of raising KeyboardInterrupt, until the end of the block."""
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, lambda _number, _frame: interrupts.note())
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
        interrupts.close()


@contextmanager
def held_interrupts() -> Iterator[Interrupts | None]:
    """Defer Ctrl+C until the end of the block, which checks `came` now and then and stops itself.

    An exception that Python raises at an arbitrary point is lost inside a finalizer or a callback,
    and can strike between the start of a process and the assignment of the name by which it would
    be terminated. Raises KeyboardInterrupt at the end of the block if Ctrl+C was pressed. Yields
    None where Ctrl+C does not interrupt anyway: outside the main thread, and where other code
    handles or ignores the signal.
    """
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield None
        return
    interrupts: Interrupts | None = None
    try:
        with counted_interrupts() as interrupts:
            yield interrupts
    finally:
        # Checked only after the old handler is restored, so that a Ctrl+C in between is not lost
        # either.
        if interrupts is not None and interrupts.came:
            raise KeyboardInterrupt
