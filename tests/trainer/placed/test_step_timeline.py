"""From a profile of one step to the reported timeline."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract.events import Stage

pytestmark = pytest.mark.slow

LOOP = "while/body/_1/while"


def seat(number, path, *devices):
    return SimpleNamespace(number=number, path=path, devices=devices, home=devices[-1])


SEATS = [seat(0, "one", "CPU:0"), seat(1, "two", "CPU:0"), seat(2, "three", "CPU:1")]


def seen(*rows):
    """Operations as (name, begin, end) with a type that is work."""
    from gpu_studio.trainer.step_recording import Executed

    return [
        Executed(f"{LOOP}/{name}", float(begin), float(end), "MatMul") for name, begin, end in rows
    ]


def told(executed, micro_batches=2, seats=SEATS):
    from gpu_studio.trainer.placed.step_timeline import timeline_of

    return timeline_of(executed, seats, 7, micro_batches)


STEP = (
    ("model_1/one/placed.0.0/MatMul", 10, 11),
    ("model_1/two/placed.1.0/MatMul", 11, 12),
    ("model_3/one/placed.0.0/MatMul", 12, 13),
    ("model_1/three/placed.2.0/MatMul", 12, 14),
    ("gradients/while/model_1/three/placed.2.0/MatMul_grad/MatMul", 14, 15),
    ("gradients_1/while/model_3/three/placed.2.0/MatMul_grad/MatMul", 16, 17),
    ("adam/update.2.0/Sub", 17, 18),
    ("loss/Mean", 18, 30),
)


def test_that_layers_on_one_device_are_a_stage_and_each_pass_of_a_micro_batch_is_a_task():
    step = told(seen(*STEP))
    assert step.stages == [
        Stage(device="CPU:0", layers=["one", "two"]),
        Stage(device="CPU:1", layers=["three"]),
    ]
    assert [
        (task.stage, task.way, task.micro_batch, task.begin, task.end) for task in step.tasks
    ] == [
        (0, "forward", 0, 0.0, 2.0),
        (0, "forward", 1, 2.0, 3.0),
        (1, "forward", 0, 2.0, 4.0),
        (1, "backward", 0, 4.0, 5.0),
        (1, "backward", 1, 6.0, 7.0),
        (1, "update", -1, 7.0, 8.0),
    ]
    assert (step.step, step.seconds, step.micro_batches) == (7, 8.0, 2)
    assert step.busy == {"CPU:0": 3.0, "CPU:1": 5.0}


def test_that_a_task_ends_where_its_stage_pauses_and_is_busy_only_while_it_computes():
    rows = [("model/one/placed.0.0/MatMul", 0, 1), ("model/two/placed.1.0/MatMul", 5, 7)]
    rows += [("model/two/placed.1.0/BiasAdd", 7.02, 8)]
    assert [(task.begin, task.end, task.busy) for task in told(seen(*rows), 1).tasks] == [
        (0.0, 1.0, 1.0),
        (5.0, 8.0, pytest.approx(2.98)),
    ]


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 3))), st.floats(0, 2))
def test_that_bursts_hold_every_span_and_lie_further_apart_than_a_pause(made, pause):
    from gpu_studio.trainer.placed.step_timeline import bursts_of

    spans = [(begin, begin + length) for begin, length in made]
    bursts = bursts_of(spans, pause)
    assert [span for burst in bursts for span in burst] == sorted(spans)
    for one, next_ in pairwise(bursts):
        assert next_[0][0] - max(end for _, end in one) > pause


def test_that_a_micro_batch_that_no_gradient_tells_of_is_left_out():
    step = told(seen(("model_5/one/placed.0.0/MatMul", 0, 1)))
    assert [task.micro_batch for task in step.tasks] == [None]


def test_that_parts_of_a_layer_are_busy_on_their_own_devices():
    split = [seat(0, "one", "CPU:0", "CPU:1")]
    rows = [("model/one/placed.0.0/MatMul", 0, 2), ("model/one/placed.0.1/MatMul", 0, 3)]
    step = told(seen(*rows, ("model/one/placed.0.join/Concat", 3, 4)), 1, split)
    assert step.busy == {"CPU:0": 2.0, "CPU:1": 4.0}
    assert [(task.device, task.begin, task.end) for task in step.tasks] == [
        ("CPU:0", 0.0, 2.0),
        ("CPU:1", 0.0, 4.0),
    ]


def test_that_carrying_values_about_is_no_work():
    from gpu_studio.trainer.step_recording import Executed

    early = Executed(f"{LOOP}/model_1/one/placed.0.0/ReadVariableOp", 0.0, 0.5, "ReadVariableOp")
    assert told([early, *seen(*STEP)]).tasks == told(seen(*STEP)).tasks


def test_that_of_a_step_in_which_no_layer_was_seen_nothing_is_told():
    assert told(seen(("loss/Mean", 0, 1))) is None
    assert told([]) is None
