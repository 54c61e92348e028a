"""How the benchmarks take their times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

WARM_UP: Final = 2
REPEATS: Final = 7
LEAST_S: Final = 0.04
"""A repeat takes at least so long, so that the clock and Python's calls do not count."""
SPIN_S: Final = 0.1
"""Longer than idle threads of BLAS libraries spin: OpenBLAS's do for 2²⁶ ticks of the processor."""


def timed(call: Callable[[], Any], wait: Callable[[Any], None], *, once: bool = False) -> float:
    """Return how many seconds one call takes, waiting for its result: the mean of some calls."""
    calls, spent = 1, 0.0
    while True:
        began = time.perf_counter()
        for _ in range(calls):
            result = call()
        wait(result)
        spent = time.perf_counter() - began
        if once or spent >= LEAST_S:
            return spent / calls
        calls = max(2 * calls, int(calls * LEAST_S / max(spent, 1e-7)))


def repeated(
    call: Callable[[], Any],
    wait: Callable[[Any], None],
    beside: Callable[[], Any] | None = None,
    pause_s: float = 0.0,
    repeats: int | None = None,
) -> tuple[list[float], list[float]]:
    """Time a call, and in turn another one on the host that it is held against.

    They take turns so that a machine that slows down does so for both, with a pause after each.
    """
    mine: list[float] = []
    others: list[float] = []
    for _ in range(repeats or REPEATS):
        mine.append(timed(call, wait))
        if beside is not None:
            time.sleep(pause_s)
            beside()
            others.append(timed(beside, no_wait))
            time.sleep(pause_s)
            wait(call())
    return mine, others


def no_wait(_result: Any) -> None:
    """Wait for nothing: the call has done it all."""


def arrived(result: Any) -> None:
    """Wait until a tensor is computed, by reading a number of it: that is next on its stream."""
    import tensorflow as tf

    tf.reshape(result, [-1])[0].numpy()


def from_host(array: Any) -> Any:
    """Return the array as a tensor on the device in force. Raises OpError if there is no memory.

    Memory is tried first: where the host has none left, TensorFlow 2.21 writes an array to address
    0 and crashes (`tf.constant` of NumPy's, pywrap_tensor.cc).
    """
    import tensorflow as tf

    with tf.device("/device:CPU:0"):
        arrived(tf.fill(array.shape, tf.zeros((), array.dtype)))
    return tf.constant(array)


def row_of(what: str, devices: Sequence[str], size: int, **more: Any) -> dict[str, Any]:
    """Return a measurement as it is said: what, on which devices, of what size.

    What TensorFlow `reported` of it is called `told` in the files that are kept.
    """
    given = {"told" if name == "reported" else name: value for name, value in more.items()}
    return {"what": what, "devices": list(devices), "size": size, **given}


class NotMeasuredError(Exception):
    """Something cannot be measured as it was meant to be: why, as a clause."""


def measured_or_why(
    measure: Callable[[], dict[str, Any]],
    what: str,
    devices: Sequence[str],
    size: int,
    **more: Any,
) -> dict[str, Any]:
    """Return the measurement; if there is no memory for it, or no kernel, a row that says so."""
    import tensorflow as tf

    try:
        return measure()
    except (MemoryError, NotMeasuredError, tf.errors.OpError) as error:
        return row_of(what, devices, size, why_not=why_not(error), **more)


def why_not(error: Exception) -> str:
    """Why something could not be measured: TensorFlow's first line, or want of memory in words."""
    said = str(getattr(error, "message", None) or error)
    lines = _NODE.sub("", said).strip().splitlines()
    first = lines[0][:200] if lines else type(error).__name__
    if isinstance(error, MemoryError) or any(each in str(error) for each in _NO_MEMORY):
        return f"out of memory: {first}"
    return first


_NODE: Final = re.compile(r"\{\{.*?\}\}\s*")
_NO_MEMORY: Final = ("OOM when allocating", "Dst tensor is not initialized", "ran out of memory")
"""What TensorFlow says where a device has no memory left; the second of a copy to a full card."""
