"""A process that takes and frees memory, and holds what a meter tells of it against that.

Nothing else takes any there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any


def look() -> None:
    """Do it in a process of its own. Raises AssertionError with what that wrote."""
    import warm_python

    done = subprocess.run(
        warm_python.command(__file__),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-4000:]


def _numbers(mib: int) -> Any:
    """So many MiB of an allocator; that of CPUs gives more for what is no power of two."""
    import tensorflow as tf

    return tf.zeros((mib, (1 << 20) // 4), tf.float32)


def _held(told: int | None, taken: int) -> None:
    """TensorFlow's arena counts the number that fills a tensor as well, with 256 bytes."""
    assert told is not None
    assert 0 <= told - taken <= 1024, (told, taken)


def _look() -> None:
    from gpu_studio.common.figures import MIB
    from gpu_studio.contract.events import LogicalDevice
    from gpu_studio.trainer.devices import MemoryMeter, count_host_memory

    count_host_memory()
    meter = MemoryMeter([LogicalDevice(name="CPU:0", physical="CPU:0")], {"CPU:0": 4 * MIB})
    weights = _numbers(4)
    meter.look_between_calls()
    variables, first = meter.sample()
    begin = first.current - 4 * MIB  # what else this process holds
    assert (variables.most, variables.least, variables.used) == (None, None, 4 * MIB)
    for activations, kept in [(64, 0), (16, 0), (32, 2)]:
        passing = _numbers(activations)
        left = _numbers(kept) if kept else None
        del passing
        meter.look_between_calls()
        later = _numbers(8)
        row = meter.sample()[-1]
        assert row.used == row.most
        _held(row.most, begin + (4 + max(activations + kept, kept + 8)) * MIB)
        _held(row.least, begin + (4 + kept) * MIB)
        _held(row.current, begin + (4 + kept + 8) * MIB)
        _held(row.peak, begin + (4 + 64) * MIB)
        assert row.peak >= row.most
        del later, left
        meter.sample()
    # Who asks in between, as a failure does, hears of the newest sample, and takes nothing from the
    # next one.
    for mib in (32, 16):
        passing = _numbers(mib)
        del passing
        _held(meter.read()[-1].most, begin + (4 + 32) * MIB)
        _held(meter.sample()[-1].most, begin + (4 + mib) * MIB)
    del weights


if __name__ == "__main__":
    sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    _look()
