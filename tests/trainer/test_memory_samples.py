"""Each sample of memory tells the most and the least of its interval, and the run's peak."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_studio.common.figures import MIB
from gpu_studio.contract.events import LogicalDevice

pytestmark = pytest.mark.slow


def numbers(mib: int) -> Any:
    """So many MiB of an allocator; that of CPUs gives more for what is no power of two."""
    import tensorflow as tf

    return tf.zeros((mib, MIB // 4), tf.float32)


def test_that_a_sample_tells_its_interval_and_the_peak_stays_that_of_the_run() -> None:
    from gpu_studio.trainer.devices import MemoryMeter

    meter = MemoryMeter([LogicalDevice(name="CPU:0", physical="CPU:0")], {"CPU:0": 4 * MIB})
    weights = numbers(4)
    meter.look_between_calls()
    variables, first = meter.sample()
    begin = first.current - 4 * MIB  # what else this process holds
    assert (variables.most, variables.least, variables.used) == (None, None, 4 * MIB)
    for step, (activations, kept) in enumerate([(64, 0), (16, 0), (32, 2)]):
        passing = numbers(activations)
        left = numbers(kept) if kept else None
        del passing
        meter.look_between_calls()
        later = numbers(8)
        row = meter.sample()[-1]
        assert row.used == row.most == begin + (4 + max(activations + kept, kept + 8)) * MIB, step
        assert row.least == begin + (4 + kept) * MIB
        assert row.current == begin + (4 + kept + 8) * MIB
        assert row.peak == begin + (4 + 64) * MIB >= row.most
        del later, left
        meter.sample()
    # Who asks in between, as a failure does, hears of the newest sample, and takes nothing from the
    # next one.
    for mib in (32, 16):
        passing = numbers(mib)
        del passing
        assert meter.read()[-1].most == begin + (4 + 32) * MIB
        assert meter.sample()[-1].most == begin + (4 + mib) * MIB
    del weights
