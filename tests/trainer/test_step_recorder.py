"""Steps under the profiler: which, once, at no cost of the call; and no run that fails for it."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from gpu_studio.contract.events import Log

pytestmark = pytest.mark.slow

PROFILING, TRAINING = 3.0, 5.0


class Clock:
    """Seconds that go by only where somebody says so."""

    now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def recorded(monkeypatch, clock):
    """Make a recorder of five steps, with what it was handed and what it told.

    The profiler does what it is told to.
    """
    from gpu_studio.trainer import step_recording

    def made(begin=None, end=None, reader=None, most_steps=5):
        @contextmanager
        def profiled():
            clock.now += PROFILING
            if begin:
                raise begin
            yield ["seen"]
            if end:
                raise end

        @contextmanager
        def watching():
            handed.append("watched")
            yield

        def read(what):
            handed.append((what.executed, what.step, what.steps, what.input_seconds))
            return Log(message="read")

        monkeypatch.setattr(step_recording, "profiled", profiled)
        monkeypatch.setattr(
            step_recording, "time", SimpleNamespace(perf_counter=clock.perf_counter)
        )
        handed, told = [], []
        readers = [reader, read] if reader else [read]
        return step_recording.StepRecorder(watching, readers, told.append, most_steps), handed, told

    return made


def training(clock=None):
    """Stands for a compiled function.

    The losses are the numbers of the steps, each waits 0.5 s for data.
    """
    from gpu_studio.trainer.meters import Call

    def train(_stream, first, count):
        if clock:
            clock.now += TRAINING
        return Call(np.arange(first, first + count, dtype=float), [[1.0]], 0.5 * count)

    return train


def test_that_the_first_call_is_watched_and_the_first_steps_of_the_third_are_recorded(recorded):
    recorder, handed, told = recorded()
    assert recorder.train(training(), None, 0, 1).losses.tolist() == [0]
    assert handed == ["watched"]
    recorder.train(training(), None, 1, 4)
    assert handed == ["watched"]
    call = recorder.train(training(), None, 5, 8)
    assert handed == ["watched", (["seen"], 5, 5, 2.5)]
    assert told == [Log(message="read")]
    assert (call.losses.tolist(), call.input_seconds, call.deltas) == (
        list(range(5, 13)),
        4.0,
        [[2.0]],
    )
    for first in (13, 14):
        recorder.train(training(), None, first, 1)
    assert len(handed) == 2


def third(recorder, count=1, clock=None):
    """The call that is recorded."""
    for first in range(2):
        recorder.train(training(), None, first, 1)
    return recorder.train(training(clock), None, 2, count)


def test_that_a_call_of_fewer_steps_is_recorded_whole_and_the_watching_counts_aside(
    recorded, clock
):
    recorder, handed, _ = recorded()
    call = third(recorder, count=2, clock=clock)
    assert handed[-1] == (["seen"], 2, 2, 1.0)
    assert call.losses.tolist() == [2.0, 3.0]
    assert (call.aside_seconds, clock.now) == (PROFILING, 100.0 + PROFILING + TRAINING)


@pytest.mark.parametrize("when", ["begin", "end"])
def test_that_a_profiler_that_fails_does_not_fail_the_run(recorded, when):
    recorder, _, _ = recorded(**{when: RuntimeError("another profiler is running")})
    assert third(recorder).losses.tolist() == [2.0]


def test_that_a_reader_that_fails_or_finds_nothing_tells_nothing_and_the_next_is_asked(recorded):
    def fails(_recorded):
        raise ValueError("made up")

    for reader in (fails, lambda _recorded: None):
        recorder, _, told = recorded(reader=reader)
        third(recorder)
        assert told == [Log(message="read")]


def test_that_a_step_that_fails_fails_as_ever(recorded):
    recorder, _, told = recorded()
    for first in range(2):
        recorder.train(training(), None, first, 1)

    def diverges(*_):
        raise ValueError("diverged")

    with pytest.raises(ValueError, match="diverged"):
        recorder.train(diverges, None, 2, 1)
    assert told == []
