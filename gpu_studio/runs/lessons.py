"""Lessons: a plan to begin with, and steps that wait until they were done.

A lesson is a TOML file of `resources/lessons`, with its plan and perhaps Python beside it. What a
step waits for is stated over the plan, the runs since the lesson began and what the window shows,
and decided here, so that the window and the terminal agree on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio.common.figures import plural
from gpu_studio.common.paths import resource
from gpu_studio.common.safe_files import read_regular
from gpu_studio.contract import RunDirectory, State
from gpu_studio.plan import (
    CPU,
    AbsolutePlan,
    Machine,
    Plan,
    PlanError,
    listed,
    load,
    with_absolute_files,
    with_settings,
)
from gpu_studio.plan.carving import set_slices
from gpu_studio.plan.edits.change import value_at
from gpu_studio.plan.starter import best_card
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.reading.summary import Skimmer, Summary, created_at

FOLDER = "lessons"
_LARGEST = 1 << 20
PLAN = "lesson.plan.toml"
"""What the plan of a lesson is called where it is copied to."""


class WantedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that a step waits for. What is not given may be anything.

    `reason` is the beginning of why it ended, `plan` has values by the keys of its plan, and the
    `newest` is the only one that counts.
    """

    states: tuple[State, ...] = ()
    reason: str = ""
    epochs: int = 0
    resumed: bool = False
    newest: bool = False
    plan: dict[str, Any] = {}

    def is_among(self, runs: Sequence[SeenRun]) -> bool:
        """Whether one of the runs, of which the newest comes first, is like this."""
        return any(map(self._is, runs[:1] if self.newest else runs))

    def _is(self, run: SeenRun) -> bool:
        return (
            (not self.states or run.state in self.states)
            and run.reason.lower().startswith(self.reason.lower())
            and run.epochs >= self.epochs
            and (run.resumed or not self.resumed)
            and not _other_values(self.plan, run.plan)
        )

    def __str__(self) -> str:
        """What run it is: `a run that is finished, with distribution.strategy = mirrored`."""
        what = "the newest run" if self.newest else "a run"
        parts = [f"that is {listed(self.states, 'or')}"] if self.states else []
        parts += ["that was resumed"] if self.resumed else []
        parts += [f"{plural(self.epochs, 'epoch')} trained"] if self.epochs else []
        parts += [self.reason] if self.reason else []
        parts += [f"with {key} = {_written(value)}" for key, value in self.plan.items()]
        return f"{what} {', '.join(parts)}"


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a step waits for; all that is given must hold.

    `plan` has values by keys, and those that are `given` have any. A device has `slices`, layers
    run on so many devices (`placed_on`), the machine has `cards`, `runs` have been trained. The
    others are of the window alone: its `page`, the `part` of the Plan page, how many runs are
    `chosen` on the Runs page, whether the open plan is `resuming` a
    run, and whether all of its Python is `allowed`.
    """

    plan: dict[str, Any] = {}
    given: tuple[str, ...] = ()
    slices: int = 0
    placed_on: int = 0
    cards: bool = False
    runs: tuple[WantedRun, ...] = ()
    page: str = ""
    part: str = ""
    chosen: int = 0
    resuming: bool = False
    allowed: bool = False

    def missing(self, seen: LessonSight) -> list[str]:
        """What does not hold yet, in words; nothing once all of it does."""
        plan = seen.plan or Plan()
        placed = plan.distribution.placed
        used = {name for on in placed.layers.values() for name in on} if placed else set()
        carved = max((len(carve.slices_mib) for carve in plan.devices.carve), default=0)
        wanted = {
            **{key: bool(value_at(plan, key)) for key in self.given},
            f"a device in {self.slices} slices": carved >= self.slices,
            f"layers on {self.placed_on} devices": len(used) >= self.placed_on,
            "a card, or practice cards": not self.cards or bool(seen.cards),
            f"the {self.page.capitalize()} page": self.page in ("", seen.page),
            f"the tab {self.part}": self.part in ("", seen.part),
            f"{self.chosen} runs selected": seen.chosen >= self.chosen,
            "the plan’s Python to be allowed": seen.allowed or not self.allowed,
            "a run to go on with": seen.resuming or not self.resuming,
            **{str(one): one.is_among(seen.runs) for one in self.runs},
        }
        others = _other_values(self.plan, plan)
        return others + [words for words, holds in wanted.items() if not holds]

    @property
    def without_window(self) -> Until:
        """The same, less what only a window shows."""
        return msgspec.structs.replace(
            self, page="", part="", chosen=0, resuming=False, allowed=False
        )


class LessonStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to do, or to read if nothing is waited for.

    `text` and `then`, which is read once it was done, are Markdown; `terminal` and `terminal_then`
    replace them there. `at` are the places in the window that are pointed at, of which the first
    one that can be seen is meant. What does the step for someone: values that are `set` in the
    plan, `split` into so many slices, an `action` of the window, and in the terminal `commands` of
    `gpu-studio`, where `{plan}` is the plan's file and `{before}` the lesson's run before the
    newest.
    """

    title: str
    text: str
    at: tuple[str, ...] = ()
    until: Until | None = None
    then: str = ""
    terminal: str = ""
    terminal_then: str = ""
    set: tuple[str, ...] = ()
    split: int = 0
    action: str = ""
    commands: tuple[str, ...] = ()

    @property
    def edits(self) -> bool:
        """Whether it can be done by changing the plan."""
        return bool(self.set or self.split)

    def edited(self, plan: Plan, machine: Machine, code: str = "") -> Plan:
        """The plan with this step done, where `{code}` is the Python file.

        Raises PlanError if it cannot be done to this plan.
        """
        if self.split:
            card = best_card(machine)
            device = card.device if card is not None else CPU
            plan = set_slices(plan, device, self.split, machine)
        return with_settings(plan, [each.replace("{code}", code) for each in self.set])


class Lesson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lesson. `about` is the page or part of the guide to read on; `code` is a Python file."""

    number: int
    title: str
    goal: str
    steps: tuple[LessonStep, ...]
    about: str = ""
    code: str = ""

    @property
    def plan_file(self) -> Path:
        """The plan that it begins with, as it is shipped."""
        return resource(f"{FOLDER}/{self.number}.plan.toml")

    @property
    def code_file(self) -> Path | None:
        """The Python file that its plan names or is to name; None if there is none."""
        return resource(f"{FOLDER}/{self.code}") if self.code else None

    def plan(self) -> AbsolutePlan:
        """The plan that it begins with."""
        return with_absolute_files(load(self.plan_file), self.plan_file.parent)

    def plan_at(self, step: int, machine: Machine) -> Plan:
        """The plan once the steps before this one, counted from 0, were done."""
        plan: Plan = self.plan()
        for each in self.steps[:step]:
            plan = each.edited(plan, machine, str(self.code_file or ""))
        return plan

    @property
    def name(self) -> str:
        """What its plan is called, by which its runs are known."""
        return self.plan().name


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    goal: str
    steps: tuple[LessonStep, ...]
    about: str = ""
    code: str = ""


@cache
def lessons() -> Mapping[int, Lesson]:
    """All lessons by their numbers. Raises OSError if they are not there."""
    found = sorted(resource(FOLDER).glob("[0-9].toml"))
    return {number: _read(number, file) for file in found if (number := int(file.stem))}


def _read(number: int, file: Path) -> Lesson:
    written = msgspec.toml.decode(read_regular(file, _LARGEST, follow=True), type=_Written)
    return Lesson(number, **{name: getattr(written, name) for name in written.__struct_fields__})


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run as lessons see it. `epochs` are those that have ended."""

    plan: Plan
    state: State
    reason: str = ""
    epochs: int = 0
    resumed: bool = False
    id: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether it has not come to an end."""
        return self.state in ("starting", "running", "paused", "stopping")


@dataclass(frozen=True, slots=True)
class LessonSight:
    """What a step may wait for: the open plan, the runs of the lesson, and what is shown."""

    plan: Plan | None = None
    cards: int = 0
    runs: tuple[SeenRun, ...] = ()
    page: str = ""
    part: str = ""
    chosen: int = 0
    resuming: bool = False
    allowed: bool = False


class LessonRuns:
    """The runs of one lesson: those of its plan's name that were begun since, in s since 1970."""

    def __init__(self, runs: Path, name: str, since: float) -> None:
        self._runs, self._name, self._since = runs, name, since
        self._skimmers: dict[str, tuple[Skimmer, Plan] | None] = {}
        self._ended: dict[str, SeenRun] = {}

    def look(self) -> tuple[SeenRun, ...]:
        """What they are now, the newest first. One that cannot be read is left out."""
        try:
            found = directories(self._runs)
            return tuple(seen for run in self._new(found) if (seen := self._seen(run)))
        except OSError:
            return ()

    def _new(self, runs: Iterable[RunDirectory]) -> Iterable[RunDirectory]:
        # An id has its time in whole seconds.
        return (run for run in runs if created_at(run) >= int(self._since))

    def _seen(self, run: RunDirectory) -> SeenRun | None:
        if run.id in self._ended:
            return self._ended[run.id]
        if self._skimmers.get(run.id) is None:
            self._skimmers[run.id] = self._begun(run)
        known = self._skimmers[run.id]
        if known is None or known[1].name != self._name:
            return None
        try:
            summary = known[0].summary()
        except OSError:
            return None
        seen = _seen_run(run.id, known[1], summary)
        # Between its folder and its lock a run that is about to begin looks lost.
        if not summary.live and summary.state != "lost":
            self._ended[run.id] = seen
        return seen

    @staticmethod
    def _begun(run: RunDirectory) -> tuple[Skimmer, Plan] | None:
        try:
            return Skimmer(run), run.load_plan()
        except PlanError:
            return None  # it may be about to be written


def _seen_run(run: str, plan: Plan, summary: Summary) -> SeenRun:
    return SeenRun(
        plan, summary.state, summary.reason, summary.epoch, summary.resumed_from is not None, run
    )


def _other_values(wanted: Mapping[str, Any], plan: Plan) -> list[str]:
    return [
        f"{key} = {_written(value)}"
        for key, value in wanted.items()
        if _plain(value_at(plan, key)) != _plain(value)
    ]


def _plain(value: Any) -> Any:
    """A value of a plan as one of TOML: a loss or a schedule by its name."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return getattr(value, "name", value)


def _written(value: Any) -> str:
    return listed(value) if isinstance(value, list) else str(value)
