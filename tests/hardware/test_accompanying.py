"""A run's `hardware.jsonl`, written for as long as its trainer lives."""

from __future__ import annotations

import fcntl
import stat
import subprocess
import sys
import time

import pytest
from patience import PATIENCE_S

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.samples import Fast, decode
from gpu_studio.hardware import accompany, simulated
from gpu_studio.hardware.accompanying import LOCK, RECORD, is_held


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv(simulated.VARIABLE, "2xL4")
    return tmp_path


@pytest.fixture
def lock(run):
    """The lock of a trainer that lives."""
    with (run / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def lines_of(run):
    path = run / RECORD
    return path.read_bytes().splitlines() if path.exists() else []


def figures_in(run):
    """The samples with figures of both cards so far."""
    samples = map(decode, lines_of(run)[:-1])  # the last line may not be whole yet
    return [each for each in samples if isinstance(each, Fast) and len(each.cards) == 2]


def wait_for_figures(run, process):
    end = time.monotonic() + PATIENCE_S
    while not figures_in(run):
        assert time.monotonic() < end
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail("the recording ended before the trainer did")


def test_that_the_names_are_those_of_a_run_directory(tmp_path):
    run = RunDirectory(tmp_path)
    assert (run.lock_file, run.hardware_file) == (tmp_path / LOCK, tmp_path / RECORD)


@pytest.mark.slow
def test_that_the_machine_is_recorded_until_the_trainer_is_gone(run, lock):
    process = accompany(run)
    wait_for_figures(run, process)
    second = accompany(run)
    assert second.wait(PATIENCE_S) == 0, "one recording is enough"
    fcntl.flock(lock, fcntl.LOCK_UN)

    assert process.wait(PATIENCE_S) == 0
    samples = [decode(line) for line in lines_of(run)]
    assert samples[0].simulated == "2xL4"
    assert stat.S_IMODE((run / RECORD).stat().st_mode) == 0o600


@pytest.mark.slow
def test_that_nothing_is_recorded_of_a_run_that_has_ended(run):
    assert accompany(run).wait(PATIENCE_S) == 0
    assert lines_of(run) == []


def test_that_a_run_goes_on_without_a_recording_that_cannot_be_started(run, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert accompany(run) is None


def test_that_a_lock_is_seen_without_disturbing_it(run, lock):
    assert is_held(run / LOCK)
    fcntl.flock(lock, fcntl.LOCK_UN)
    assert not is_held(run / LOCK)
    assert not is_held(run / "none")
