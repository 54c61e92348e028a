"""What the Train page writes: figures, headline, readout, memory, outcome. Values in, words out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import MIB, Script, make_run
from msgspec.structs import replace

from gpu_studio.common import figures
from gpu_studio.common.figures import metric_label, metric_names
from gpu_studio.contract import events
from gpu_studio.runs.lineage import events_of, read_history
from gpu_studio.runs.reading.history import History
from gpu_studio.ui.kit.plots.backdrop import Limit
from gpu_studio.ui.train.card_record import CardRecord
from gpu_studio.ui.train.device_figures import device_table, memory_now
from gpu_studio.ui.train.device_plot import caption, limits, memory_drawing
from gpu_studio.ui.train.header import headlines
from gpu_studio.ui.train.outcome import outcome
from gpu_studio.ui.train.readout import RunCalls, readout
from gpu_studio.ui.train.run_log import RunLog


def told(run):
    """The history of a run as it stands, and its calls."""
    history, calls = read_history(run), RunCalls()
    for event in events_of(run):
        if isinstance(event, events.Steps):
            calls.add(event)
    return history, calls


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.13104, "0.1310"), (2.5, "2.500"), (0.0, "0"), (-1.5, "-1.500"), (123456.0, "123,456"),
        (1.5e7, "1.500e+07"), (0.00001234, "1.234e-05"), (None, figures.NOT_A_NUMBER),
        (math.nan, figures.NOT_A_NUMBER), (math.inf, figures.NOT_A_NUMBER),
    ],
)  # fmt: skip
def test_that_a_loss_is_written_in_four_digits(number, text):
    assert figures.metric(number) == text


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30))
def test_that_a_written_loss_is_the_loss_to_four_digits(number):
    assert float(figures.metric(number).replace(",", "")) == pytest.approx(number, rel=6e-4)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"), (900, "900 B"), (2048, "2 KiB"), (int(1.4 * MIB), "1.4 MiB"),
        (611 * MIB, "611 MiB"), (1024 * MIB, "1 GiB"), (12 * 1024 * MIB, "12 GiB"),
    ],
)  # fmt: skip
def test_that_bytes_are_written_in_binary_units(count, text):
    assert figures.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0067, "6.70 ms"), (0.00031, "310 µs"), (1.44, "1.44 s"), (0.1234, "123 ms")],
)
def test_that_short_times_carry_their_unit(seconds, text):
    assert figures.span(seconds) == text


def test_that_a_rate_is_rounded_to_what_can_be_read():
    assert figures.rounded(38412.7) == "38,400"
    assert figures.rounded(4.26) == "4.3"
    assert figures.learning_rate(0.00082) == "0.00082"
    assert figures.share(0.031) == "3 %"


def test_that_metrics_are_called_by_their_last_word_unless_two_would_be_called_the_same():
    names = ["sparse_categorical_accuracy", "mean_absolute_error"]
    assert metric_names(["loss", "val_loss", *names, f"val_{names[0]}"]) == names
    assert metric_label(names[0], names) == "accuracy"
    twins = ["categorical_accuracy", "top_k_categorical_accuracy"]
    assert metric_label(twins[1], twins) == "top k categorical accuracy"


def test_that_the_metrics_of_several_outputs_are_called_by_their_outputs():
    names = ["loss", "age_loss", "age_mean_absolute_error", "age_group_loss", "age_group_accuracy"]
    assert [metric_label(name, names) for name in names] == [
        "loss",
        "age loss",
        "age error",
        "age group loss",
        "age group accuracy",
    ]
    twins = [*names, "age_group_top_k_accuracy"]
    assert metric_label("age_group_accuracy", twins) == "age group accuracy"
    assert metric_label("age_group_top_k_accuracy", twins) == "age group top k accuracy"


def test_that_a_live_run_is_told_by_place_speed_and_time_left(runs_dir):
    history = History()
    history.apply_all(events_of(make_run(runs_dir, Script(trained=20.5))))
    line, *shorter = headlines(history, "about 20 s")
    assert line.startswith("epoch 21 of 30 · step 4,100 · 26,1")
    assert line.endswith(" · about 20 s left")
    assert headlines(history)[0].endswith(" · time left –")
    assert shorter[0] == line.replace(" · step 4,100", "")
    assert shorter[1:] == ["epoch 21 of 30 · about 20 s left", "epoch 21 of 30"]


def test_that_a_run_that_begins_says_what_it_is_at(runs_dir):
    history = History()
    assert headlines(history) == ["starting TensorFlow…"]
    history.apply(events.Devices(logical=[], replicas=[], strategy="none"))
    assert headlines(history) == ["building the model…"]
    model = next(
        each for each in events_of(make_run(runs_dir, Script())) if isinstance(each, events.Model)
    )
    history.apply_all([model, events.StateChanged(state="running")])
    said = "the first step takes longest: TensorFlow compiles it…"
    assert headlines(history) == [said, "the first step…"]
    history.apply(events.Steps(epoch=1, first_step=0, losses=[None], seconds=0.1, samples=8))
    assert headlines(history)[0].startswith("epoch 1 of 30 · step 1"), "not a number is a loss, too"


@pytest.mark.parametrize(
    ("ending", "begin", "end"),
    [
        ("completed", "test accuracy 0.9620 · test loss 0.1310 · took ", " s"),
        ("stopped", "after 2 of 30 epochs and 100 steps, with a checkpoint · took ", " s"),
        ("failed", "ended after 2 of 30 epochs and 100 steps", ""),
        ("none", "ended after 2 of 30 epochs and 100 steps", ""),
    ],
)
def test_that_an_ended_run_says_how(runs_dir, ending, begin, end):
    line, *_ = headlines(read_history(make_run(runs_dir, Script(trained=2.5, ending=ending))))
    assert line.startswith(begin)
    assert line.endswith(end)


@pytest.mark.parametrize(
    ("ending", "trained", "shorter"),
    [
        (
            "completed",
            30,
            ["test accuracy 0.9620 · test loss 0.1310", "test accuracy 0.9620"],
        ),
        (
            "stopped",
            2.5,
            [
                "after 2 of 30 epochs and 100 steps, with a checkpoint",
                "epoch 3 of 30, with a checkpoint",
                "with a checkpoint",
            ],
        ),
        ("stopped", 2, ["after 2 of 30 epochs, with a checkpoint", "with a checkpoint"]),
        ("stopped", 0.5, ["after 100 of 6,000 steps, with a checkpoint", "with a checkpoint"]),
        ("failed", 2.5, ["ended in epoch 3 of 30"]),
    ],
)
def test_that_where_there_is_little_room_what_is_decided_by_is_left_out_last(
    runs_dir, ending, trained, shorter
):
    run = make_run(runs_dir, Script(trained=trained, ending=ending))
    assert headlines(read_history(run))[1:] == shorter


def test_that_the_readout_tells_the_numbers_of_the_moment_asked_for(runs_dir):
    history, calls = told(make_run(runs_dir, Script(trained=4, epochs=4)))
    third = history.epochs.rows[2]
    moment = third.time - history.started.time + 0.01
    rows = dict(readout(history, calls, moment, "sparse_categorical_accuracy").rows)
    assert rows["step"] == "600"
    assert rows["loss"] == figures.metric(float(history.losses.column("loss")[599]))
    assert rows["val loss"] == figures.metric(third.metrics["val_loss"])
    assert rows["val accuracy"] == figures.metric(third.metrics["val_sparse_categorical_accuracy"])
    assert rows["step time"] == "9.80 ms"
    assert rows["input wait"] in ("3 %", "4 %", "5 %")
    assert float(rows["learning rate"]) == pytest.approx(0.001 * (1 - 0.8 * 59 / 80), rel=0.01)


def test_that_the_readout_of_now_is_the_newest_and_says_so(runs_dir):
    history, calls = told(make_run(runs_dir, Script(trained=2, epochs=4)))
    now = readout(history, calls, None, None)
    assert now.title == "Newest step"
    assert dict(now.rows)["step"] == "400"
    assert "accuracy" not in now.text


def test_that_before_the_first_epoch_there_is_a_dash_and_before_the_first_step_nothing(runs_dir):
    history, calls = told(make_run(runs_dir, Script(trained=2, epochs=4)))
    early = dict(readout(history, calls, 0.0, "sparse_categorical_accuracy").rows)
    assert set(early.values()) == {"–"}
    assert readout(History(), RunCalls(), None, None) is None


@pytest.fixture
def record(qapp, tmp_path):
    """A run beside which nothing was recorded."""
    return CardRecord(tmp_path / "hardware.jsonl")


def test_that_each_device_is_told_against_its_limit_in_the_order_of_the_devices(runs_dir, record):
    devices = memory_now(told(make_run(runs_dir, Script(trained=1)))[0], record)
    assert [device.name for device in devices] == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]
    assert [device.place for device in devices] == [0, 1, 2, 3]
    assert all(0 < device.share < device.peak_share <= 1 for device in devices)
    assert devices[0].caption.endswith(" of 1,024 MiB")
    assert "allocator" in devices[0].text
    assert [limit.value for limit in limits(devices)] == [1024 * MIB]
    assert caption(devices)[0] == "in use by TensorFlow's allocator"


def test_that_a_carved_cpu_says_that_variables_and_the_hosts_arena_were_counted(runs_dir, record):
    devices = memory_now(told(make_run(runs_dir, Script(kind="CPU", trained=1)))[0], record)
    assert [device.name for device in devices] == ["CPU:0", "CPU:1", "CPU:2", "CPU:3", "host"]
    assert devices[-1].place is None
    assert "all logical CPUs" in devices[-1].caption
    assert all(
        device.caption == "variables placed here" and device.share is None
        for device in devices[:-1]
    )
    assert limits(devices) == []
    assert "host: arena" in caption(devices)[0]


def test_that_a_limit_far_above_the_curves_is_told_at_the_upper_edge(runs_dir, record):
    history = told(make_run(runs_dir, Script(trained=1)))[0]
    far = events.DeviceMemory(
        device="GPU:0", current=10 * MIB, peak=10 * MIB, source="allocator", limit=80 * 1024 * MIB
    )
    unused = replace(far, device="GPU:1", current=0, peak=0, limit=200 * 1024 * MIB)
    history.memory.clear()
    history.apply(events.Memory(devices=[far, unused], time=history.last_time))
    devices = memory_now(history, record)
    assert limits(devices) == [Limit(80 * 1024 * MIB, "limit 80 GiB, 8,192 × the peak", above=True)]


def test_that_a_device_without_a_limit_says_so(record):
    history = History()
    history.apply(
        events.Memory(
            devices=[events.DeviceMemory(device="GPU:0", current=5, peak=9, source="allocator")]
        )
    )
    assert memory_now(history, record)[0].caption == "peak 9 B · no limit"


@pytest.mark.parametrize(
    ("ending", "resumable"), [("failed", True), ("none", True), ("stopped", True)]
)
def test_that_a_run_that_can_be_gone_on_with_says_so(runs_dir, ending, resumable):
    run = make_run(runs_dir, Script(trained=2.5, ending=ending))
    told_of = outcome(run, read_history(run))
    assert told_of.resumable is resumable
    assert told_of.message


def test_that_suggestions_for_the_terminal_are_left_to_the_buttons(runs_dir):
    run = make_run(runs_dir, Script(trained=2.5))
    told_of = outcome(run, read_history(run))
    assert told_of.suggestions
    assert not any(
        "gpu-studio" in text or str(run.log_file) in text for text in told_of.suggestions
    )
    assert "tensorflow/core: line 39" in told_of.details


def test_that_without_a_checkpoint_nothing_can_be_resumed(runs_dir):
    run = make_run(runs_dir, Script(trained=0.5, ending="stopped"))
    told_of = outcome(run, read_history(run))
    assert not told_of.resumable
    assert "no checkpoint" in told_of.message


def test_that_a_completed_run_needs_no_words(runs_dir):
    run = make_run(runs_dir, Script(trained=1, epochs=1, ending="completed"))
    assert outcome(run, read_history(run)) is None


def lines_of(*happened):
    log = RunLog()
    for event in happened:
        log.add(event)
    return [(line.level, line.message) for line in log.since(0)]


def test_that_log_lines_are_kept_from_the_newest_and_counted_from_the_first():
    log = RunLog()
    for number in range(3):
        log.add(events.Log(message=str(number), time=float(number)))
    assert [line.message for line in log.since(1)] == ["1", "2"]
    assert log.since(3) == []
    for number in range(20_000):
        log.add(events.Log(message=str(number)))
    assert [line.message for line in log.since(3)][-1] == "19999"
    assert len(log.since(0)) == 10_000


def test_that_the_log_tells_what_happened_and_not_every_step():
    memory = events.Memory(devices=[])
    steps = events.Steps(epoch=1, first_step=0, losses=[1.0], samples=1, seconds=1.0)
    assert lines_of(memory, steps, events.LearningRate(step=1, value=0.1)) == []
    assert lines_of(
        events.Epoch(
            epoch=20,
            step=9,
            metrics={"loss": 0.0914, "val_loss": None},
            seconds=1,
            samples_per_second=1,
        ),
        events.Checkpoint(name="a", epoch=20, step=4000, bytes=1_430_000, seconds=0.011, best=True),
        events.StateChanged(state="paused"),
        events.Warned(message="The disk is slow.", suggestion="Use another."),
        events.Failed(message="GPU:2 is gone.", suggestions=[]),
        events.StateChanged(state="finished"),
        events.Finished(
            reason="completed", seconds=1.0, epoch=1, step=1, metrics={"test_loss": 0.5}
        ),
    ) == [
        ("info", "epoch 20 loss 0.09140 val_loss not a number"),
        ("info", "checkpoint best, after epoch 20, at step 4,000 (1.4 MiB, 11.0 ms)"),
        ("info", "paused"),
        ("warning", "The disk is slow. Use another."),
        ("error", "GPU:2 is gone."),
        ("info", "finished test_loss 0.5000"),
    ]


def test_that_the_log_begins_with_where_what_and_on_which_devices(runs_dir):
    told_of = lines_of(*list(events_of(make_run(runs_dir, Script(trained=0.1))))[:3])
    assert told_of[0] == ("info", "started as process 1 on here")
    assert told_of[1] == (
        "info",
        "TensorFlow 2.21: mirrored on GPU:0, GPU:1, GPU:2, GPU:3, all-reduce ring",
    )
    assert told_of[2][1].startswith("mlp, 335,114 parameters; digits, 51,200 samples")


def test_that_now_the_plot_and_the_table_tell_the_most_since_the_sample_before(runs_dir, record):
    history = told(make_run(runs_dir, Script(trained=1, devices=2)))[0]
    history.memory.clear()
    rows = [
        events.DeviceMemory(
            device=f"GPU:{number}",
            current=20 * MIB,
            peak=90 * MIB,
            source="allocator",
            limit=100 * MIB,
            most=80 * MIB,
            least=10 * MIB,
        )
        for number in range(2)
    ]
    history.apply(events.Memory(devices=rows, time=history.last_time))
    first = memory_now(history, record)[0]
    assert (first.amount, first.share, first.peak_share) == ("80 MiB", 0.8, 0.9)
    assert "80 MiB of 100 MiB, 10 MiB between steps, peak 90 MiB" in first.text
    assert device_table(history, record, None).column("in use")["GPU:0"].startswith("80")
    drawing = memory_drawing(history, record)
    line = next(line for line in drawing.lines if line.name == "GPU:0")
    edge = next(edge for edge in drawing.lines if edge.name == line.down_to)
    assert (line.series.y.tolist(), edge.series.y.tolist()) == ([80 * MIB], [10 * MIB])
    assert edge.belongs == ("GPU:0",)


@pytest.mark.parametrize(("used", "bands"), [(4, 4), (5, 0)])
def test_that_bands_are_drawn_as_long_as_they_do_not_hide_the_lines(runs_dir, record, used, bands):
    history = told(make_run(runs_dir, Script(trained=1, devices=6)))[0]
    history.memory.clear()
    rows = [
        events.DeviceMemory(
            device=f"GPU:{number}",
            current=most,
            peak=most,
            source="allocator",
            most=most,
            least=most // 2,
        )
        for number, most in enumerate([MIB] * used + [0] * (6 - used))
    ]
    history.apply(events.Memory(devices=rows, time=history.last_time))
    drawing = memory_drawing(history, record)
    drawn = {line.name for line in drawing.lines if line.down_to}
    assert drawn >= {f"GPU:{number}" for number in range(bands)}
    assert ("band" in drawing.caption[0]) == bool(drawn) == bool(bands)
