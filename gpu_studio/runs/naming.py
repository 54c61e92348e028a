"""The title of a run wherever it is shown: number and name, `#7 digits on four devices`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gpu_studio.common.regular_files import open_regular, read_regular
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.patient_lock import lock_within
from gpu_studio.plan.files import LARGEST_BYTES
from gpu_studio.runs.labels import read_labels

FILE: Final = ".numbers"
_MOST_BYTES: Final = 64 * 1024 * 1024
_WAIT_SECONDS: Final = 2.0
Numbers = Mapping[str, int]


def number_of(run: RunDirectory) -> int | None:
    """The number of `run`; None if its folder has not assigned one."""
    return numbers_in(run.path.parent).get(run.id)


def numbers_in(runs: Path) -> Numbers:
    """The numbers assigned so far in this folder of runs, by run id."""
    path = runs / FILE
    try:
        status = path.lstat()
        return _read(path, status.st_ino, status.st_size, status.st_mtime_ns)
    except OSError:
        return {}


def number_all(runs: Path, found: Iterable[RunDirectory]) -> Numbers:
    """The numbers of these runs of the folder; those without one get the next, oldest first.

    In another user's folder, or one that is not writable, new numbers are not stored and may differ
    next time.
    """
    names = [run.id for run in found]
    given = numbers_in(runs)
    if all(name in given for name in names):
        return given
    try:
        given = _give(runs, names)
    except OSError:
        given = numbers_in(runs)
    last = max(given.values(), default=0)
    missing = [name for name in names if name not in given]
    return {**given, **{name: last + place for place, name in enumerate(missing, 1)}}


def _give(runs: Path, names: Iterable[str]) -> Numbers:
    """Store the next numbers for those of these runs that have none.

    Raises OSError if that fails.
    """
    if runs.stat().st_uid != os.geteuid():
        raise PermissionError(f"{runs} belongs to somebody else.")
    descriptor = open_regular(runs / FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        if not lock_within(descriptor, _WAIT_SECONDS):
            raise TimeoutError(f"{runs / FILE} is locked.")
        given = numbers_in(runs)
        # A name with a line break would be two lines.
        missing = [os.fsencode(name) for name in names if name not in given and "\n" not in name]
        if missing:
            cut = b"" if _ends_whole(descriptor) else b"\n"
            os.write(descriptor, cut + b"".join(name + b"\n" for name in missing))
    finally:
        os.close(descriptor)
    return numbers_in(runs)


def _ends_whole(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


@lru_cache(maxsize=8)
def _read(path: Path, _inode: int, _size: int, _changed: int) -> Numbers:
    """The numbers in this version of the file. Of two lines for one run the first counts."""
    found: dict[str, int] = {}
    for number, line in enumerate(read_regular(path, _MOST_BYTES).split(b"\n"), 1):
        if line:
            found.setdefault(os.fsdecode(line), number)
    return MappingProxyType(found)


def title(number: int | None, name: str) -> str:
    """A run's number and name; the name alone if it has no number."""
    return f"#{number} {name}" if number is not None else name


def title_of(run: RunDirectory) -> str:
    """The title of `run`, from its files."""
    return title(number_of(run), name_of(run))


def name_of(run: RunDirectory) -> str:
    """The name that a person gave to `run`, or else its plan's."""
    return read_labels(run).name or plan_name(run)


def plan_name(run: RunDirectory) -> str:
    """Return the name in the run's plan file; the run's id if that cannot be read."""
    try:
        text = read_regular(run.plan_file, LARGEST_BYTES).decode("utf-8-sig")
        name = tomllib.loads(text).get("name", run.id)
    except (OSError, ValueError, RecursionError):
        return run.id
    return str(name)
