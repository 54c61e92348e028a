from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.schedule import StageTask, even_bubble, stages_of, timeline
from gpu_studio.placement.work import Device, Work


def even(stages: int, *, output_bytes: float = 0.0) -> Work:
    """One layer a stage: a whole batch of 8 takes each 3 s, a third of it forward."""
    names = tuple(f"layer_{place}" for place in range(stages))
    inputs = tuple((place - 1,) if place else () for place in range(stages))
    zero, one = np.zeros((stages, stages)), np.ones(stages)
    return Work(
        names,
        inputs,
        zero,
        zero + 3 / 8,
        zero,
        one / 3,
        one * output_bytes,
        one,
        one,
        one,
        one,
        one,
        batch=8,
    )


def devices(count: int, bandwidth: float = 1e9) -> list[Device]:
    return [Device(f"GPU:{place}", None, bandwidth) for place in range(count)]


@given(st.integers(1, 6), st.integers(1, 16))
def test_that_even_stages_leave_the_bubble_of_the_literature(
    stages: int, micro_batches: int
) -> None:
    step = timeline(even(stages), devices(stages), range(stages), micro_batches)
    assert step.bubble == pytest.approx(even_bubble(stages, micro_batches), abs=1e-9)
    assert step.seconds == pytest.approx(3 * (micro_batches + stages - 1) / micro_batches)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
def test_that_a_step_is_possible_and_no_device_does_two_things_at_once(
    seed: int, count: int, workers: int
) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    places = random.integers(0, len(work.fixed), len(work.names)).tolist()
    step = timeline(work, devices(len(work.fixed)), places, count, workers)
    stages = stages_of(places)
    assert len(step.tasks) == len(stages) * (2 * count + 1)
    for device in set(places):
        mine = sorted(
            (task for task in step.tasks if task.device == device), key=lambda task: task.begin
        )
        assert all(one.end <= other.begin + 1e-12 for one, other in pairwise(mine))
    for task in step.tasks:
        alive = [each for each in step.tasks if each.begin <= task.begin < each.end]
        assert len(alive) <= workers
        assert set(task.layers) in [set(stage) for stage in stages]
    assert 0 <= step.bubble < 1


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_that_each_stage_waits_for_its_input_and_each_gradient_for_its_taker(
    seed: int, count: int
) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    places = random.integers(0, len(work.fixed), len(work.names)).tolist()
    step = timeline(work, devices(len(work.fixed)), places, count)
    when: dict[tuple[int, int, str], StageTask] = {
        (layer, task.micro_batch, task.what): task for task in step.tasks for layer in task.layers
    }
    for layer, inputs in enumerate(work.inputs):
        for producer in inputs:
            for micro_batch in range(count):
                made, taken = (
                    when[producer, micro_batch, "forward"],
                    when[layer, micro_batch, "forward"],
                )
                assert made is taken or made.end <= taken.begin + 1e-12
                made, taken = (
                    when[layer, micro_batch, "backward"],
                    when[producer, micro_batch, "backward"],
                )
                assert made is taken or made.end <= taken.begin + 1e-12
        last = max(when[layer, micro_batch, "backward"].end for micro_batch in range(count))
        assert when[layer, -1, "update"].begin >= last - 1e-12


def test_that_a_tensor_that_crosses_takes_its_time_there_and_back() -> None:
    near = timeline(even(2), devices(2), [0, 1], 1)
    far = timeline(even(2, output_bytes=1e6), devices(2, bandwidth=8e6), [0, 1], 1)
    assert far.seconds == pytest.approx(near.seconds + 2 * 8 * 1e6 / 8e6)
    assert (
        timeline(even(2, output_bytes=1e6), devices(2, bandwidth=8e6), [1, 1], 1).seconds
        == near.seconds
    )


def test_that_devices_that_share_one_core_gain_nothing() -> None:
    assert timeline(even(2), devices(2), [0, 1], 8, workers=1).seconds == pytest.approx(6.0)


@given(st.integers(1, 8), st.sampled_from([0.25, 1 / 3, 0.5, 0.7, 0.9, 1.0]), st.integers(1, 4))
def test_that_micro_batches_share_the_cores_on_one_device_as_on_several(
    count: int, share: float, stages: int
) -> None:
    work = replace(even(stages), share=(share,) * stages)
    alone = 3 * stages / count
    spread, together = (
        timeline(work, devices(stages), places, count) for places in (range(stages), [0] * stages)
    )
    if count * share >= 1:
        # All cores are taken but for the rest, in which fewer are left than would take them all.
        assert together.seconds >= count * alone * share - 1e-9
        assert together.seconds <= count * alone * share + alone
    if count == 1:
        assert spread.seconds == pytest.approx(3 * stages)
    assert spread.seconds <= together.seconds + 1e-9
    assert 0 <= spread.bubble < 1


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_that_shared_cores_do_no_more_than_they_can_and_all_that_is_to_be_done(
    seed: int, count: int, share: float
) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    work = replace(work, share=(share,) * len(work.fixed), update=work.update * 0)
    places = random.integers(0, len(work.fixed), len(work.names)).tolist()
    step = timeline(work, devices(len(work.fixed)), places, count)
    seconds = work.seconds(count)
    whole = count * sum(float(seconds[place, layer]) for layer, place in enumerate(places))
    assert len(step.tasks) == len(stages_of(places)) * (2 * count + 1)
    assert step.seconds >= whole * share - 1e-9
    assert sum(task.end - task.begin for task in step.tasks) >= whole - 1e-9


def test_that_half_the_cores_let_two_micro_batches_run_at_once_and_no_third() -> None:
    step = timeline(replace(even(1), share=(0.5,)), devices(1), [0], 4)
    forward = sorted((task.begin, task.end) for task in step.tasks if task.what == "forward")
    assert forward == [(0.0, 0.25), (0.0, 0.25), (0.25, 0.5), (0.25, 0.5)]
    assert step.seconds == pytest.approx(1.5)
    assert step.bubble == pytest.approx(0)


def test_that_work_on_more_cores_than_there_are_goes_on_slower() -> None:
    step = timeline(replace(even(1), share=(0.8,)), devices(1), [0], 2)
    assert step.seconds == pytest.approx(0.8 * 3)


def test_that_updates_take_all_cores_and_are_no_faster_on_two_devices() -> None:
    work = even(2)
    work = replace(work, share=(0.5, 0.5), update=np.ones_like(work.update))
    for places in ([0, 0], [0, 1]):
        assert timeline(work, devices(2), places, 1).seconds == pytest.approx(6 + 2)


def test_that_a_card_shares_no_cores_with_the_processor() -> None:
    work = replace(even(2), share=(None, 0.5))
    plain = timeline(even(2), devices(2), [0, 1], 4)
    assert timeline(work, devices(2), [0, 1], 4) == plain
