"""The runs of a directory: list them, find the one that a person means, and delete with undo.

A person names a run by its number, by its id or a part of it, or by the path of its folder.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from operator import itemgetter
from pathlib import Path
from typing import Final

from gpu_studio.common.paths import expanded
from gpu_studio.common.safe_files import remove_older
from gpu_studio.contract import RunDirectory, make_private_directory, refuse_link
from gpu_studio.contract.directory import HIDDEN
from gpu_studio.runs.labels import Numbers, number_all, numbers_in
from gpu_studio.runs.left_job import LeftJobs
from gpu_studio.runs.paths import command_in, run_command
from gpu_studio.runs.reading.summary import (
    WORTH_BYTES,
    EventsVersion,
    KnownSummaries,
    Skimmer,
    Summary,
    created_at,
    keep_summaries,
    load_summaries,
    unreadable,
)
from gpu_studio.runs.state import is_live

TRASH = ".trash"
# An undo offered by another window must still find what that one deleted.
_KEPT_IN_TRASH = 3600.0
_Age = tuple[float, int, str]


class UnknownRunError(Exception):
    """There is no such run, or there are several.

    What was asked for, and what there is, in words.
    """


class LiveRunError(Exception):
    """The action is impossible for a run that is still training."""


class Catalogue:
    """The runs of one directory, newest first. Listing them again reads only what is new.

    Summaries of ended runs are cached for the next program.
    """

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._ended: KnownSummaries | None = None
        self._skimmers: dict[str, Skimmer] = {}
        self._found: dict[str, tuple[_Age, RunDirectory]] = {}
        self._read_bytes = 0
        self._left_jobs = LeftJobs()

    def summaries(self) -> list[Summary]:
        """Return every run's summary, newest first.

        That of one that cannot be read says so, in its `problem`.
        """
        first = self._ended is None
        ended = load_summaries(self.runs) if self._ended is None else self._ended
        runs = self._directories()
        numbers = number_all(self.runs, reversed(runs))
        found = [_numbered(self._summary(run, ended), numbers[run.id]) for run in runs]
        names = {summary.id for summary in found}
        self._ended = {name: known for name, known in ended.items() if name in names}
        self._skimmers = {
            name: skimmer for name, skimmer in self._skimmers.items() if name in names
        }
        # Where nothing is left to read, the next program needs no NumPy, which it would wait for.
        if self._read_bytes >= (1 if first else WORTH_BYTES):
            keep_summaries(self.runs, self._ended)
            self._read_bytes = 0
        return self._left_jobs.added_to(found)

    def _directories(self) -> list[RunDirectory]:
        """Every run, newest first, without touching those known already."""
        before, self._found = self._found, {}
        for name in _names(self.runs):
            found = before.get(name) or _aged(RunDirectory(self.runs / name))
            if found is not None:
                self._found[name] = found
        return [run for _, run in sorted(self._found.values(), key=itemgetter(0), reverse=True)]

    def _summary(self, run: RunDirectory, ended: KnownSummaries) -> Summary:
        try:
            version = _version(run)
            known = ended.get(run.id)
            if known and known[0] == version:
                return known[1]
            summary = self._skimmers.setdefault(run.id, Skimmer(run)).summary()
        # Whatever is wrong with one run must not hide the others.
        except Exception as error:  # noqa: BLE001
            return unreadable(run, error)
        if not summary.live:
            ended[run.id] = version, summary
            self._read_bytes += version[0]
            del self._skimmers[run.id]
        return summary


def list_runs(runs: Path) -> list[Summary]:
    """Return the summary of every run under `runs`, newest first.

    None if the directory is not there.
    """
    return Catalogue(runs).summaries()


def directories(runs: Path) -> list[RunDirectory]:
    """Return every run under `runs`, newest first, without reading any."""
    found = [aged for name in _names(runs) if (aged := _aged(RunDirectory(runs / name)))]
    return [run for _, run in sorted(found, key=itemgetter(0), reverse=True)]


def numbered(runs: Path) -> tuple[list[RunDirectory], Numbers]:
    """Return every run under `runs`, newest first, and the runs' numbers."""
    found = directories(runs)
    return found, number_all(runs, reversed(found))


def is_run(run: RunDirectory) -> bool:
    """Whether there is a run in this folder."""
    return _aged(run) is not None


def delete(run: RunDirectory) -> Path:
    """Move `run` to the trash of its directory, from which `restore` recovers it.

    Return its new path. Raises LiveRunError if it is still training, UnknownRunError if another
    program has moved it meanwhile, OSError if it cannot be moved.
    """
    if is_live(run):
        stop = run_command("runs stop", run.path)
        raise LiveRunError(f"{run.id} is still training: stop it first, with: {stop}")
    trash = _own_trash(run.path.parent)
    make_private_directory(trash)
    try:
        os.utime(run.path)  # `purge` goes by the time of deletion
        return run.path.rename(trash / run.id)
    except FileNotFoundError as error:
        back = _way_back(run.path.parent, run.id)
        raise UnknownRunError(f"{run.id} was deleted or moved meanwhile.{back}") from error
    except OSError as error:
        error.filename = str(run.path)  # which `utime` does not say
        raise


def _way_back(runs: Path, name: str) -> str:
    """What takes the run out of the trash, as a further sentence; empty if it is not there."""
    if not (runs / TRASH / name).is_dir():
        return ""
    return f" Take it back with: {run_command('runs restore', runs / name)}"


def restore(runs: Path, name: str) -> RunDirectory:
    """Move the run with the id `name` out of the trash. Raises UnknownRunError if it is not there.

    A path is not accepted as a name, nor a trash that is a link to elsewhere.
    """
    try:
        if name not in _names(_own_trash(runs)):
            raise FileNotFoundError(name)
        return RunDirectory((runs / TRASH / name).rename(runs / name))
    except OSError as error:
        raise UnknownRunError(f"{name} is no longer in the trash of {runs}.") from error


def purge(runs: Path, older_than: float = _KEPT_IN_TRASH) -> list[str]:
    """Permanently remove the runs deleted more than `older_than` seconds ago; return their ids.

    Also removes equally old prepared runs whose launcher was killed before they started.
    """
    trash = _own_trash(runs)
    end = time.time() - older_than
    remove_older(runs.glob(f"{HIDDEN}*"), end)
    there = trash.iterdir() if trash.is_dir() else ()
    return [path.name for path in remove_older(there, end)]


def _numbered(summary: Summary, number: int) -> Summary:
    return summary if summary.number == number else replace(summary, number=number)


def _own_trash(runs: Path) -> Path:
    """The trash of this folder. Raises OSError if it has been replaced by a link."""
    trash = runs / TRASH
    refuse_link(trash)
    return trash


def _names(runs: Path) -> list[str]:
    try:
        with os.scandir(runs) as entries:
            return [entry.name for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _aged(run: RunDirectory) -> tuple[_Age, RunDirectory] | None:
    """A run with its sort key by age.

    Ids have whole seconds only, and the plan is written once at the start.
    """
    try:
        written = _written(run.plan_file)
        if written is None and not run.events_file.exists():
            return None
        return (created_at(run), written or 0, run.id), run
    except OSError:  # somebody else's
        return None


def _written(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None


def _version(run: RunDirectory) -> EventsVersion:
    try:
        status = run.events_file.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


LATEST: Final = "latest"
_NUMBER: Final = re.compile(r"(#?)([1-9][0-9]{0,17})")
"""No folder has more runs; longer numbers Python may refuse to read."""


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
    if text and (back := _way_back(runs, text)):
        raise UnknownRunError(f"{text} is not in {runs} any more.{back}")
    if not known:
        raise UnknownRunError(none_yet(runs))
    if text == LATEST:
        return found[0]
    name = _with_number(runs, text, numbers, list(known)) or _with_name(runs, text, list(known))
    return known[name]


def none_yet(runs: Path) -> str:
    """Say that this folder holds no run, and how to have one there."""
    return f"There are no runs in {runs} yet: start one, with: {command_in(runs, 'train')}"


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
            f"{path} is not the folder of a run: {what}. All runs: {command_in(runs, 'runs list')}"
        )
    if os.path.realpath(path.parent) == os.path.realpath(runs):
        return RunDirectory(runs / run.id)
    if not elsewhere:
        raise UnknownRunError(
            f"{path} is not one of the runs in {runs}, so it can only be looked at (show, log, "
            "placement, compare, report, export). To do more to it, name its folder: --runs-dir "
            f"{path.parent}"
        )
    return run


def _with_number(runs: Path, text: str, numbers: Numbers, known: Sequence[str]) -> str | None:
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
        back = _way_back(runs, name)
        raise UnknownRunError(f"Run #{wanted}, {name}, is not in {runs} any more.{back}")
    if match[1]:
        raise UnknownRunError(
            f"There is no run #{wanted}. All runs with their numbers: "
            f"{command_in(runs, 'runs list')}"
        )
    return None


def _with_name(runs: Path, text: str, known: Sequence[str]) -> str:
    # A whole name goes before a part of one: `sync` is a part of `async`.
    candidates = (
        [name for name in known if name.startswith(text)]
        or [name for name in known if _slug_of(name) == text]
        or [name for name in known if text in name]
    )
    if len(candidates) == 1 and text:
        return candidates[0]
    if candidates:
        raise UnknownRunError(
            f"{text!r} may mean any of {', '.join(candidates)}: write more of it."
        )
    names = {_slug_of(name): name for name in reversed(known)} | {name: name for name in known}
    near = get_close_matches(text, names, 1, cutoff=0.5)
    all_runs = f"All runs: {command_in(runs, 'runs list')}"
    raise UnknownRunError(
        f"There is no run {text!r}"
        + (f": the nearest is {names[near[0]]}." if near else f". {all_runs}")
    )


def _slug_of(name: str) -> str:
    """What a run's id has of the name of its plan."""
    return name.partition("-")[2].rpartition("-")[0]
