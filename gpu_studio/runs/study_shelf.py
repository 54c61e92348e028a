"""The studies that are known in a folder of runs: those that were made or run here, by their files.

Each has a note of its own below `studies` in the folder of the runs, so that two programs that
remember one each do not lose the other's.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from gpu_studio import plan as plans
from gpu_studio.common.paths import expanded, is_missing
from gpu_studio.contract import json_line, make_own_directory, read_json, write_private
from gpu_studio.lab.study import Point, Study, load_study, points_of, unreadable_plan
from gpu_studio.plan import AbsolutePlan, Plan
from gpu_studio.runs.studies import Measured

FOLDER: Final = "studies"
_NOTE: Final = ".known.json"
_LOG: Final = ".log"
_KEY: Final = 24


class _Known(msgspec.Struct, frozen=True):
    path: str
    time: float = 0.0
    forgotten: bool = False


def folder_of(runs: Path) -> Path:
    """Where studies of this folder of runs are noted; it need not exist."""
    return runs / FOLDER


def log_of(runs: Path, study: Path) -> Path:
    """What a study that was started detached said last is written here."""
    return folder_of(runs) / f"{_key(study)}{_LOG}"


def _key(study: Path) -> str:
    text = str(study.absolute())
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_KEY]


def remember(runs: Path, study: Path) -> None:
    """Note that there is a study in this file. Raises OSError."""
    _note(runs, study, _Known(str(study.absolute()), time.time()))


def forget(runs: Path, study: Path) -> None:
    """Take a study from the list; its file and its runs stay. Raises OSError."""
    _note(runs, study, _Known(str(study.absolute()), time.time(), forgotten=True))


def _note(runs: Path, study: Path, known: _Known) -> None:
    make_own_directory(folder_of(runs))
    write_private(folder_of(runs) / f"{_key(study)}{_NOTE}", json_line(known))


def known_files(runs: Path, measured: Sequence[Measured] = ()) -> list[Path]:
    """The files of studies that were made or run here, the last first, each once.

    After them come those that `measured` runs say they were made for.
    """
    found: list[_Known] = []
    for path in folder_of(runs).glob(f"*{_NOTE}"):
        with suppress(OSError):
            found.append(read_json(path, msgspec.json.Decoder(_Known).decode))
    ordered = sorted(found, key=lambda each: -each.time)
    forgotten = {each.path for each in found if each.forgotten}
    named = (*(each.path for each in ordered), *(each.note.file for each in measured))
    return [Path(path) for path in dict.fromkeys(filter(None, named)) if path not in forgotten]


@dataclass(frozen=True, slots=True)
class OpenStudy:
    """A study as its file at `path` has it, with its plan's file, its plan and its points."""

    path: Path
    study: Study
    plan_file: Path
    plan: Plan
    points: tuple[Point, ...]

    @property
    def folder(self) -> Path:
        """The folder that the plan's own files are taken from."""
        return self.plan_file.parent

    def plans(self) -> list[AbsolutePlan]:
        """The plan of each point, with its files named absolutely."""
        return [plans.with_absolute_files(point.plan, self.folder) for point in self.points]


def open_study(path: Path) -> OpenStudy:
    """Read a study, its plan and its points. Raises PlanError with all that is wrong."""
    path = path.absolute()
    study = load_study(path)
    plan_file = path.parent / expanded(study.plan)
    if is_missing(plan_file):
        raise unreadable_plan(study, plan_file)
    plan = plans.load(plan_file)
    return OpenStudy(path, study, plan_file, plan, points_of(study, plan))


def plan_as_written(plan_file: Path, study: Path) -> str:
    """The plan's path as the study in a file writes it: its name where the folder is the same."""
    same = plan_file.absolute().parent == study.absolute().parent
    return plan_file.name if same else str(plan_file.absolute())
