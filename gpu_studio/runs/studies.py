"""The runs of studies: which run measured which point, and what it measured.

A run of a study says so in a file that is there before the run is: whoever carries the study on
after a crash finds each run that was begun, and trains none twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from gpu_studio.contract import RunDirectory, events, json_line, read_json, write_private
from gpu_studio.lab.study import Point, Study, in_drawn_order
from gpu_studio.lab.verdict import PointGroup, StudyVerdict, verdict_of
from gpu_studio.plan import Machine, Plan, PlanError, with_absolute_files
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import problems_of
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.results.run_times import step_parts
from gpu_studio.runs.state import is_live, terminal_event
from gpu_studio.runs.study_files import Stamps

SET_ASIDE: Final = "study-set-aside.json"
"""What `study.json` is called in a run that no longer counts for its study."""
TAG: Final = "study"


COMPUTING: Final = "computing"
COMMUNICATION: Final = "communication"
INPUT: Final = "input"
IDLE: Final = "idle"
_SHORTEST_S, _LONGEST_S = 1e-9, 1e9
"""What a step takes at least, and a call at most."""
_LARGEST_LOSS: Final = 1e100
"""A larger one is as good as no number: the mean of two may be none."""
NOT_APART: Final = "computing or idle"
"""What is no wait for input, in a run that was not profiled, as one on a single device."""


class StudyError(Exception):
    """A study cannot be run: why, and what to do, in words."""


class StudyNote(msgspec.Struct, frozen=True):
    """The content of `study.json`: the study's name, the key of the point, its repeat from 0.

    `file` is the study's file. `stamps` tell what the plan's own files held (see `study_files`).
    """

    study: str
    point: str
    repeat: int
    file: str = ""
    stamps: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a study. What is not known is None or empty; see `PointGroup` for the units."""

    run: RunDirectory
    note: StudyNote
    live: bool
    ended: events.Finished | events.Failed | None
    changed: tuple[str, ...] = ()
    """The files of its plan that hold something else by now, where its note says what they held."""

    @property
    def is_done(self) -> bool:
        """Whether this repeat is not to be trained again: it was trained to its end, or failed."""
        if isinstance(self.ended, events.Failed):
            return True
        return self.ended is not None and self.ended.state == "finished"


class NotedRuns:
    """The runs of a folder that belong to studies. What has ended is read once."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._notes: dict[str, StudyNote | None] = {}
        self._ended: dict[str, events.Finished | events.Failed] = {}
        self._figures: dict[str, RunFigure] = {}
        self._stamps = Stamps()

    def look(self) -> list[Measured]:
        """Every run of any study, the newest first. Raises OSError if the folder is unreadable."""
        self._stamps.renew()
        found, before, self._notes = list[Measured](), self._notes, {}
        for run in directories(self.runs):
            note = before[run.id] if run.id in before else note_of(run)
            self._notes[run.id] = note
            if note is not None:
                found.append(self._measured(run, note))
        return found

    def figures(self, run: RunDirectory) -> RunFigure:
        """What a run measured. Raises OSError."""
        if run.id in self._figures:
            return self._figures[run.id]
        found = figures_of(run)
        if run.id in self._ended:
            self._figures[run.id] = found
        return found

    def set_aside(self, several: Sequence[Measured]) -> None:
        """Let these runs count for their study no more. Raises OSError."""
        for each in several:
            (each.run.study_file).rename(each.run.path / SET_ASIDE)
            self._notes.pop(each.run.id, None)

    def _measured(self, run: RunDirectory, note: StudyNote) -> Measured:
        ended, live = self._ended.get(run.id), False
        if ended is None:
            # The lock is asked first: what ends in between has then written its end.
            live, ended = is_live(run), terminal_event(run)
            if ended is not None and not live:
                self._ended[run.id] = ended
        return Measured(run, note, live, ended, self._stamps.changed(note.stamps))


@dataclass(slots=True)
class StudyRuns:
    """The runs of one study in a folder of runs, by point and repeat; `plan` is what it studies."""

    study: Study
    points: Sequence[Point]
    noted: NotedRuns
    found: dict[tuple[str, int], Measured] = field(default_factory=dict)
    plan: Plan | None = None

    @classmethod
    def read(
        cls,
        runs: Path | NotedRuns,
        study: Study,
        points: Sequence[Point],
        plan: Plan | None = None,
    ) -> StudyRuns:
        """Find the runs of `study`: a finished one before one that lives, and that before others.

        Raises OSError if the folder cannot be read.
        """
        noted = NotedRuns(runs) if isinstance(runs, Path) else runs
        return cls.among(noted.look(), noted, study, points, plan)

    @classmethod
    def among(
        cls,
        every: Sequence[Measured],
        noted: NotedRuns,
        study: Study,
        points: Sequence[Point],
        plan: Plan | None = None,
    ) -> StudyRuns:
        """The same, of runs that were found already."""
        made = cls(study, points, noted, plan=plan)
        for each in every:
            key = (each.note.point, each.note.repeat)
            if each.note.study == study.name and (
                key not in made.found or _rank(each) > _rank(made.found[key])
            ):
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
    def live(self) -> Measured | None:
        """The run that trains now, if one does."""
        every = (each for key in self.order if (each := self.of(*key)) is not None)
        return next((each for each in every if each.live and not each.is_done), None)

    @property
    def changed(self) -> list[Measured]:
        """The runs that count, but whose plan names files that hold something else by now."""
        return [each for each in self.done if each.changed]

    @property
    def anew(self) -> list[Measured]:
        """The runs to be measured anew, if that is asked for: the changed ones, and what failed."""
        return [each for each in self.done if each.changed or isinstance(each.ended, events.Failed)]

    @property
    def seconds_each(self) -> float | None:
        """How long a run took on average, from its first event to its last; None before one."""
        seconds = [
            each.ended.seconds
            for each in self.done
            if isinstance(each.ended, events.Finished) and 0 <= each.ended.seconds <= _LONGEST_S
        ]
        return sum(seconds) / len(seconds) if seconds else None

    def groups(self) -> list[PointGroup]:
        """What was measured at each point; points that differ in the seed alone are one."""
        names = dict.fromkeys(point.group for point in self.points)
        return [self._group(name) for name in names]

    def _group(self, name: str) -> PointGroup:
        points = [point for point in self.points if point.group == name]
        every = [self.of(point, repeat) for point in points for repeat in range(self.study.repeats)]
        figures = [
            self.noted.figures(each.run) for each in every if each is not None and each.is_done
        ]
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
            computing=tuple(each.computing for each in good if each.computing),
            shares=_means([each.shares for each in good]),
            failed=failed,
        )


def judged(state: StudyRuns, groups: Sequence[PointGroup] | None = None) -> StudyVerdict:
    """The verdict on what has been measured so far, as `groups` have it. Raises OSError."""
    batch = state.points[0].plan.training.batch_size if state.points else 0
    found = state.groups() if groups is None else groups
    return verdict_of(state.study, found, batch, state.plan)


def _rank(each: Measured) -> tuple[bool, bool]:
    return each.is_done, each.live


def _means(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    known = [each for each in several if each]
    names = list(dict.fromkeys(name for each in known for name in each))
    return {name: sum(each.get(name, 0.0) for each in known) / len(known) for name in names}


def note_of(run: RunDirectory) -> StudyNote | None:
    """The study that a run belongs to, and its point; None if to none."""
    with suppress(OSError):
        return read_json(run.study_file, msgspec.json.Decoder(StudyNote).decode)
    return None


def write_note(run: RunDirectory, note: StudyNote) -> None:
    """Say which point of which study a run measures. Raises OSError."""
    write_private(run.study_file, json_line(note))


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
    profiled; in a run of one epoch it is the first call. The medians of the other epochs count:
    what else the machine did in one of them does not.
    """
    found, calls = RunFigure(), list[events.Steps]()
    for event in events_of(run):
        match event:
            case events.Steps() if _can_be_timed(event):
                calls.append(event)
            case events.Epoch():
                loss = event.metrics.get("val_loss", event.metrics.get("loss"))
                found.loss = loss if loss is not None and abs(loss) < _LARGEST_LOSS else None
            case events.Memory():
                found.memory |= {each.device: each.peak for each in event.devices if each.peak >= 0}
            case events.Communication():
                computing = {each.device: each.compute for each in event.devices}
                found.computing = {
                    name: took for name, took in computing.items() if 0 <= took <= _LONGEST_S
                }
                found.shares = _shares(event)
            case events.Failed():
                found.failed = event.message
    epochs = {call.epoch for call in calls}
    warm = [call for call in calls if call.epoch > min(epochs)] if len(epochs) > 1 else calls[1:]
    seconds, steps = sum(call.seconds for call in warm), sum(len(call.losses) for call in warm)
    if not found.shares and seconds > 0:
        waited = min(1.0, max(0.0, sum(call.input_seconds for call in warm) / seconds))
        found.shares = {INPUT: waited, NOT_APART: 1 - waited}
    if seconds > 0 and steps:
        found.rate, found.step_seconds = _pace(warm)
    elif not found.failed:
        found.failed = "it had no step after the warm-up: train at least two epochs"
    return found


def _can_be_timed(call: events.Steps) -> bool:
    """Whether the numbers of a call, which anybody may have written, are of any machine."""
    steps = len(call.losses)
    return steps > 0 and call.samples > 0 and _SHORTEST_S * steps <= call.seconds <= _LONGEST_S


def _pace(calls: Sequence[events.Steps]) -> tuple[float, float]:
    """Samples a second, and the seconds of a step: the medians of the epochs of these calls."""
    rates, steps = list[float](), list[float]()
    for epoch in {call.epoch for call in calls}:
        mine = [call for call in calls if call.epoch == epoch]
        seconds = sum(call.seconds for call in mine)
        count = sum(len(call.losses) for call in mine)
        if seconds > 0 and count:
            rates.append(sum(call.samples for call in mine) / seconds)
            steps.append(seconds / count)
    return median(rates), median(steps)


def _shares(event: events.Communication) -> dict[str, float]:
    parts = step_parts(event)
    if parts is None or event.seconds <= 0:
        return {}
    waited = min(1.0, event.input_seconds / event.seconds)
    rest = parts.of(1 - waited)
    found = {
        COMPUTING: rest.compute,
        COMMUNICATION: rest.communication,
        INPUT: waited,
        IDLE: rest.idle,
    }
    return found if all(0 <= share <= 1 for share in found.values()) else {}


def study_problems(
    points: Sequence[Point], folder: Path, machine: Machine
) -> Iterator[tuple[Point, PlanError]]:
    """Every point whose plan cannot be run on `machine`, in the words of the plan's rules."""
    for point in points:
        plan = with_absolute_files(point.plan, folder)
        if problems := problems_of(point.plan, plan, machine):
            yield point, PlanError(problems, f"{point.label}")
