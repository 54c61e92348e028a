"""Run a study, one ordinary run after another, in this process or in one that outlives it.

Whoever runs studies in a folder of runs holds `studies.lock` there, whose last words are the file
of the study. So both the window and the command line see which one is being run, and can stop it,
at once by a signal, or once the run under way is measured, by a file that it looks for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from gpu_studio.common.processes import Interrupts, start_in_background
from gpu_studio.common.safe_files import read_text
from gpu_studio.contract import (
    RunDirectory,
    events,
    kernel,
    lock,
    make_own_directory,
    make_private_directory,
    write_private,
)
from gpu_studio.hardware import accompany
from gpu_studio.lab.study import Point
from gpu_studio.plan import AbsolutePlan, Machine, with_absolute_files
from gpu_studio.runs.labels import Labels, number_of, write_labels
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.state import is_live, live_runs, terminal_event
from gpu_studio.runs.stop import StopLadder, has_open, has_signed
from gpu_studio.runs.studies import TAG, NotedRuns, StudyError, StudyNote, StudyRuns, write_note
from gpu_studio.runs.study_files import stamps_of
from gpu_studio.runs.study_shelf import OpenStudy, folder_of, log_of, remember

RUNNER_LOCK: Final = "studies.lock"
LAST_ONE: Final = "studies.last"
"""While this file is there, no further run is begun."""
POLL_SECONDS: Final = 0.1
MOST_ATTEMPTS: Final = 2
"""So often a run is begun in one go if its trainer vanishes without a word."""
_LOG_BYTES: Final = 1 << 20
_LEAST_SPACE: Final = 1 << 16
"""Bytes that a run takes before its first step, at least."""
Say = Callable[[str], None]


class StudyRunner:
    """Trains what is left of a study. `say` receives a line for each start and end.

    Ctrl+C ends `run` early: the run under way is stopped at once and will be trained anew, what is
    done stays.
    """

    def __init__(self, runs: Path, opened: OpenStudy, machine: Machine, say: Say) -> None:
        self._runs, self._machine, self._say = runs, machine, say
        self._study, self._points, self._plan = opened.study, opened.points, opened.plan
        self._folder, self._file = opened.folder, str(opened.path)
        self._noted = NotedRuns(runs)
        self._attempts: dict[tuple[str, int], int] = {}
        self.was_ended = False
        """Whether somebody asked that no further run be begun."""

    def run(self, interrupts: Interrupts) -> StudyRuns:
        """Train until nothing is left, or until Ctrl+C, and return what there is then.

        Raises StudyError if a study is being run in this folder already, or a run cannot be
        started; OSError.
        """
        make_private_directory(self._runs)
        try:
            held = lock.take(self._runs / RUNNER_LOCK)
        except lock.LockHeldError:
            raise StudyError(
                f"Another study is being run in {self._runs}. Two at a time would measure each "
                "other: wait until it has ended, or stop it."
            ) from None
        with suppress(OSError):  # it was meant for another
            (self._runs / LAST_ONE).unlink(missing_ok=True)
        held.leave_word(self._file)
        try:
            return self._work(interrupts)
        finally:
            held.release()

    def _work(self, interrupts: Interrupts) -> StudyRuns:
        while True:
            state = StudyRuns.read(self._noted, self._study, self._points, self._plan)
            left = [key for key in state.left if self._tries(*key) < MOST_ATTEMPTS]
            self.was_ended = bool(left) and is_ending(self._runs)
            if not left or interrupts.came or self.was_ended:
                return state
            # One that lives was begun before a crash of this process: it is waited for first.
            live = [key for key in left if (each := state.of(*key)) and each.live]
            point, repeat = (live or left)[0]
            place = f"{len(state.done) + 1} of {len(state.order)}"
            found = state.of(point, repeat)
            if found is not None and found.live:
                self._say(f"{place}: {point.label}: goes on, as run {_called(found.run)}")
                self._follow(found.run, None, interrupts)
            elif self._is_alone(interrupts):
                self._attempts[point.key, repeat] = self._tries(point, repeat) + 1
                self._train(point, repeat, place, interrupts)

    def _tries(self, point: Point, repeat: int) -> int:
        return self._attempts.get((point.key, repeat), 0)

    def _is_alone(self, interrupts: Interrupts) -> bool:
        """Wait until no other run is alive, which would be measured too; False after Ctrl+C."""
        said = False
        while others := live_runs(self._runs):
            if not said:
                self._say(f"Waits until run {_called(others[0])} has ended, to measure undisturbed")
                said = True
            if interrupts.came or is_ending(self._runs):
                return False
            interrupts.wait(POLL_SECONDS * 5)
        return not interrupts.came

    def _train(self, point: Point, repeat: int, place: str, interrupts: Interrupts) -> None:
        plan: AbsolutePlan = with_absolute_files(point.plan, self._folder)
        note = StudyNote(self._study.name, point.key, repeat, self._file, stamps_of(plan))
        launched = launch(
            plan, self._runs, base=self._folder, machine=self._machine, fill=partial(_fill, note)
        )
        again = f", repeat {repeat + 1}" if self._study.repeats > 1 else ""
        self._say(f"{place}: {point.label}{again}: run {_called(launched.directory)}")
        recorder = accompany(launched.directory.path)
        self._follow(launched.directory, launched, interrupts)
        if recorder is not None:
            recorder.wait()

    def _follow(self, run: RunDirectory, launched: Launched | None, interrupts: Interrupts) -> None:
        """Wait until a run is over; after Ctrl+C stop it, without a checkpoint."""
        ladder: StopLadder | None = None
        while is_live(run) or (launched is not None and launched.poll() is None):
            if ladder is not None:
                if ladder.advance() in ("gone", "stuck"):
                    return
                time.sleep(POLL_SECONDS)
            elif interrupts.came:
                self._say(f"Stops run {_called(run)}: what is done is kept")
                ladder = StopLadder(run, now=True)
            else:
                interrupts.wait(POLL_SECONDS)
        self._tell_end(run)

    def _tell_end(self, run: RunDirectory) -> None:
        ended = terminal_event(run)
        if isinstance(ended, events.Failed):
            self._say(f"  failed: {ended.message}")
        elif ended is None:
            self._say(f"  run {_called(run)} ended without a word; see {run.log_file}")


def _fill(note: StudyNote, run: RunDirectory) -> None:
    write_note(run, note)
    write_labels(run, Labels(tags=(TAG,)))


def _called(run: RunDirectory) -> str:
    number = number_of(run)
    return f"#{number}" if number else run.id


def being_run(runs: Path) -> Path | None:
    """The file of the study that is being run in this folder of runs; None if none is.

    It is the empty path where whoever runs it has not said which.
    """
    path = runs / RUNNER_LOCK
    return Path(lock.last_words(path)) if lock.held(path) else None


def start_detached(runs: Path, study: Path) -> subprocess.Popen[bytes]:
    """Run what is left of a study in a process that outlives this one; return at once.

    It asks nobody: Python that is not allowed is a refusal. What it says is in `log_of`. Call
    `poll` on it from time to time while this process lives. Raises StudyError if a study is being
    run already, OSError if it cannot be started, or if the disk has no room for a run.
    """
    if being_run(runs) is not None:
        raise StudyError("A study is being run already: two at a time would measure each other.")
    make_own_directory(folder_of(runs))
    _find_space(runs)
    words = ("--runs-dir", str(runs), "study", "run", str(study))
    process = start_in_background(words, log_of(runs, study))
    with suppress(OSError):  # it runs all the same, and notes itself
        remember(runs, study)
    return process


def _find_space(runs: Path) -> None:
    """Raise OSError where no run could begin: why not, its log would have no room to say."""
    with tempfile.TemporaryFile(dir=folder_of(runs)) as file:
        file.write(bytes(_LEAST_SPACE))
        file.flush()


def stop_running(runs: Path) -> str:
    """Ask the process that runs a study here to stop, as Ctrl+C does; never waits.

    Returns why it could not be asked, in words; empty if it was, or if nobody is there any more.
    """
    path = runs / RUNNER_LOCK
    holder = lock.holder(path)
    if holder is None:
        return "" if not lock.held(path) else "It is not known which process runs the study."
    if not holder.is_here:
        return f"The study is run on another computer, {holder.host}: stop it there."
    if holder.namespace not in ("", kernel.pid_namespace()):
        return "The study is run in another container of this computer: stop it there."
    try:
        if not (has_signed(path, holder) and has_open(holder.pid, path)):
            return f"Process {holder.pid} does not run the study, although {path.name} says so."
        os.kill(holder.pid, signal.SIGINT)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return f"Process {holder.pid}, which runs the study, belongs to another user."
    return ""


def end_after_this_one(runs: Path) -> str:
    """Have the study that is run here begin no further run; returns why not, empty if it will."""
    try:
        write_private(runs / LAST_ONE, b"no further run is begun\n")
    except OSError as error:
        return f"It cannot be asked: {runs / LAST_ONE}: {error.strerror or error}."
    return ""


def is_ending(runs: Path) -> bool:
    """Whether no further run of the study that is run here will be begun."""
    return (runs / LAST_ONE).exists()


def last_said(runs: Path, study: Path) -> str:
    """The last lines that a study that was started detached has said; empty if there are none."""
    try:
        return read_text(log_of(runs, study), _LOG_BYTES).strip()
    except OSError:
        return ""
