"""What can be seen of the studies of a folder of runs, read again and again while they run.

`StudyDesk` reads only what is new: what has not changed since the last look is the same object.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from gpu_studio.contract import Failed, Finished, RunDirectory
from gpu_studio.lab.outcome import figure_of, words_of_plan
from gpu_studio.lab.study import Point
from gpu_studio.lab.verdict import NOTHING_YET, PointGroup, StudyVerdict
from gpu_studio.plan import PlanError, printable
from gpu_studio.runs.labels import number_of
from gpu_studio.runs.reading.summary import Skimmer
from gpu_studio.runs.studies import Measured, NotedRuns, StudyRuns, judged
from gpu_studio.runs.study_files import in_words
from gpu_studio.runs.study_runner import being_run, is_ending
from gpu_studio.runs.study_shelf import OpenStudy, known_files, open_study

PointState = Literal["waiting", "running", "done", "failed"]
_SILENT: Final = StudyVerdict(NOTHING_YET)


@dataclass(frozen=True, slots=True)
class PointRun:
    """One run of a study: `repeat` counts from 0, `seconds` is how long it took, where it is over.

    `why` says why it failed. A run that waits has neither `run` nor `number`.
    """

    label: str
    group: str
    repeat: int
    state: PointState
    run: str = ""
    number: int | None = None
    seconds: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class LivePoint:
    """How far the run has come that trains now. `epochs` is None until its model is built."""

    label: str
    run: RunDirectory
    number: int | None
    epoch: int
    epochs: int | None
    seconds: float

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self.epoch / self.epochs) if self.epochs else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class StudySnapshot:
    """A study at one moment. One that cannot be read has a `problem`, in words, and nothing else.

    `is_run` says that a process works it off, `ends` that this begins no further run, `live` which
    of its runs trains. `changed` names the files of the plan that hold something else than when so
    many of its runs (`stale`) read them.
    """

    path: Path
    name: str
    problem: str = ""
    opened: OpenStudy | None = None
    runs: tuple[PointRun, ...] = ()
    groups: tuple[PointGroup, ...] = ()
    verdict: StudyVerdict = _SILENT
    is_run: bool = False
    ends: bool = False
    live: LivePoint | None = None
    seconds_each: float | None = None
    changed: str = ""
    stale: int = 0
    state: StudyRuns | None = field(default=None, repr=False)

    @property
    def total(self) -> int:
        """How many runs it has."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """How many of them are over, and count."""
        return sum(each.state in ("done", "failed") for each in self.runs)

    @property
    def failed(self) -> tuple[PointRun, ...]:
        """The runs that failed."""
        return tuple(each for each in self.runs if each.state == "failed")

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The ids of its runs, in their drawn order."""
        return tuple(each.run for each in self.runs if each.run)

    @property
    def seconds_taken(self) -> float:
        """How long its runs that are over took together."""
        return sum(each.seconds or 0.0 for each in self.runs)

    @property
    def seconds_left(self) -> float | None:
        """About how long what is left takes; None before a run has ended."""
        if self.seconds_each is None or self.done == self.total:
            return None
        begun = min(self.live.seconds, self.seconds_each) if self.live else 0.0
        return self.seconds_each * (self.total - self.done) - begun

    @property
    def figure(self) -> str:
        """The one figure that sums it up; empty before there is one."""
        return figure_of(self.opened.study, self.groups, self.verdict) if self.opened else ""

    @property
    def plan_words(self) -> str:
        """What the verdict's plan is called: `Plan with two devices`; empty if it chose none."""
        opened = self.opened
        return words_of_plan(opened.study, self.verdict, opened.points) if opened else ""

    @property
    def progress(self) -> str:
        """How far it is, in a few words: `4 of 12 runs · running`."""
        if self.problem:
            return "cannot be read"
        if self.opened is None:
            return "reading…"
        words = f"{self.done} of {self.total} runs"
        if self.is_run and self.ends:
            return f"{words} · stops after this one"
        return f"{words} · running" if self.is_run or self.live else words


class StudyDesk:
    """Reads the known studies of a folder of runs. Threads wait for each other."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._noted = NotedRuns(runs)
        self._opened: dict[Path, tuple[object, OpenStudy]] = {}
        self._seen: dict[Path, tuple[object, StudySnapshot]] = {}
        self._skimmers: dict[str, Skimmer] = {}

    def look(self, *besides: Path) -> list[StudySnapshot]:
        """Every known study, and those in the files `besides`. Raises OSError."""
        with self._lock:
            return self._look(besides)

    def _look(self, besides: Sequence[Path]) -> list[StudySnapshot]:
        measured = self._noted.look()
        running = being_run(self._runs)
        paths = dict.fromkeys((*besides, *known_files(self._runs, measured)))
        found = [self._snapshot(path, measured, is_run=path == running) for path in paths]
        live = {each.live.run.id for each in found if each.live}
        self._skimmers = {name: each for name, each in self._skimmers.items() if name in live}
        return found

    def measure_anew(self, snapshot: StudySnapshot) -> int:
        """Let the runs that failed, and those whose plan's files have changed, count no more.

        Returns how many those are. Raises OSError.
        """
        several = snapshot.state.anew if snapshot.state else []
        with self._lock:
            self._noted.set_aside(several)
        return len(several)

    def _snapshot(self, path: Path, measured: Sequence[Measured], *, is_run: bool) -> StudySnapshot:
        opened = self._open(path)
        if isinstance(opened, str):
            return self._kept(path, opened, lambda: _broken(path, opened))
        try:
            return self._judged(opened, measured, is_run=is_run)
        # Whatever is wrong with one study must not hide the others.
        except Exception as error:  # noqa: BLE001
            return _broken(path, f"It cannot be judged: {type(error).__name__}: {error}")

    def _judged(
        self, opened: OpenStudy, measured: Sequence[Measured], *, is_run: bool
    ) -> StudySnapshot:
        path = opened.path
        state = StudyRuns.among(measured, self._noted, opened.study, opened.points, opened.plan)
        live = self._live(state)
        found = tuple(
            (key, each.run.id, each.is_done, each.changed) for key, each in state.found.items()
        )
        ends = is_run and is_ending(self._runs)
        seen = (id(opened), found, live, is_run, ends)
        return self._kept(path, seen, lambda: _made(opened, state, live, is_run=is_run, ends=ends))

    def _kept(self, path: Path, seen: object, make: Callable[[], StudySnapshot]) -> StudySnapshot:
        """The snapshot of the last look, if the same is seen now; else a new one."""
        before = self._seen.get(path)
        if before is None or before[0] != seen:
            self._seen[path] = before = (seen, make())
        return before[1]

    def _open(self, path: Path) -> OpenStudy | str:
        """The study, read again only if its file or its plan's has changed; else why it is none."""
        before = self._opened.get(path)
        if before is not None and before[0] == _version(before[1]):
            return before[1]
        try:
            opened = open_study(path)
        except PlanError as error:
            self._opened.pop(path, None)
            return "\n".join(str(problem) for problem in error.problems)
        self._opened[path] = (_version(opened), opened)
        return opened

    def _live(self, state: StudyRuns) -> LivePoint | None:
        each = state.live
        if each is None:
            return None
        skimmer = self._skimmers.setdefault(each.run.id, Skimmer(each.run))
        summary = skimmer.summary()
        point = next((one for one in state.points if one.key == each.note.point), None)
        label = point.label if point else printable(summary.plan)
        return LivePoint(
            label,
            each.run,
            number_of(each.run),
            summary.epoch,
            summary.epochs_total,
            round(summary.seconds or 0.0),
        )


def _version(opened: OpenStudy) -> object:
    """What changes when a study's file, or its plan's, is written again."""
    return tuple(map(_written, (opened.path, opened.plan_file)))


def _written(file: Path) -> object:
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _broken(path: Path, problem: str) -> StudySnapshot:
    return StudySnapshot(path, path.name.partition(".")[0], problem)


def _made(
    opened: OpenStudy, state: StudyRuns, live: LivePoint | None, *, is_run: bool, ends: bool
) -> StudySnapshot:
    groups, stale = tuple(state.groups()), state.changed
    return StudySnapshot(
        path=opened.path,
        name=opened.study.name,
        opened=opened,
        runs=tuple(_point_run(state, live, *key) for key in state.order),
        groups=groups,
        verdict=judged(state, groups),
        is_run=is_run,
        ends=ends,
        live=live,
        seconds_each=state.seconds_each,
        changed=in_words(path for each in stale for path in each.changed),
        stale=len(stale),
        state=state,
    )


def _point_run(state: StudyRuns, live: LivePoint | None, point: Point, repeat: int) -> PointRun:
    each = state.of(point, repeat)
    made = PointRun(point.label, point.group, repeat, "waiting")
    if each is None or not (each.is_done or (live is not None and live.run == each.run)):
        return made
    made = replace(made, run=each.run.id, number=number_of(each.run))
    if isinstance(each.ended, Failed):
        return replace(made, state="failed", why=each.ended.message)
    if isinstance(each.ended, Finished):
        return replace(made, state="done", seconds=each.ended.seconds)
    return replace(made, state="running")
