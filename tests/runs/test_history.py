from __future__ import annotations

import numpy as np
import pytest

from gpu_studio.contract import events
from gpu_studio.runs.reading import log_lines
from gpu_studio.runs.reading.history import History

STARTED = events.Started(run="r", plan="p", pid=1, host="h", gpu_studio="0", python="3", time=100.0)
MODEL = events.Model(
    name="m", parameters=1, trainable=1, layers=[], data="d", train_samples=40,
    validation_samples=0, test_samples=0, epochs=3, steps_per_epoch=4, global_batch=10,
    replica_batches=[10], optimizer="sgd", loss="mse", precision="float32", time=101.0,
)  # fmt: skip
RUNNING = events.StateChanged(state="running", time=101.5)


def steps(first, *losses, epoch=1, time=102.0, seconds=1.0):
    return events.Steps(epoch=epoch, first_step=first, losses=list(losses),
                        samples=10 * len(losses), seconds=seconds, input_seconds=0.25 * seconds,
                        time=time)  # fmt: skip


def epoch(number, step, **metrics):
    return events.Epoch(
        epoch=number, step=step, metrics=metrics, seconds=2, samples_per_second=20, time=103.0
    )


def finished(reason, step, number=3):
    return events.Finished(reason=reason, seconds=9, epoch=number, step=step, time=110.0)


def folded(*batch):
    result = History()
    result.apply_all(batch)
    return result


def test_that_nothing_is_invented_before_the_first_event():
    empty = History()
    assert (empty.run, empty.plan, empty.state, empty.step, empty.epoch) == (
        "",
        "",
        "starting",
        0,
        0,
    )
    known = (
        empty.progress,
        empty.epoch_progress,
        empty.eta_seconds,
        empty.samples_per_second,
        empty.seconds,
        empty.loss,
    )
    assert known == (None,) * 6


def test_that_a_run_in_the_middle_is_told_in_full():
    run = folded(STARTED, MODEL, RUNNING, steps(0, 4.0, 3.0), steps(2, 2.0, None, time=104.0))
    assert (run.run, run.plan, run.state, run.epoch, run.step) == ("r", "p", "running", 1, 4)
    assert (run.epochs_total, run.steps_total) == (3, 12)
    assert run.progress == pytest.approx(4 / 12)
    assert run.epoch_progress == 1.0
    assert run.samples_per_second == pytest.approx(20)
    assert run.input_share == pytest.approx(0.25)
    assert run.eta_seconds == pytest.approx(4.0)
    assert run.seconds == pytest.approx(4.0)
    assert run.loss is None


@pytest.mark.parametrize(
    ("from_epoch", "from_step", "in_epoch", "share"),
    [(1, 4, 2, 0.0), (2, 6, 2, 0.5), (3, 12, 3, 1.0), (0, 0, 0, 0.0)],
)
def test_that_a_resumed_run_is_in_the_epoch_of_its_next_step_before_it_has_trained_one(
    from_epoch, from_step, in_epoch, share
):
    begun = events.Started(
        run="r", plan="p", pid=1, host="h", gpu_studio="0", python="3", time=100.0,
        from_epoch=from_epoch, from_step=from_step,
    )  # fmt: skip
    run = folded(begun, MODEL, RUNNING)
    assert (run.epoch, run.epoch_progress) == (in_epoch, share)
    assert folded(begun, MODEL, finished("stopped", from_step, from_epoch)).epoch == from_epoch


def test_that_a_curve_counts_steps_from_1_and_spreads_them_over_the_call():
    run = folded(steps(0, 4.0, 3.0, 2.0, 1.0, time=102.0, seconds=2.0), steps(4, None, time=103.0))
    assert run.losses.column("step").tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(run.losses.column("loss"), [4, 3, 2, 1, np.nan])
    assert run.losses.column("time").tolist() == pytest.approx([100.5, 101.0, 101.5, 102.0, 103.0])


def test_that_the_end_of_an_epoch_lies_above_its_last_step():
    run = folded(MODEL, steps(0, 4.0, 3.0, 2.0, 1.0), epoch(1, 4, loss=2.5, val_loss=3.0))
    assert run.epochs.steps.tolist() == [run.losses.column("step")[-1]]
    assert run.epochs.metric("val_loss").tolist() == [3.0]


def test_that_progress_within_an_epoch_starts_anew_with_each():
    run = folded(MODEL, steps(0, 1.0, 1.0, 1.0, 1.0), epoch(1, 4), steps(4, 1.0, epoch=2))
    assert run.epoch_progress == pytest.approx(0.25)


def test_that_a_pause_shows_no_throughput_and_no_time_passing():
    before = [STARTED, MODEL, RUNNING, steps(0, 1.0), steps(1, 1.0, time=103.0)]
    run = folded(*before, events.StateChanged(state="paused", reason="asked", time=103.0))
    assert (run.state, run.reason, run.samples_per_second) == ("paused", "asked", None)
    run.apply(events.StateChanged(state="running", time=1103.0))
    run.apply(steps(2, 1.0, time=1104.0))
    assert run.eta_seconds == pytest.approx(9.0)


@pytest.mark.parametrize(
    ("reason", "state", "step", "progress"),
    [
        ("completed", "finished", 12, 1.0),
        ("early_stopping", "finished", 8, 8 / 12),
        ("stopped", "stopped", 5, 5 / 12),
        ("stopped_now", "stopped", 5, 5 / 12),
    ],
)
def test_that_a_run_that_was_stopped_is_told_from_one_that_finished(reason, state, step, progress):
    run = folded(STARTED, MODEL, RUNNING, steps(0, 1.0), finished(reason, step))
    assert (run.state, run.reason, run.ended, run.step) == (state, reason, True, step)
    assert run.progress == pytest.approx(progress)
    assert run.eta_seconds == 0
    assert run.samples_per_second is None


def test_that_a_failure_keeps_its_words():
    run = folded(
        STARTED,
        events.Failed(message="No memory.", suggestions=["Less."], traceback="T", time=105.0),
    )
    assert (run.state, run.reason, run.failure.suggestions) == ("failed", "No memory.", ["Less."])
    assert [(line.level, line.message) for line in run.log] == [("error", "No memory.")]


def test_that_only_a_run_without_an_end_can_be_lost():
    run = folded(STARTED, RUNNING)
    run.conclude_lost("gone")
    assert (run.state, run.reason, run.ended) == ("lost", "gone", True)
    run = folded(STARTED, finished("completed", 12))
    run.conclude_lost()
    assert run.state == "finished"


def test_that_memory_is_kept_for_each_device_with_what_was_counted():
    def sample(time, current, peak, **since):
        gpu = events.DeviceMemory(
            device="GPU:0", current=current, peak=peak, source="allocator", limit=1000, **since
        )
        cpu = events.DeviceMemory(device="CPU:0", current=5, peak=5, source="host")
        return events.Memory(devices=[gpu, cpu], time=time)

    old = sample(1.0, 10, 20)
    run = folded(old, sample(1.5, 30, 40, most=40, least=8), sample(2.0, 15, 40, most=25, least=9))
    gpu, cpu = run.memory["GPU:0"], run.memory["CPU:0"]
    assert gpu.times.tolist() == [1.0, 1.5, 2.0]
    # What an older version did not know is what was in use at the sample, with no band below it.
    assert gpu.used.tolist() == [10, 40, 25]
    assert gpu.floor.column("least").tolist() == [8, 9]
    assert gpu.floor.x.tolist() == [1.5, 2.0]
    assert (gpu.peak, gpu.limit, gpu.source, gpu.latest.current) == (40, 1000, "allocator", 15)
    assert (cpu.limit, cpu.source, cpu.total) == (None, "host", 3)


def test_that_a_checkpoint_takes_those_it_pushed_out_from_the_list():
    def written(name, removed=()):
        return events.Checkpoint(
            name=name, epoch=1, step=1, bytes=1, seconds=1, removed=list(removed)
        )

    run = folded(written("a"), written("b"), written("c", ["a"]), written("b"))
    assert [saved.name for saved in run.checkpoints] == ["c", "b"]


def test_that_the_learning_rate_lies_above_the_step_it_trained():
    run = folded(events.LearningRate(step=0, value=0.1), events.LearningRate(step=4, value=0.05))
    assert run.learning_rates.column("step").tolist() == [1, 5]
    assert run.learning_rates.column("value").tolist() == [0.1, 0.05]


def test_that_the_log_is_bounded_and_says_how_much_is_gone(monkeypatch):
    monkeypatch.setattr(log_lines, "LOG_LINES", 5)
    run = folded(*(events.Log(message=str(number), time=1.0) for number in range(8)))
    run.apply(events.Warned(message="Careful.", suggestion="Look.", time=2.0))
    assert [line.message for line in run.log] == ["4", "5", "6", "7", "Careful. Look."]
    assert (run.log[-1].level, run.log_dropped, len(run.warnings)) == ("warning", 4, 1)


def test_that_every_kind_of_event_is_taken_in():
    placement = events.Placement(rows=[("dense", "forward", "CPU:1", 3)], time=101.0)
    devices = events.Devices(logical=[], replicas=["CPU:0"], strategy="none", time=100.5)
    run = folded(STARTED, devices, MODEL, placement, RUNNING, events.Log(message="x"))
    assert (run.devices, run.model, run.placement) == (devices, MODEL, placement)
    assert run.revision == 6


def test_that_events_after_the_clock_was_put_back_stand_after_those_before():
    warned, saved = events.Warned(message="!", time=5001.0), events.Checkpoint(
        name="a", epoch=1, step=1, bytes=1, seconds=1, time=11.0)  # fmt: skip
    run = folded(
        STARTED,
        steps(0, 1.0, time=5000.0),
        warned,
        steps(1, 2.0, time=10.0),
        saved,
        steps(2, 3.0, time=12.0),
    )
    assert run.losses.column("time").tolist() == [5000.0, 5001.0, 5003.0]
    assert (run.warnings[0].time, run.checkpoints[0].time, run.seconds) == (5001.0, 5002.0, 4903.0)
    assert run.samples_per_second is None or run.samples_per_second >= 0


def test_that_what_is_foreseen_of_a_run_gives_way_to_what_is_read_of_it():
    first, later = (
        folded(STARTED, MODEL, RUNNING),
        folded(STARTED, steps(2, 2.0, time=104.0), memory(104.5, 30)),
    )
    first.foresee(later)
    assert first.losses.column("loss").tolist() == [2.0]
    assert first.memory["GPU:0"].used.tolist() == [30]
    assert (first.step, first.loss) == (0, None), "only curves are foreseen"
    first.apply_all([steps(0, 4.0, 3.0), steps(2, 2.5, time=104.0), memory(103.0, 10)])
    assert first.losses.column("loss").tolist() == [4.0, 3.0, 2.5]
    assert first.memory["GPU:0"].used.tolist() == [10, 30]


def test_that_a_history_which_shares_curves_has_its_own_newest_figures():
    whole, seen = (
        folded(STARTED, MODEL, RUNNING),
        folded(STARTED, MODEL, steps(4, 9.0, time=109.0), memory(109.0, 90)),
    )
    whole.foresee(seen)
    seen.share(whole)
    whole.apply_all([steps(0, 4.0, time=103.0), epoch(1, 1, loss=4.0), memory(103.0, 10)])
    assert (seen.step, seen.loss, seen.seconds, seen.memory["GPU:0"].latest.current) == (
        5,
        9.0,
        9.0,
        90,
    )
    assert seen.losses.column("loss").tolist() == [4.0, 9.0]
    assert seen.memory["GPU:0"].used.tolist() == [10, 90]
    assert seen.epochs.last.epoch == 1


def memory(time, current):
    gpu = events.DeviceMemory(device="GPU:0", current=current, peak=current, source="allocator")
    return events.Memory(devices=[gpu], time=time)


def test_that_what_is_inherited_makes_the_curve_but_not_the_pace():
    run = History()
    for event in (STARTED, steps(0, 4.0, 3.0), epoch(1, 2, loss=3.5), finished("stopped", 2, 1)):
        run.inherit(event)
    assert (run.state, run.started, run.step, run.epoch) == ("starting", None, 2, 1)
    assert run.losses.column("loss").tolist() == [4.0, 3.0]
    assert run.pace.samples_per_second is None
    run.apply(
        events.Started(
            **{name: getattr(STARTED, name) for name in STARTED.__struct_fields__}
            | {"from_step": 2}
        )
    )
    run.apply(steps(2, 2.0))
    assert run.losses.column("step").tolist() == [1, 2, 3]


def test_that_the_measured_timeline_of_a_step_is_kept():
    timeline = events.Timeline(
        step=3,
        seconds=0.5,
        micro_batches=2,
        stages=[events.Stage(device="CPU:1", layers=["dense"])],
        tasks=[
            events.StageSpan(
                stage=0, way="forward", micro_batch=None, begin=0.0, end=0.5, busy=0.25
            )
        ],
        busy={"CPU:1": 0.25},
    )
    assert folded().timeline is None
    assert folded(events.decode(events.encode(timeline))).timeline == timeline


def test_that_a_clock_that_is_put_forward_makes_no_run_longer():
    """By the times of its events this run lasted 400 days."""
    year = 400 * 86_400.0
    run = History()
    run.apply(STARTED)
    run.apply(events.Memory(devices=[], time=1002.0, elapsed=2.0))
    assert run.seconds == 2.0
    run.apply(
        events.Finished(reason="completed", seconds=3, epoch=1, step=1, time=year, elapsed=4.5)
    )
    assert run.seconds == 4.5
    run.apply(events.Log(message="late", time=year, elapsed=9.0))
    assert run.seconds == 4.5
