"""What a history is, whatever the lines: in any order, by any clock, cut anywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_studio.contract import events
from gpu_studio.contract.events import decode, encode
from gpu_studio.contract.files import Tail
from gpu_studio.runs.reading.history import History

times = st.one_of(st.floats(1e9, 2e9), st.floats(-1e15, 1e15))
seconds = st.one_of(st.floats(0, 10), st.floats(-1e300, 1e300))
counts = st.integers(0, 10**9)
losses = st.lists(st.one_of(st.none(), st.floats(-1e300, 1e300)), max_size=12)
metrics = st.dictionaries(
    st.sampled_from(["loss", "val_loss", "accuracy"]), st.one_of(st.none(), st.floats(-10, 10))
)
devices = st.builds(
    events.DeviceMemory,
    device=st.sampled_from(["GPU:0", "GPU:1", "host"]),
    current=counts,
    peak=counts,
    source=st.just("allocator"),
)
any_event = st.one_of(
    st.builds(
        events.Steps,
        epoch=counts, first_step=counts, losses=losses, samples=counts, seconds=seconds,
        input_seconds=seconds, time=times,
    ),
    st.builds(events.Memory, devices=st.lists(devices, max_size=4), time=times),
    st.builds(events.LearningRate, step=counts, value=st.floats(0, 1), time=times),
    st.builds(events.Epoch, epoch=counts, step=counts, metrics=metrics, seconds=seconds, time=times,
              samples_per_second=st.just(1.0)),
    st.builds(events.StateChanged, state=st.sampled_from(["running", "paused", "stopping"]),
              time=times),
    st.builds(events.Warned, message=st.text(max_size=5), time=times),
    st.builds(events.Log, message=st.text(max_size=5), time=times),
    st.builds(events.Checkpoint, name=st.sampled_from("abc"), epoch=counts, step=counts,
              bytes=counts, seconds=seconds, removed=st.lists(st.sampled_from("abc"), max_size=2),
              time=times),
)  # fmt: skip
STARTED = events.Started(run="r", plan="p", pid=1, host="h", gpu_studio="0", python="3", time=1.7e9)


def sorted_and_finite(times):
    return bool(np.isfinite(times).all() and (np.diff(times) >= 0).all())


@given(st.lists(any_event, max_size=30))
def test_that_whatever_is_done_to_the_clock_every_time_axis_is_sorted_and_no_duration_negative(
    told,
):
    history = History()
    history.apply_all([STARTED, *told])
    axes = [
        history.losses.column("time"),
        history.learning_rates.column("time"),
        history.epochs.times,
    ]
    axes += [series.times for series in history.memory.values()]
    assert all(sorted_and_finite(axis) for axis in axes)
    for marks in (history.warnings, history.states):
        assert sorted_and_finite(np.array([event.time for event in marks]))
    assert history.seconds >= 0
    assert math.isfinite(history.seconds)
    for figure in (history.eta_seconds, history.samples_per_second, history.input_share):
        assert figure is None or (figure >= 0 and math.isfinite(figure))


@given(st.lists(any_event, max_size=30), st.integers(1, 7))
def test_that_events_taken_together_come_to_the_same_as_one_by_one(told, size):
    together, single = History(), History()
    for first in range(0, len(told), size):
        together.apply_all(told[first : first + size])
    for event in told:
        single.apply(event)
    for name in ("step", "loss", "time"):
        np.testing.assert_array_equal(together.losses.column(name), single.losses.column(name))
    for device, series in single.memory.items():
        np.testing.assert_array_equal(together.memory[device].used, series.used)
        assert together.memory[device].peak == series.peak
    assert (together.step, together.epoch, together.loss) == (
        single.step,
        single.epoch,
        single.loss,
    )
    assert (together.revision, together.checkpoints) == (single.revision, single.checkpoints)
    assert together.pace.samples_per_second == single.pace.samples_per_second


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(any_event, min_size=1, max_size=12), st.data())
def test_that_a_file_cut_at_any_byte_tells_all_that_stood_whole_before_the_cut(
    tmp_path, told, data
):
    path = tmp_path / "events.jsonl"
    unknown = b'{"event":"from a later version","seq":1,"time":1.0,"more":{"a":[1]}}\n'
    lines = [unknown if data.draw(st.booleans()) else encode(event) for event in told]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    tail, history = Tail(path, decode), History()
    history.apply_all(tail.read_all())
    kept = whole[:cut].count(b"\n")
    known = [event for line in lines[:kept] if (event := decode(line)) is not None]
    assert history.revision == len(known)
    assert tail.skipped == kept - len(known)
    with path.open("ab") as file:
        file.write(whole[cut:])
    history.apply_all(tail.read_all())
    assert history.revision + tail.skipped == len(lines)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity"])
def test_that_a_line_with_a_number_that_is_none_is_no_event(number):
    assert decode(f'{{"event":"log","message":"x","time":{number}}}'.encode()) is None
