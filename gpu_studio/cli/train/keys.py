"""Keys pressed in a terminal while something goes on, without Return."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


class Keys:
    """What is typed on a terminal; nothing where there is none."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def was_pressed(self, key: str) -> bool:
        """Whether `key` is among those typed since the last time; never waits."""
        if self._descriptor is None or not select.select([self._descriptor], [], [], 0)[0]:
            return False
        return key.encode() in os.read(self._descriptor, 1024)


@contextmanager
def pressed_keys() -> Iterator[Keys]:
    """Hand over single keys until the end of the block; Ctrl+C stays what it is."""
    if not sys.stdin.isatty():
        yield Keys(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
