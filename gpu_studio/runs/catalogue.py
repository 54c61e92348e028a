"""The runs of a directory: list them, and delete with undo."""

from __future__ import annotations

import errno
import os
import shutil
import time
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from gpu_studio.contract.directory import HIDDEN, RunDirectory
from gpu_studio.contract.files import make_private_directory
from gpu_studio.runs.naming import Numbers, number_all
from gpu_studio.runs.reading import summary_cache
from gpu_studio.runs.reading.summary import Skimmer, Summary, created_at, unreadable
from gpu_studio.runs.reading.summary_cache import Known, Version
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
        self._ended: Known | None = None
        self._skimmers: dict[str, Skimmer] = {}
        self._found: dict[str, tuple[_Age, RunDirectory]] = {}
        self._read_bytes = 0

    def summaries(self) -> list[Summary]:
        """Return every run's summary, newest first.

        That of one that cannot be read says so, in its `problem`.
        """
        ended = summary_cache.load(self.runs) if self._ended is None else self._ended
        runs = self._directories()
        numbers = number_all(self.runs, reversed(runs))
        found = [_numbered(self._summary(run, ended), numbers[run.id]) for run in runs]
        names = {summary.id for summary in found}
        self._ended = {name: known for name, known in ended.items() if name in names}
        self._skimmers = {
            name: skimmer for name, skimmer in self._skimmers.items() if name in names
        }
        if self._read_bytes >= summary_cache.WORTH_BYTES:
            summary_cache.keep(self.runs, self._ended)
            self._read_bytes = 0
        return found

    def _directories(self) -> list[RunDirectory]:
        """Every run, newest first, without touching those known already."""
        before, self._found = self._found, {}
        for name in _names(self.runs):
            found = before.get(name) or _aged(RunDirectory(self.runs / name))
            if found is not None:
                self._found[name] = found
        return [run for _, run in sorted(self._found.values(), key=itemgetter(0), reverse=True)]

    def _summary(self, run: RunDirectory, ended: Known) -> Summary:
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

    Return its new path. Raises LiveRunError if it is still training, OSError if it cannot be moved.
    """
    if is_live(run):
        raise LiveRunError(
            f"{run.id} is still training: stop it first, with: gpu-studio runs stop {run.id}"
        )
    trash = _own_trash(run.path.parent)
    make_private_directory(trash)
    os.utime(run.path)  # `purge` goes by the time of deletion
    return run.path.rename(trash / run.id)


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
    old = [
        path for path in (trash.iterdir() if trash.is_dir() else ()) if path.stat().st_mtime <= end
    ]
    forsaken = [path for path in runs.glob(f"{HIDDEN}*") if path.stat().st_mtime <= end]
    for path in (*old, *forsaken):
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in old]


def _numbered(summary: Summary, number: int) -> Summary:
    return summary if summary.number == number else replace(summary, number=number)


def _own_trash(runs: Path) -> Path:
    """The trash of this folder. Raises OSError if it has been replaced by a link."""
    trash = runs / TRASH
    if trash.is_symlink():
        raise NotADirectoryError(
            errno.ENOTDIR, "this is a link, which is not followed: remove it", str(trash)
        )
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


def _version(run: RunDirectory) -> Version:
    try:
        status = run.events_file.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
