"""Run a study, one ordinary run after another, and read what was measured.

A run of a study says so in a file that is there before the run is: whoever carries the study on
after a crash finds each run that was begun, and trains none twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from gpu_studio.common.processes import Interrupts
from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.files import make_private_directory, read_json, write_private
from gpu_studio.hardware import accompany
from gpu_studio.lab.study import Point, Study, in_drawn_order
from gpu_studio.lab.verdict import PointGroup
from gpu_studio.plan import AbsolutePlan, Machine, PlanError, with_absolute_files
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.labels import Labels, number_of, write_labels
from gpu_studio.runs.launch import Launched, launch, problems_of
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.results.run_times import step_parts
from gpu_studio.runs.state import is_live, live_runs, terminal_event
from gpu_studio.runs.stop import StopLadder

FILE: Final = "study.json"
TAG: Final = "study"
RUNNER_LOCK: Final = "studies.lock"
POLL_SECONDS: Final = 0.1
MOST_ATTEMPTS: Final = 2
"""So often a run is begun in one go if its trainer vanishes without a word."""
Say = Callable[[str], None]


class StudyError(Exception):
    """A study cannot be run: why, and what to do, in words."""


class StudyNote(msgspec.Struct, frozen=True):
    """The content of `study.json`: the study's name, the key of the point, its repeat from 0."""

    study: str
    point: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a study. What is not known is None or empty; see `PointGroup` for the units."""

    run: RunDirectory
    note: StudyNote
    live: bool
    ended: events.Finished | events.Failed | None

    @property
    def is_done(self) -> bool:
        """Whether this repeat is not to be trained again: it was trained to its end, or failed."""
        if isinstance(self.ended, events.Failed):
            return True
        return self.ended is not None and self.ended.state == "finished"


@dataclass(slots=True)
class StudyRuns:
    """The runs of one study in a folder of runs, by point and repeat."""

    study: Study
    points: Sequence[Point]
    found: dict[tuple[str, int], Measured] = field(default_factory=dict)

    @classmethod
    def read(cls, runs: Path, study: Study, points: Sequence[Point]) -> StudyRuns:
        """Find the runs of `study`: a finished one before one that lives, and that before others.

        Raises OSError if the folder cannot be read.
        """
        made = cls(study, points)
        for run in directories(runs):
            note = note_of(run)
            if note is not None and note.study == study.name:
                each = Measured(run, note, is_live(run), terminal_event(run))
                key = (note.point, note.repeat)
                if key not in made.found or _rank(each) > _rank(made.found[key]):
                    made.found[key] = each
        return made

    @property
    def order(self) -> list[tuple[Point, int]]:
        """Every run of the study, in its drawn order."""
        return in_drawn_order(self.study, self.points)

    @property
    def done(self) -> list[Measured]:
        """The runs that count, in the drawn order."""
        return [each for key in self.order if (each := self.of(*key)) and each.is_done]

    @property
    def left(self) -> list[tuple[Point, int]]:
        """What is still to be trained."""
        return [key for key in self.order if not ((each := self.of(*key)) and each.is_done)]

    def of(self, point: Point, repeat: int) -> Measured | None:
        """The run of a point; None if there is none."""
        return self.found.get((point.key, repeat))

    @property
    def seconds_each(self) -> float | None:
        """How long a run took on average, from its first event to its last; None before one."""
        seconds = [
            each.ended.seconds for each in self.done if isinstance(each.ended, events.Finished)
        ]
        return sum(seconds) / len(seconds) if seconds else None

    def groups(self) -> list[PointGroup]:
        """What was measured at each point; points that differ in the seed alone are one."""
        names = dict.fromkeys(point.group for point in self.points)
        return [self._group(name) for name in names]

    def _group(self, name: str) -> PointGroup:
        points = [point for point in self.points if point.group == name]
        every = [self.of(point, repeat) for point in points for repeat in range(self.study.repeats)]
        figures = [figures_of(each.run) for each in every if each is not None and each.is_done]
        good = [each for each in figures if each.rate is not None]
        failed = next((each.failed for each in figures if each.failed), "")
        memory: dict[str, int] = {}
        for each in good:
            memory |= {key: max(memory.get(key, 0), most) for key, most in each.memory.items()}
        return PointGroup(
            label=name,
            x=points[0].x,
            rates=tuple(each.rate for each in good if each.rate is not None),
            step_seconds=tuple(each.step_seconds for each in good if each.step_seconds),
            losses=tuple(each.loss for each in good if each.loss is not None),
            memory=memory,
            computing=_means([each.computing for each in good]),
            shares=_means([each.shares for each in good]),
            failed=failed,
        )


def _rank(each: Measured) -> tuple[bool, bool]:
    return each.is_done, each.live


def _means(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    known = [each for each in several if each]
    names = list(dict.fromkeys(name for each in known for name in each))
    return {name: sum(each.get(name, 0.0) for each in known) / len(known) for name in names}


def note_of(run: RunDirectory) -> StudyNote | None:
    """The study that a run belongs to, and its point; None if to none."""
    try:
        return read_json(run.path / FILE, msgspec.json.Decoder(StudyNote).decode)
    except OSError:
        return None


@dataclass(slots=True)
class RunFigure:
    """What one run measured: samples a second and the seconds of a step, without the warm-up."""

    rate: float | None = None
    step_seconds: float | None = None
    loss: float | None = None
    memory: dict[str, int] = field(default_factory=dict)
    computing: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    failed: str = ""


def figures_of(run: RunDirectory) -> RunFigure:
    """Read what a run measured. Raises OSError if its events cannot be read.

    The warm-up is the first epoch, in which functions are compiled, calls are sized and steps
    profiled; in a run of one epoch it is the first call.
    """
    found, calls = RunFigure(), list[events.Steps]()
    for event in events_of(run):
        match event:
            case events.Steps():
                calls.append(event)
            case events.Epoch():
                loss = event.metrics.get("val_loss", event.metrics.get("loss"))
                found.loss = found.loss if loss is None else loss
            case events.Memory():
                found.memory |= {each.device: each.peak for each in event.devices}
            case events.Communication():
                found.computing = {each.device: each.compute for each in event.devices}
                found.shares = _shares(event)
            case events.Failed():
                found.failed = event.message
    epochs = {call.epoch for call in calls}
    warm = [call for call in calls if call.epoch > min(epochs)] if len(epochs) > 1 else calls[1:]
    seconds, steps = sum(call.seconds for call in warm), sum(len(call.losses) for call in warm)
    if seconds > 0 and steps:
        found.rate = sum(call.samples for call in warm) / seconds
        found.step_seconds = seconds / steps
    elif not found.failed:
        found.failed = "it had no step after the warm-up: train at least two epochs"
    return found


def _shares(event: events.Communication) -> dict[str, float]:
    parts = step_parts(event)
    if parts is None or event.seconds <= 0:
        return {}
    waited = min(1.0, event.input_seconds / event.seconds)
    rest = parts.of(1 - waited)
    return {
        "computing": rest.compute,
        "communication": rest.communication,
        "input": waited,
        "idle": rest.idle,
    }


def study_problems(
    points: Sequence[Point], folder: Path, machine: Machine
) -> Iterator[tuple[Point, PlanError]]:
    """Every point whose plan cannot be run on `machine`, in the words of the plan's rules."""
    for point in points:
        plan = with_absolute_files(point.plan, folder)
        if problems := problems_of(point.plan, plan, machine):
            yield point, PlanError(problems, f"{point.label}")


class StudyRunner:
    """Trains what is left of a study. `say` receives a line for each start and end.

    `folder` is that of the plan. Ctrl+C ends `run` early: the run under way is stopped at once and
    will be trained anew, what is done stays.
    """

    def __init__(
        self,
        runs: Path,
        study: Study,
        points: Sequence[Point],
        folder: Path,
        machine: Machine,
        say: Say,
    ) -> None:
        self._runs, self._study, self._points = runs, study, points
        self._folder, self._machine, self._say = folder, machine, say
        self._attempts: dict[tuple[str, int], int] = {}

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
        try:
            return self._work(interrupts)
        finally:
            held.release()

    def _work(self, interrupts: Interrupts) -> StudyRuns:
        while True:
            state = StudyRuns.read(self._runs, self._study, self._points)
            left = [key for key in state.left if self._tries(*key) < MOST_ATTEMPTS]
            if not left or interrupts.came:
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
            if interrupts.came:
                return False
            interrupts.wait(POLL_SECONDS * 5)
        return not interrupts.came

    def _train(self, point: Point, repeat: int, place: str, interrupts: Interrupts) -> None:
        plan: AbsolutePlan = with_absolute_files(point.plan, self._folder)
        note = StudyNote(self._study.name, point.key, repeat)
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
    write_private(run.path / FILE, msgspec.json.encode(note) + b"\n")
    write_labels(run, Labels(tags=(TAG,)))


def _called(run: RunDirectory) -> str:
    number = number_of(run)
    return f"#{number}" if number else run.id
