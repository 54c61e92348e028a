"""Ctrl+C, counted where it must not break off what is under way."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOST_AT_ONCE = 64


class Interrupts:
    """Counts Ctrl+C, and wakes whoever waits.

    A byte in a pipe for each: a signal handler may run in the midst of anything, and an event or a lock that the main
    thread is just holding would never be let go.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._closed = self._left = False

    @property
    def came(self) -> bool:
        """Whether there is one that was not taken yet; after `close`, whether there was one then."""
        return self._left if self._closed else bool(select.select([self._reader], [], [], 0)[0])

    def wait(self, seconds: float) -> None:
        """Wait so long, or until Ctrl+C."""
        select.select([self._reader], [], [], seconds)

    def take(self) -> int:
        """Return how many came since the last time."""
        try:
            return len(os.read(self._reader, _MOST_AT_ONCE))
        except BlockingIOError:
            return 0

    def note(self) -> None:
        """Take note of one; called by the signal handler."""
        with suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def close(self) -> None:
        """Count no more."""
        self._left, self._closed = self.came, True
        os.close(self._reader)
        os.close(self._writer)


@contextmanager
def counted_interrupts() -> Iterator[Interrupts]:
    """Count Ctrl+C instead of breaking off, until the end of the block."""
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, lambda _number, _frame: interrupts.note())
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
        interrupts.close()


@contextmanager
def held_interrupts() -> Iterator[Interrupts | None]:
    """Hold Ctrl+C back until the end of the block, which asks now and then whether one `came`, and breaks off itself.

    An exception that Python raises wherever it happens to be is lost if that is a finalizer or a callback of its own,
    and comes between the start of a process and the name under which it would be ended. Raises KeyboardInterrupt at the
    end of the block if one came. None where Ctrl+C does not break off anyway: in other threads than the main one, and
    where somebody else counts it or has it ignored.
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
        # Not asked before it is as it was: one that comes in between must not be lost either.
        if interrupts is not None and interrupts.came:
            raise KeyboardInterrupt
