from __future__ import annotations

import numpy as np
import pytest

from gpu_studio.placement.suggestion import mirrored_seconds, one_device_seconds
from gpu_studio.placement.work import Device, Work

WORK = Work(
    names=("a", "b"),
    inputs=((), (0,)),
    fixed=np.array([[1.0, 1.0], [2.0, 2.0]]),
    per_sample=np.array([[0.5, 0.25], [0.5, 0.25]]),
    update=np.array([[0.1, 0.2], [0.1, 0.2]]),
    forward_share=np.array([0.3, 0.3]),
    output_bytes=np.zeros(2),
    kept_bytes=np.zeros(2),
    passing_bytes=np.zeros(2),
    taken_bytes=np.zeros(2),
    state_bytes=np.zeros(2),
    gradient_bytes=np.zeros(2),
    batch=8,
)


def test_that_one_device_does_everything_once() -> None:
    assert one_device_seconds(WORK, 0) == pytest.approx(2 + 8 * 0.75 + 0.3)
    assert one_device_seconds(WORK, 1) == pytest.approx(4 + 8 * 0.75 + 0.3)


def test_that_replicas_share_the_batch_wait_for_the_slowest_and_sum_their_gradients() -> None:
    devices = [Device("GPU:0", None, 100.0), Device("GPU:1", None, 50.0)]
    slowest = 4 + 4 * 0.75 + 0.3
    assert mirrored_seconds(WORK, devices, 200.0) == pytest.approx(slowest + 200 / 50)
    assert mirrored_seconds(WORK, devices, 200.0, workers=1) == pytest.approx(
        2 * slowest + 200 / 50
    )
