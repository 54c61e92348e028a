"""Placed runs of the real trainer: reported, stopped, resumed and refused like all others."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_runs import Finished, running, small_plan, trained

from gpu_studio.contract import events
from gpu_studio.contract.failure_mends import offered
from gpu_studio.plan import with_value
from gpu_studio.runs.reading.placements import judged
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

# Many short calls, so that there is time to stop in mid-epoch; a batch that the micro-batches do
# not divide.
SETTINGS = (
    "training.batch_size=17",
    "training.steps_per_call=1",
    "training.epochs=3",
    "training.learning_rate=0.003",
    "model.options={ hidden = [64, 64] }",
)
PLACED = (
    "distribution.strategy=placed",
    "distribution.placed.micro_batches=3",
    (
        'distribution.placed.layers={ dense = ["CPU:0", "CPU:1"], dense_1 '
        '= "CPU:2", outputs = "CPU:3" }'
    ),
)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A placed run that was stopped in mid-epoch."""
    with running(
        small_plan(*SETTINGS, *PLACED), tmp_path_factory.mktemp("placed"), hold_at=130
    ) as run:
        first = run.stop_where_held()
    assert first.code == 0, first.log
    return first


def test_that_a_placed_run_that_was_stopped_goes_on_plainly_as_if_nothing_had_been(
    stopped: Finished, tmp_path: Path
) -> None:
    stopped_at = stopped.one(events.Finished).step
    assert stopped_at % stopped.one(events.Model).steps_per_epoch, (
        "stopped between two epochs: the test shows nothing"
    )
    whole = trained(small_plan(*SETTINGS), tmp_path)
    second = trained(small_plan(*SETTINGS), tmp_path, resume=choose(stopped.directory))
    assert second.code == 0, second.log
    assert min(second.losses) == stopped_at
    assert stopped.losses | second.losses == pytest.approx(whole.losses, rel=1e-5)
    assert second.epochs[-1] == pytest.approx(whole.epochs[-1], rel=1e-5)


def test_that_a_placed_run_tells_where_everything_was_before_its_first_steps(
    stopped: Finished,
) -> None:
    devices = stopped.one(events.Devices)
    assert (devices.strategy, devices.replicas) == ("placed", ["CPU:0", "CPU:1", "CPU:2", "CPU:3"])
    kinds = [type(event) for event in stopped.events]
    assert kinds.index(events.Placement) < kinds.index(events.Steps)
    placement = stopped.one(events.Placement)
    asked = {each.layer: each for each in placement.asked}
    assert asked["dense"].devices == ["CPU:0", "CPU:1"]
    assert asked["dense"].joined_on == "CPU:2"  # there it is wanted
    assert asked["flatten"].devices == ["CPU:0"]  # left out: it goes to who takes it
    assert [each.layer for each in placement.asked if not each.by_plan] == ["flatten"]
    rows = {(layer, way): device for layer, way, device, _ in placement.rows if layer == "outputs"}
    assert set(rows.values()) == {"CPU:3"}
    assert not stopped.of(events.Warned)


def test_that_a_placed_run_tells_of_each_part_of_a_split_layer_where_it_ran(
    stopped: Finished,
) -> None:
    placement = stopped.one(events.Placement)
    split = {(row.way, row.part, row.device) for row in placement.parts if row.layer == "dense"}
    assert split >= {
        (way, part, f"CPU:{part}") for way in ("forward", "backward", "update") for part in "01"
    }
    assert {device for _, part, device in split if part == "join"} == {"CPU:2"}
    assert sum(row.operations for row in placement.parts) == sum(
        count for *_, count in placement.rows
    )
    assert not judged(placement).wrong


def test_that_each_device_holds_the_weights_of_its_layers_and_both_slots(stopped: Finished) -> None:
    rows = {row.device: row.current for row in stopped.of(events.Memory)[-1].devices}
    layers = {layer.name: layer.bytes for layer in stopped.one(events.Model).layers}
    assert rows["CPU:1"] == 3 * layers["dense"] // 2
    assert rows["CPU:2"] == 3 * layers["dense_1"]
    assert rows["CPU:3"] == 3 * layers["outputs"]


def test_that_a_layer_that_the_model_does_not_have_ends_the_run_with_the_nearest(
    tmp_path: Path,
) -> None:
    plan = small_plan(
        "distribution.strategy=placed", 'distribution.placed.layers={ dence = "CPU:1" }'
    )
    failed = trained(plan, tmp_path).one(events.Failed)
    assert failed.message == "The plan places the layer dence, which the model does not have."
    assert "dense" in failed.suggestions[0]
    (mend,) = offered(plan, failed.mends)
    assert mend.text == "Take it out"
    assert not with_value(plan, mend.field, mend.value).distribution.placed.layers


def test_that_a_placed_run_tells_once_when_each_stage_was_at_work_in_a_real_step(
    stopped: Finished,
) -> None:
    step = stopped.one(events.Timeline)
    assert [(stage.device, stage.layers) for stage in step.stages] == [
        ("CPU:0", ["flatten"]),
        ("CPU:2", ["dense", "dense_1"]),
        ("CPU:3", ["outputs"]),
    ]
    assert step.micro_batches == 3
    backward = {(task.stage, task.micro_batch) for task in step.tasks if task.way == "backward"}
    assert backward == {(stage, part) for stage in (1, 2) for part in (0, 1, 2)}
    assert {task.micro_batch for task in step.tasks if task.way == "update"} == {-1}
    assert all(0 <= task.begin <= task.end <= step.seconds + 1e-9 for task in step.tasks)
    assert all(0 < task.busy <= task.end - task.begin + 1e-9 for task in step.tasks)
    assert set(step.busy) == {"CPU:0", "CPU:1", "CPU:2", "CPU:3"}
    # The losses of the steps around it are those of every run: it is there once, and none is
    # missing.
    assert sorted(stopped.losses) == list(range(len(stopped.losses)))


def test_that_what_goes_between_the_devices_is_measured_in_the_same_step(stopped: Finished) -> None:
    step, timeline = stopped.one(events.Communication), stopped.one(events.Timeline)
    assert (step.step, step.steps) == (timeline.step, 1)
    assert {each.device for each in step.devices} == set(timeline.busy)
    assert 0 < step.exposed < step.seconds
    # The layers are all of what a device computes, but for the loss and the metrics.
    for each in step.devices:
        assert each.compute > 0.5 * timeline.busy[each.device]
        assert each.communication > 0


def test_that_a_stage_waits_for_the_one_before_it_in_the_measured_step(stopped: Finished) -> None:
    step = stopped.one(events.Timeline)
    begin = {(task.stage, task.way, task.micro_batch): task.begin for task in step.tasks}
    for part in range(3):
        assert begin[1, "forward", part] < begin[2, "forward", part] < begin[2, "backward", part]
