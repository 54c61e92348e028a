"""Where the time of a run went."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.lineage import curve
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_times import read_times

NOW = 1.7e9
STARTED = events.Started(run="r", plan="p", pid=1, host="here", gpu_studio="0", python="3.11")


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path, "a plan")


def tell(run, *told):
    """Write events (second, event)."""
    lines = [
        events.encode(replace(event, seq=n, time=NOW + second))
        for n, (second, event) in enumerate(told)
    ]
    run.events_file.write_bytes(b"".join(lines))
    return run


def state(name):
    return events.StateChanged(state=name)


def call(first, count, seconds, waited=0.0):
    return events.Steps(
        epoch=1,
        first_step=first,
        losses=[0.5] * count,
        samples=32 * count,
        seconds=seconds,
        input_seconds=waited,
    )


def memory():
    return events.Memory(devices=[])


def test_that_a_run_spends_its_time_in_its_states(run):
    finished = events.Finished(reason="stopped", seconds=30.0, epoch=1, step=0)
    told = (
        (0, STARTED),
        (0, state("starting")),
        (4, state("running")),
        (10, state("paused")),
        (15, state("running")),
    )
    times = read_times(tell(run, *told, (27, state("stopping")), (28, finished)))
    assert times.states == {"starting": 4.0, "running": 18.0, "paused": 5.0, "stopping": 1.0}
    assert times.working_seconds == 19.0
    assert times.at_work == [(NOW + 4, NOW + 10), (NOW + 15, NOW + 27), (NOW + 27, NOW + 28)]


def test_that_a_state_that_was_not_left_lasts_up_to_the_newest_event(run):
    times = read_times(
        tell(run, (0, STARTED), (1, state("running")), (3, call(0, 1, 1.0)), (9, memory()))
    )
    assert times.states == {"starting": 1.0, "running": 8.0}


def test_that_training_is_split_into_input_computing_and_the_rest(run):
    told = ((2, call(0, 10, 1.5, 0.5)), (5, call(10, 10, 0.5, 0.1)), (6, call(20, 20, 1.0, 0.4)))
    saved = events.Checkpoint(name="c", epoch=1, step=40, bytes=1, seconds=0.25)
    times = read_times(tell(run, (0, STARTED), (1, state("running")), *told, (6.25, saved)))
    assert (times.call_seconds, times.input_seconds) == (3.0, 1.0)
    assert (times.first_call_seconds, times.compute_seconds) == (1.0, 1.0)
    assert times.other_seconds == pytest.approx(5.25 - 3.0)
    assert times.input_share == pytest.approx(0.5 / 1.5)
    parts = (
        times.first_call_seconds,
        times.input_seconds,
        times.compute_seconds,
        times.other_seconds,
    )
    assert sum(parts) == pytest.approx(times.working_seconds)
    assert times.checkpoint_seconds == 0.25


def test_that_the_first_call_counts_for_no_pace_as_it_holds_the_tracing(run):
    told = ((2, call(0, 10, 60.0)), (5, call(10, 10, 0.5)), (6, call(20, 20, 1.0)))
    times = read_times(tell(run, (0, STARTED), *told))
    assert times.samples_per_second == 32 * 30 / 1.5
    assert times.step_seconds(40) == pytest.approx(0.05)
    once = read_times(tell(run, (0, STARTED), (2, call(0, 10, 2.0))))
    assert once.samples_per_second == 160.0
    assert (once.step_seconds(10), once.first_call_seconds, once.compute_seconds) == (
        None,
        0.0,
        2.0,
    )


def test_that_a_run_without_a_word_has_no_times(run):
    times = read_times(run)
    assert (times.states, times.input_share, times.samples_per_second, times.step_seconds(0)) == (
        {},
        None,
        None,
        None,
    )


def set_clock(run, second, off):
    """Tell the run's events again, as if the clock had been set by so much at that second."""
    told = [events.decode(line) for line in run.events_file.read_bytes().splitlines()]
    told = [replace(each, elapsed=each.time - NOW + 0.25) for each in told]
    late = [replace(each, time=each.time + off * (each.time >= NOW + second)) for each in told]
    run.events_file.write_bytes(b"".join(map(events.encode, late)))


@pytest.mark.parametrize("off", [400 * 86_400.0, -10 * 86_400.0])
def test_that_a_clock_that_is_set_moves_no_time_from_one_state_to_another(run, off):
    finished = events.Finished(reason="completed", seconds=30.0, epoch=1, step=0)
    told = (
        (0, STARTED),
        (4, state("running")),
        (7, call(0, 1, 1.0)),
        (10, state("paused")),
        (15, state("running")),
    )
    tell(run, *told, (20, memory()), (27, finished))
    before = read_times(run)
    points = curve(run)
    for second in (5, 7, 12, 18, 27):
        tell(run, *told, (20, memory()), (27, finished))
        set_clock(run, second, off)
        assert read_times(run).spans == before.spans
        assert curve(run).seconds.tolist() == points.seconds.tolist()
        history = History()
        history.apply_all(events.decode(line) for line in run.events_file.read_bytes().splitlines())
        assert history.losses.column("time").tolist() == [NOW + 7]
        assert [each.time for each in history.states] == [NOW + 4, NOW + 10, NOW + 15]
        assert history.time_of(NOW + 30 + off) == NOW + 30


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["starting", "running", "paused", "stopping"]), st.floats(-50, 50)
        )
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_that_no_clock_makes_a_time_negative(run, changes):
    second, told = 0.0, [(0.0, STARTED)]
    for name, passed in changes:
        second += passed
        told.append((second, state(name)))
    times = read_times(tell(run, *told))
    assert all(seconds >= 0 for seconds in times.states.values())
    if all(passed >= 0 for _, passed in changes):
        assert sum(times.states.values()) == pytest.approx(second, abs=1e-3)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_that_events_cut_at_any_byte_are_read_as_far_as_they_go(run, data):
    told = [(n, call(n, 1, 0.5)) for n in range(1, 20)]
    whole = tell(run, (0, STARTED), (0.5, state("running")), *told).events_file.read_bytes()
    run.events_file.write_bytes(
        whole[: data.draw(st.integers(0, len(whole)))] + b'\x00{"event":"steps",'
    )
    times = read_times(run)
    assert times.call_seconds <= 19 * 0.5
    assert times.samples % 32 == 0
