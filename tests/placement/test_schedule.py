from __future__ import annotations

from itertools import pairwise

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.schedule import Task, even_bubble, stages_of, timeline
from gpu_studio.placement.work import Device, Work


def even(stages: int, *, output_bytes: float = 0.0) -> Work:
    """One layer a stage: a whole batch of 8 takes each 3 s, a third of it forward."""
    names = tuple(f"layer_{place}" for place in range(stages))
    inputs = tuple((place - 1,) if place else () for place in range(stages))
    zero, one = np.zeros((stages, stages)), np.ones(stages)
    return Work(names, inputs, zero, zero + 3 / 8, zero, one / 3, one * output_bytes, one, one, batch=8)


def devices(count: int, bandwidth: float = 1e9) -> list[Device]:
    return [Device(f"GPU:{place}", None, bandwidth) for place in range(count)]


@given(st.integers(1, 6), st.integers(1, 16))
def test_that_even_stages_leave_the_bubble_of_the_literature(stages: int, micro_batches: int) -> None:
    step = timeline(even(stages), devices(stages), range(stages), micro_batches)
    assert step.bubble == pytest.approx(even_bubble(stages, micro_batches), abs=1e-9)
    assert step.seconds == pytest.approx(3 * (micro_batches + stages - 1) / micro_batches)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
def test_that_a_step_is_possible_and_no_device_does_two_things_at_once(seed: int, count: int, workers: int) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    places = random.integers(0, len(work.fixed), len(work.names)).tolist()
    step = timeline(work, devices(len(work.fixed)), places, count, workers)
    stages = stages_of(places)
    assert len(step.tasks) == len(stages) * (2 * count + 1)
    for device in set(places):
        mine = sorted((task for task in step.tasks if task.device == device), key=lambda task: task.begin)
        assert all(one.end <= other.begin + 1e-12 for one, other in pairwise(mine))
    for task in step.tasks:
        alive = [each for each in step.tasks if each.begin <= task.begin < each.end]
        assert len(alive) <= workers
        assert set(task.layers) in [set(stage) for stage in stages]
    assert 0 <= step.bubble < 1


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_that_each_stage_waits_for_its_input_and_each_gradient_for_its_taker(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    places = random.integers(0, len(work.fixed), len(work.names)).tolist()
    step = timeline(work, devices(len(work.fixed)), places, count)
    when: dict[tuple[int, int, str], Task] = {
        (layer, task.micro_batch, task.what): task for task in step.tasks for layer in task.layers
    }
    for layer, inputs in enumerate(work.inputs):
        for producer in inputs:
            for micro_batch in range(count):
                made, taken = when[producer, micro_batch, "forward"], when[layer, micro_batch, "forward"]
                assert made is taken or made.end <= taken.begin + 1e-12
                made, taken = when[layer, micro_batch, "backward"], when[producer, micro_batch, "backward"]
                assert made is taken or made.end <= taken.begin + 1e-12
        last = max(when[layer, micro_batch, "backward"].end for micro_batch in range(count))
        assert when[layer, -1, "update"].begin >= last - 1e-12


def test_that_a_tensor_that_crosses_takes_its_time_there_and_back() -> None:
    near = timeline(even(2), devices(2), [0, 1], 1)
    far = timeline(even(2, output_bytes=1e6), devices(2, bandwidth=8e6), [0, 1], 1)
    assert far.seconds == pytest.approx(near.seconds + 2 * 8 * 1e6 / 8e6)
    assert timeline(even(2, output_bytes=1e6), devices(2, bandwidth=8e6), [1, 1], 1).seconds == near.seconds


def test_that_devices_that_share_one_core_gain_nothing() -> None:
    assert timeline(even(2), devices(2), [0, 1], 8, workers=1).seconds == pytest.approx(6.0)
