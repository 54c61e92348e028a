"""The question about time holds what the times depend on, and nothing else."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from gpu_studio.placement.work import LayerTime, links_in, times_in
from gpu_studio.plan import (
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    Machine,
    ModelSettings,
    Named,
    Placed,
    Plan,
    PlannedDevice,
    Training,
    logical_devices,
    with_absolute_files,
)
from gpu_studio.runs.questions.plan_question import times_question

MACHINE = Machine(cpu_cores=4)
PLAN = Plan(
    model=ModelSettings(name="mlp"),
    data=Data(name="digits"),
    devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),)),
)
TWO_CARDS = (
    PlannedDevice("GPU:0", "GPU:0", 512),
    PlannedDevice("GPU:1", "GPU:0", 512),
    PlannedDevice("GPU:2", "GPU:1", None),
)


def question(plan: Plan) -> str:
    return json.dumps(times_question(plan, logical_devices(plan, MACHINE)), sort_keys=True)


@pytest.mark.parametrize(
    "edited",
    [
        replace(PLAN, name="another"),
        replace(PLAN, training=Training(epochs=7, early_stopping=EarlyStopping(), seed=3)),
        replace(PLAN, training=Training(schedule=Named("cosine"), learning_rate=0.3)),
        replace(PLAN, distribution=Distribution("placed", placed=Placed(4, {"dense": ("CPU:1",)}))),
    ],
)
def test_that_an_edit_that_changes_no_time_is_the_same_question(edited) -> None:
    assert question(edited) == question(PLAN)


@pytest.mark.parametrize(
    "edited",
    [
        replace(PLAN, training=Training(batch_size=7)),
        replace(PLAN, training=Training(optimizer="sgd")),
        replace(PLAN, training=Training(options={"momentum": 0.9})),
        replace(PLAN, training=Training(mixed_precision=True)),
        replace(PLAN, training=Training(tf32=False)),
        replace(PLAN, model=ModelSettings(name="mlp", options={"hidden": [3]})),
        replace(PLAN, data=Data(name="mnist")),
        replace(PLAN, devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0, 0)),))),
    ],
)
def test_that_an_edit_that_may_change_a_time_is_another_question(edited) -> None:
    assert question(edited) != question(PLAN)


def test_that_of_each_physical_device_the_largest_slice_is_measured() -> None:
    assert times_question(PLAN, TWO_CARDS)["devices"] == ["GPU:0", "GPU:2"]
    uneven = [
        PlannedDevice(f"GPU:{number}", "GPU:0", mib) for number, mib in enumerate((16, 512, 512))
    ]
    assert times_question(PLAN, uneven)["devices"] == ["GPU:1"]


def test_that_a_model_file_that_was_written_anew_is_another_question(tmp_path) -> None:
    path = tmp_path / "model.keras"
    path.write_bytes(b"12345")
    os.utime(path, ns=(5, 7))
    plan = with_absolute_files(replace(PLAN, model=ModelSettings(file="model.keras")), tmp_path)
    first = times_question(plan, ())
    assert first["files"] == {str(path): [5, 7]}
    os.utime(path, ns=(5, 8))
    assert times_question(plan, ()) != first


def test_that_slices_of_a_device_have_the_times_and_the_link_of_the_first() -> None:
    answer = {
        "times": {
            "GPU:0": {"dense": {"forward_fixed": 1.0, "share": None}},
            "GPU:2": {"dense": {"update": 2.0}},
        },
        "links": {"GPU:0": 5e9},
    }
    times = times_in(answer, TWO_CARDS)
    assert times["GPU:0"] == times["GPU:1"] == {"dense": LayerTime(forward_fixed=1.0)}
    assert times["GPU:2"] == {"dense": LayerTime(update=2.0)}
    assert links_in(answer, TWO_CARDS) == {"GPU:0": 5e9}


@pytest.mark.parametrize("answer", [{}, {"times": 3}, {"times": {"GPU:0": {"dense": "long"}}}])
def test_that_what_is_no_answer_is_refused(answer) -> None:
    with pytest.raises(ValueError, match="Expected"):
        times_in(answer, TWO_CARDS)
