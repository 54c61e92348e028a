"""Read on the window's thread in slices of a few milliseconds, so that the window never blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

FEWEST_BYTES: Final = 16 * 1024
MOST_BYTES: Final = 1024 * 1024
_ENOUGH: Final = 0.5
_GROWTH: Final = 2.0


class Slices:
    """Reads as many bytes at once as a slice has time for.

    Many together are cheaper.
    """

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000
        self.chunk = FEWEST_BYTES

    def read(self, read: Callable[[int], bool]) -> None:
        """Call `read` with a number of bytes until it says that nothing is waiting, or the slice is
        over.
        """
        began = before = time.perf_counter()
        while read(self.chunk):
            now = time.perf_counter()
            self._adapt(now - before)
            if now - began >= _ENOUGH * self._seconds:
                return
            before = now

    def _adapt(self, took: float) -> None:
        factor = min(self._seconds / max(took, 1e-6), _GROWTH)
        self.chunk = min(max(int(self.chunk * factor), FEWEST_BYTES), MOST_BYTES)
