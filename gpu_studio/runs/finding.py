"""Find the run that a person means: by its number, its id or a part of it, or its folder's path."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from gpu_studio.common.user_paths import expanded
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.catalogue import TRASH, UnknownRunError, is_run, numbered
from gpu_studio.runs.naming import Numbers, numbers_in

LATEST: Final = "latest"
_NUMBER: Final = re.compile(r"(#?)([1-9][0-9]*)")


def find(runs: Path, text: str, *, elsewhere: bool = False) -> RunDirectory:
    """Find the run that `text` means.

    It is a number (`7`, `#7`), `latest`, an id, the path of the run's folder, or the beginning or
    else any part of just one id. `elsewhere` allows the path of a run that is not under `runs`.

    Raises UnknownRunError otherwise, naming the nearest or the candidates.
    """
    path = _path(text)
    if path is not None:
        return _at(runs, path, elsewhere=elsewhere)
    found, numbers = numbered(runs)
    known = {run.id: run for run in found}
    if text in known:
        return known[text]
    here = Path(text).absolute()
    if text and is_run(RunDirectory(here)):
        return _at(runs, here, elsewhere=elsewhere)
    if not known:
        raise UnknownRunError(f"There are no runs in {runs} yet: start one, with: gpu-studio train")
    if text == LATEST:
        return found[0]
    name = _numbered(runs, text, numbers, list(known)) or _named(text, list(known))
    return known[name]


def deleted(runs: Path, text: str) -> str:
    """The id of the run in the trash of `runs` that `text` means: by number, or by its exact id."""
    match = _NUMBER.fullmatch(text)
    numbers = numbers_in(runs).items() if match else ()
    return next((name for name, number in numbers if match and number == int(match[2])), text)


def _path(text: str) -> Path | None:
    """The path in `text`, if it is one: as completed by the shell, with a trailing slash."""
    if os.sep not in text and text not in (".", "..") and not text.startswith("~"):
        return None
    path = expanded(text).absolute()
    return path.resolve() if path.name == ".." else path


def _at(runs: Path, path: Path, *, elsewhere: bool) -> RunDirectory:
    run = RunDirectory(path)
    if not is_run(run):
        what = "there is no run in it" if path.is_dir() else "there is no such folder"
        raise UnknownRunError(
            f"{path} is not the folder of a run: {what}. All runs: gpu-studio runs list"
        )
    if os.path.realpath(path.parent) == os.path.realpath(runs):
        return RunDirectory(runs / run.id)
    if not elsewhere:
        raise UnknownRunError(
            f"{path} is not one of the runs in {runs}, so it can only be looked at (show, log, "
            "placement, compare, "
            f"report, export). To do more to it, name its folder: --runs-dir {path.parent}"
        )
    return run


def _numbered(runs: Path, text: str, numbers: Numbers, known: Sequence[str]) -> str | None:
    """The id of the run with this number; None if `text` is not a number that was ever given."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    wanted = int(match[2])
    name = next((name for name, number in numbers.items() if number == wanted), None)
    if name in known:
        return name
    if name is not None:
        # It must not match as a part of another id.
        back = (
            f" Take it back with: gpu-studio runs restore {name}"
            if (runs / TRASH / name).is_dir()
            else ""
        )
        raise UnknownRunError(f"Run #{wanted}, {name}, is not in {runs} any more.{back}")
    if match[1]:
        raise UnknownRunError(
            f"There is no run #{wanted}. All runs with their numbers: gpu-studio runs list"
        )
    return None


def _named(text: str, known: Sequence[str]) -> str:
    candidates = [name for name in known if name.startswith(text)] or [
        name for name in known if text in name
    ]
    if len(candidates) == 1 and text:
        return candidates[0]
    if candidates:
        raise UnknownRunError(
            f"{text!r} may mean any of {', '.join(candidates)}: write more of it."
        )
    near = get_close_matches(text, known, 1, cutoff=0.3)
    raise UnknownRunError(
        f"There is no run {text!r}: the nearest is {near[0] if near else known[0]}."
    )
