"""A question asked once, in a thread that waits for whoever answers it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Told = TypeVar("Told")
Tell = Callable[[Told], None]


class Background(Generic[Told]):
    """Runs `ask(tell, cancelled)` from when it is made on. `told` gives what has been told since it was called last.

    The thread touches no Qt object: whoever asked looks now and then, so that nobody can be gone when it speaks.
    """

    def __init__(self, name: str, ask: Callable[[Tell[Told], threading.Event], None]) -> None:
        self._told: SimpleQueue[Told] = SimpleQueue()
        self._cancelled = threading.Event()
        arguments = (self._told.put, self._cancelled)
        self._thread = threading.Thread(target=ask, args=arguments, name=name, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether its thread has not ended yet."""
        return self._thread.is_alive()

    def told(self) -> Iterator[Told]:
        """Everything that was told since the last call, in order."""
        while True:
            try:
                yield self._told.get_nowait()
            except Empty:
                return

    def cancel(self) -> None:
        """Give up; whoever answers is ended soon after."""
        self._cancelled.set()

    def wait(self) -> None:
        """Wait until the thread has ended, which after `cancel` is a matter of a moment."""
        self._thread.join()
