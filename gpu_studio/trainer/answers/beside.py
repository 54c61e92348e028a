"""Compute something in a copy of this process, while this one goes on with something else.

The copy computes with Python alone, and reads graphs: TensorFlow's threads are not in it, so that
it may run no operation.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import msgspec

from gpu_studio.trainer.environment import cores

_COMPUTED, _FAILED = 0, 1
_LEAST_SHARE = 4
"""So many values at least are worth a copy."""
_FIRST = 3
"""The first descriptor after those of input, output and errors."""


def beside(compute: Callable[[], bytes]) -> Callable[[], bytes]:
    """Begin to `compute` in a copy of this process; return what waits for the result.

    The copy ends with this process. What it could not compute, as for want of memory, is computed
    here; so is everything on a machine with a single core, and then not before it is waited for.
    """
    if cores() < 2:
        return compute
    try:
        copy = _copied(compute)
    except OSError:  # no more processes or files are to be had
        return compute
    return cache(lambda: copy.result() or compute())


def each_beside(compute: Callable[[int], float], values: Sequence[int]) -> list[float]:
    """Compute it of each of the values: of a share of them here, of the others in copies.

    Half of the cores have one: others may compute something else meanwhile.
    """
    count = max(1, min(cores() // 2, len(values) // _LEAST_SHARE))

    def share(place: int) -> bytes:
        return msgspec.json.encode([compute(value) for value in values[place::count]])

    results = [beside(partial(share, place)) for place in range(1, count)]
    results.insert(0, partial(share, 0))
    found = [0.0] * len(values)
    for place, result in enumerate(results):
        found[place::count] = msgspec.json.decode(result(), type=list[float])
    return found


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of this process: its number, what it writes to, and what tells it that this one is."""

    process: int
    reading: int
    living: int

    def result(self) -> bytes:
        """Wait until it has ended; nothing if it could not compute it."""
        with os.fdopen(self.reading, "rb") as written:
            found = written.read()
        _, status = os.waitpid(self.process, 0)
        os.close(self.living)
        return found if status == _COMPUTED else b""


def _copied(compute: Callable[[], bytes]) -> _Copy:
    (reading, writing), (alive, living) = os.pipe(), os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(living)
        raise
    else:
        if not child:
            _compute_and_leave(compute, writing, alive)
    finally:
        os.close(writing)
        os.close(alive)
    return _Copy(child, reading, living)


def _compute_and_leave(compute: Callable[[], bytes], writing: int, alive: int) -> None:
    """In the copy: write the result, and end without any of what this process does at its end."""
    try:
        gc.disable()  # looking at every object would copy the memory that it lies in
        _let_go_of_all_but(writing, alive)
        threading.Thread(target=_leave_with_the_first, args=(alive,), daemon=True).start()
        with os.fdopen(writing, "wb") as result:
            result.write(compute())
        os._exit(_COMPUTED)
    finally:
        os._exit(_FAILED)


def _let_go_of_all_but(*kept: int) -> None:
    """Close what others wait for the end of: whoever asked reads until nobody writes any more."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(_FIRST):
        os.dup2(null, descriptor)
    beginning = _FIRST
    for descriptor in sorted(kept):
        os.closerange(beginning, descriptor)
        beginning = descriptor + 1
    os.closerange(beginning, os.sysconf("SC_OPEN_MAX"))


def _leave_with_the_first(alive: int) -> None:
    os.read(alive, 1)  # which returns when the first process has ended
    os._exit(_FAILED)
