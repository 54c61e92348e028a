"""`lesson`: the lessons in the terminal, step by step, with the commands that do each step."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_studio.cli.command import (
    OK,
    REFUSED,
    Commands,
    RefusedError,
    add_command,
    note,
    runs_folder,
    say,
)

if TYPE_CHECKING:
    from gpu_studio.plan import Machine
    from gpu_studio.runs.lessons import Lesson, LessonRuns, LessonStep, Until

_LESSON = """examples:
  gpu-studio lesson                     what lessons there are
  gpu-studio lesson 3                   read the third, and do its steps as you go
  gpu-studio lesson 3 --folder here     keep its plan in this folder
  gpu-studio lesson 3 --yes             do every step without asking

Its plan, and its Python if it has some, are copied into the folder first. At each step Enter runs
the commands that are shown, s skips them, q leaves. Where nobody can be asked, and without --yes,
the steps are only written out."""
_ASKED = "Enter: do it · s: skip · q: leave  "
_BEFORE = "RUN"
"""Stands for the run before the newest, where that is not known yet."""
_LATER = "{before}"
_LOOK_S = 0.5
_PATIENCE_S = 120.0
"""How long a step waits for a run that it has begun in the background."""


def register(commands: Commands) -> None:
    """Add the command."""
    summary = "learn by doing: eight lessons, each with a plan of its own"
    parser = add_command(commands, "lesson", summary, _LESSON, read)
    parser.add_argument("number", metavar="NUMBER", nargs="?", type=int, help="which lesson")
    parser.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        help="where its plan is put (default: lesson-NUMBER, here)",
    )
    parser.add_argument("--yes", action="store_true", help="do every step without asking")


def read(chosen: argparse.Namespace) -> int:
    """List the lessons, or go through one."""
    from gpu_studio.runs.lessons import lessons

    if chosen.number is None:
        for lesson in lessons().values():
            say(f"{lesson.number}  {lesson.title}\n   {lesson.goal}")
        note("Read one with: gpu-studio lesson 1")
        return OK
    if chosen.number not in lessons():
        numbers = ", ".join(map(str, lessons()))
        raise RefusedError(f"There is no lesson {chosen.number}. There are: {numbers}")
    lesson = lessons()[chosen.number]
    if not chosen.yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        _write_out(lesson)
        return OK
    return _Reading(lesson, chosen).read()


def _write_out(lesson: Lesson) -> None:
    from gpu_studio.runs.lessons import PLAN

    say(
        f"# Lesson {lesson.number}: {lesson.title}\n\n{lesson.goal}\n\nIts plan: {lesson.plan_file}"
    )
    for number, step in enumerate(lesson.steps, start=1):
        _say_step(lesson, number, step, Path(PLAN))
        _say_then(step)


def _say_step(
    lesson: Lesson, number: int, step: LessonStep, plan: Path, before: str = _BEFORE
) -> None:
    say(f"\n## {number} of {len(lesson.steps)}: {step.title}\n")
    say(_readable(step.terminal or step.text))
    edits = [*step.set, *([f"devices.carve, for {step.split} slices"] if step.split else [])]
    for edit in edits if not step.commands or not step.action else ():
        say(f"    in {plan.name}: {edit.replace('{code}', lesson.code)}")
    for words in _commands(lesson, step, plan, before):
        say(f"    $ gpu-studio {shlex.join(words)}")


def _say_then(step: LessonStep) -> None:
    if then := step.terminal_then or step.then:
        say(_readable(then))


def _readable(text: str) -> str:
    from gpu_studio.common.guide import Guide

    return Guide.readable(text.strip()) + "\n"


def _commands(
    lesson: Lesson, step: LessonStep, plan: Path, before: str = _BEFORE
) -> list[list[str]]:
    """The arguments of the commands that do a step; `before` names the run before the newest."""
    written = step.commands or (("train {plan}",) if step.action == "train" else ())
    named = {"{plan}": str(plan), _LATER: before}
    found = [[named.get(word, word) for word in shlex.split(each)] for each in written]
    return [
        [*each, "--allow-code"] if lesson.code and each[0] in ("train", "model") else each
        for each in found
    ]


class _Reading:
    """One lesson that is being gone through."""

    def __init__(self, lesson: Lesson, chosen: argparse.Namespace) -> None:
        from gpu_studio.cli.given_plan import this_machine
        from gpu_studio.runs.lessons import PLAN, LessonRuns

        self._lesson, self._asks = lesson, not chosen.yes
        self._folder: Path = chosen.folder or Path(f"lesson-{lesson.number}")
        self._plan = self._folder / PLAN
        self._runs_dir = runs_folder(chosen)
        self._machine: Machine = this_machine()
        self._runs: LessonRuns = LessonRuns(self._runs_dir, lesson.name, time.time())

    def read(self) -> int:
        """Go through the steps. Returns the exit code: refused if one could not be done."""
        self._copy()
        for number, step in enumerate(self._lesson.steps, start=1):
            _say_step(self._lesson, number, step, self._plan, self._before())
            if not self._do(step):
                return OK if self._asks else REFUSED
            _say_then(step)
        note(f"Lesson {self._lesson.number} is done. Its plan stays in {self._folder}.")
        return OK

    def _copy(self) -> None:
        from gpu_studio.common.safe_files import read_regular, write_output
        from gpu_studio.contract import make_private_directory

        make_private_directory(self._folder)
        if self._plan.exists():
            raise RefusedError(
                f"{self._plan} is there already. Give another folder with --folder, or delete it."
            )
        shipped = {self._plan: self._lesson.plan_file}
        if self._lesson.code_file is not None:
            shipped[self._folder / self._lesson.code] = self._lesson.code_file
        for path, file in shipped.items():
            write_output(path, [read_regular(file, 1 << 20, follow=True)])
        note(f"The plan of this lesson is {self._plan}.")

    def _do(self, step: LessonStep) -> bool:
        """Do a step, or have it skipped. Returns whether to go on."""
        commands = _commands(self._lesson, step, self._plan, _LATER)
        waits = step.until is not None and bool(self._missing(step.until))
        while commands or step.edits or waits:
            answer = self._answer()
            if answer.startswith(("q", "s")):
                return answer.startswith("s")
            if step.edits and not (step.commands and step.action):
                self._edit(step)
            for words in commands:
                self._call(words)
            missing = self._wait_for(step.until) if step.until is not None else []
            if not missing:
                break
            note(f"Not yet: this step waits for {'; '.join(missing)}.")
            if not self._asks:
                return False
        return True

    def _answer(self) -> str:
        """What is typed; where nothing more can be, one leaves."""
        if not self._asks:
            return ""
        try:
            return input(_ASKED).strip().lower()
        except EOFError:
            say()
            return "q"

    def _before(self) -> str:
        """The id of the run before the newest."""
        runs = self._runs.look()
        return runs[1].id if len(runs) > 1 else _BEFORE

    def _edit(self, step: LessonStep) -> None:
        from gpu_studio import plan as plans

        plan = step.edited(plans.load(self._plan), self._machine, self._lesson.code)
        plans.save(plan, self._plan)

    def _call(self, words: list[str]) -> None:
        command = [sys.executable, "-P", "-m", "gpu_studio", "--runs-dir", str(self._runs_dir)]
        named = [self._before() if word == _LATER else word for word in words]
        subprocess.run([*command, *named], check=False)

    def _wait_for(self, until: Until) -> list[str]:
        """What is missing of a step in the end; a run in the background gets its time."""
        end = time.monotonic() + _PATIENCE_S
        while missing := self._missing(until):
            if not any(run.goes_on for run in self._runs.look()):
                break
            if time.monotonic() > end:
                break
            time.sleep(_LOOK_S)
        return missing

    def _missing(self, until: Until) -> list[str]:
        from gpu_studio import plan as plans
        from gpu_studio.runs.lessons import LessonSight

        seen = LessonSight(plans.load(self._plan), len(self._machine.cards), self._runs.look())
        return until.without_window.missing(seen)
