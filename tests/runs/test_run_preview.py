from __future__ import annotations

import numpy as np
import pytest
from made_runs import Script, make_run

from gpu_studio.contract import events
from gpu_studio.contract.events import decode, encode
from gpu_studio.contract.files import Tail
from gpu_studio.runs.reading import event_file
from gpu_studio.runs.reading.event_file import RunPreview, mirrored
from gpu_studio.runs.reading.history import History

LONG = Script(trained=40, epochs=60, steps=1000, per_call=10, call_seconds=0.5)


SMALL_END = 32 * 1024


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """The events of a long run, which takes long to make; nobody may write there."""
    path = make_run(tmp_path_factory.mktemp("long"), LONG).events_file
    whole = path.read_bytes()
    yield path
    assert path.read_bytes() == whole


@pytest.fixture
def small_ends(monkeypatch):
    monkeypatch.setattr(event_file, "_END_BYTES", SMALL_END)
    monkeypatch.setattr(event_file, "PLACES", 64)


def seen_of(path):
    found = RunPreview(path)
    while found.look():
        pass
    return found


def read(path):
    history = History()
    history.apply_all(Tail(path, decode).read_all())
    return history


def test_that_the_places_are_halves_of_what_lies_between_those_before():
    assert [mirrored(number) for number in range(1, 8)] == [
        0.5,
        0.25,
        0.75,
        0.125,
        0.625,
        0.375,
        0.875,
    ]
    assert len({mirrored(number) for number in range(1, 512)}) == 511


@pytest.mark.usefixtures("small_ends")
def test_that_a_glimpse_of_a_long_run_has_the_shape_of_its_curve_and_its_newest_figures(long_run):
    found, whole = seen_of(long_run), read(long_run)
    seen = found.history()
    assert 0.01 < seen.losses.total / whole.losses.total < 0.5
    assert (seen.step, seen.epoch, seen.loss, seen.last_time) == (
        whole.step,
        whole.epoch,
        whole.loss,
        whole.last_time,
    )
    assert seen.samples_per_second == pytest.approx(whole.samples_per_second)
    assert seen.memory["GPU:3"].latest == whole.memory["GPU:3"].latest
    times, steps, values = (seen.losses.column(name) for name in ("time", "step", "loss"))
    assert np.diff(times).max() < (times[-1] - times[0]) / 32, "there is no great gap"
    assert (np.diff(steps) > 0).all(), "nothing was seen twice"
    losses = dict(zip(whole.losses.column("step"), whole.losses.column("loss"), strict=True))
    np.testing.assert_array_equal(values, [losses[step] for step in steps])
    assert found.state == "running"
    assert [call.first_step for call in found.steps] == sorted(
        {call.first_step for call in found.steps}
    )


@pytest.mark.usefixtures("small_ends")
@pytest.mark.parametrize("looks", [2, 3, 10])
def test_that_a_glimpse_ended_early_is_sparser_and_reaches_as_far(long_run, looks):
    found = RunPreview(long_run)
    assert all(found.look() for _ in range(looks))
    assert found.history().step == 40_000


@pytest.mark.usefixtures("small_ends")
@pytest.mark.parametrize(
    ("ending", "state"), [("completed", "finished"), ("failed", "failed"), ("stopped", "stopped")]
)
def test_that_the_end_of_a_run_is_seen(runs_dir, ending, state):
    script = Script(trained=10, epochs=10, steps=1000, call_seconds=0.5, ending=ending)
    path = make_run(runs_dir, script).events_file
    assert path.stat().st_size > 10 * SMALL_END
    found = seen_of(path)
    assert (found.state, found.history().state) == (state, state)


def test_that_an_end_which_tells_of_no_state_has_none(runs_dir):
    run = make_run(runs_dir, Script(trained=1))
    run.events_file.write_bytes(encode(events.Log(message="x" * 600_000)) * 3)
    assert seen_of(run.events_file).state is None


@pytest.mark.usefixtures("small_ends")
def test_that_lines_longer_than_a_piece_are_seen_once_or_not_at_all(runs_dir):
    run = make_run(runs_dir, Script(trained=1))
    long = [
        events.Steps(epoch=1, first_step=1000 * call, losses=[0.123456789012345] * 1000, samples=1,
                     seconds=1.0, time=float(call + 1))
        for call in range(200)
    ]  # fmt: skip
    run.events_file.write_bytes(b"".join(map(encode, long)))
    seen = seen_of(run.events_file)
    firsts = [call.first_step for call in seen.steps]
    assert firsts == sorted(set(firsts))
    assert firsts[-1] == 199_000
    assert len(firsts) > 10


def test_that_garbage_is_seen_as_nothing(runs_dir):
    run = make_run(runs_dir, Script(trained=1))
    run.events_file.write_bytes(b"\xff\x00garbage\n" * 200_000)
    seen = seen_of(run.events_file)
    assert (seen.history().revision, seen.state, seen.steps) == (0, None, [])
