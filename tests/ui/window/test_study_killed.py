"""A study that the window started, whose process is killed at random moments, ten times."""

from __future__ import annotations

import os
import random
import shlex
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from made_studies import made_study
from patience import PATIENCE_S
from real_runs import eventually, fake_trainer, kill_trainers

from gpu_studio.lab.study import axis_of
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.state import terminal_event
from gpu_studio.runs.studies import note_of
from gpu_studio.ui.window import study_control

KILLS = 10


def ended(runs: Path) -> Counter[tuple[str, int]]:
    """How often each point was trained to its end."""
    found = ((note_of(run), terminal_event(run)) for run in directories(runs))
    return Counter(
        (note.point, note.repeat)
        for note, end in found
        if note is not None and end is not None and end.state == "finished"
    )


@pytest.mark.whole("tests/cli/test_study.py")
@pytest.mark.processes
def test_that_a_study_of_twelve_runs_killed_ten_times_measures_each_point_once(
    open_window, qtbot, tmp_path, runs, monkeypatch
) -> None:
    monkeypatch.setattr("gpu_studio.ui.lab.studies_section.LOOK_MS", 50)
    monkeypatch.setattr(study_control, "REAP_MS", 20)
    trainer = fake_trainer("--steps", "3", "--seconds-per-step", "0.02")
    monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(trainer))
    axes = (axis_of("training.batch_size", [16, 32, 64, 128]),)
    study = made_study(tmp_path, "batch", repeats=3, axes=axes)
    window = open_window(None)
    window.studies.show_study(study.path)
    actions, drawn, pause = window.services.actions, random.Random(11), threading.Event()
    wait = int(PATIENCE_S * 1000)
    try:
        for _ in range(KILLS):
            qtbot.waitUntil(lambda: actions["run_study"].isEnabled(), timeout=wait)
            before = len(directories(runs))
            actions["run_study"].trigger()
            qtbot.waitUntil(lambda: bool(window.studies.processes), timeout=wait)
            ((process, _),) = window.studies.processes
            eventually(lambda: len(directories(runs)) > before or process.poll() is not None)  # noqa: B023
            pause.wait(drawn.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_S)
            qtbot.waitUntil(lambda: not window.studies.processes, timeout=wait)
            if sum(ended(runs).values()) == 12:
                break
        qtbot.waitUntil(lambda: actions["run_study"].isEnabled(), timeout=wait)
        actions["run_study"].trigger()
        qtbot.waitUntil(lambda: sum(ended(runs).values()) == 12, timeout=wait)
        qtbot.waitUntil(lambda: not window.studies.processes, timeout=wait)
    finally:
        for process, _ in window.studies.processes:
            os.kill(process.pid, signal.SIGKILL)
        kill_trainers(runs)
    assert list(ended(runs).values()) == [1] * 12
    qtbot.waitUntil(lambda: window.studies.snapshot.done == 12, timeout=wait)
