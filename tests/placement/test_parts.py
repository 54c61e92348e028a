from __future__ import annotations

from dataclasses import replace

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.schedule import timeline, timeline_of_parts
from gpu_studio.placement.work import Device, Work, recomputing


def chain(layers: int, devices: int) -> Work:
    """A chain of layers that each take 3 s of a batch of 8, a third of it forward.

    They take as long on every device.
    """
    inputs = tuple((place - 1,) if place else () for place in range(layers))
    zero, one = np.zeros((devices, layers)), np.ones(layers)
    names = tuple(f"layer_{place}" for place in range(layers))
    return Work(
        names, inputs, zero, zero + 3 / 8, zero, one / 3, one * 0, one, one, one, one, one, batch=8
    )


def devices(count: int) -> list[Device]:
    return [Device(f"GPU:{place}") for place in range(count)]


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_that_without_a_split_it_is_the_schedule(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    places = random.integers(0, len(work.fixed), len(work.names)).tolist()
    there = devices(len(work.fixed))
    assert timeline_of_parts(work, there, [(place,) for place in places], count) == timeline(
        work, there, places, count
    )


def test_that_a_split_layer_takes_half_the_time_on_two_devices_that_work_at_once() -> None:
    step = timeline_of_parts(chain(3, 2), devices(2), [(0,), (0, 1), (0,)], 1)
    assert step.seconds == pytest.approx(3 + 1.5 + 3)
    halves = [task for task in step.tasks if task.layers == (1,) and task.what == "forward"]
    assert [(task.device, task.begin, task.end) for task in halves] == [
        (0, 1.0, 1.5),
        (1, 1.0, 1.5),
    ]


def test_that_the_bubble_counts_only_the_devices_that_there_are() -> None:
    step = timeline_of_parts(chain(1, 2), devices(2), [(0, 1)], 1)
    assert step.seconds == pytest.approx(1.5)
    assert step.bubble == pytest.approx(0)
    assert {task.device for task in step.tasks} == {0, 1}


@given(st.integers(0, 10_000), st.integers(1, 4), st.data())
def test_that_the_parts_do_the_work_of_the_whole(
    seed: int, count: int, data: st.DataObject
) -> None:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=False)
    work = replace(work, fixed=work.fixed * 0)
    some = st.lists(
        st.integers(0, len(work.fixed) - 1), min_size=1, max_size=len(work.fixed), unique=True
    )
    where = [tuple(data.draw(some)) for _ in work.names]
    step = timeline_of_parts(work, devices(len(work.fixed)), where, count)
    seconds = work.seconds(count) * count + work.update
    whole = sum(
        float(seconds[place, layer]) / len(on) for layer, on in enumerate(where) for place in on
    )
    assert sum(task.end - task.begin for task in step.tasks) == pytest.approx(whole)
    assert all(task.device in where[layer] for task in step.tasks for layer in task.layers)


def test_that_recomputing_takes_another_forward_pass_in_each_backward_pass() -> None:
    plain, again = chain(1, 1), recomputing(chain(1, 1))
    steps = [timeline_of_parts(work, devices(1), [(0,)], 2) for work in (plain, again)]
    assert [step.seconds for step in steps] == pytest.approx([3.0, 4.0])
    lengths = {task.what: task.end - task.begin for task in steps[1].tasks if task.what != "update"}
    assert lengths == pytest.approx({"forward": 0.5, "backward": 1.5})
