"""The short numbers by which runs are told apart: `#7` is the seventh run that its folder of runs came to know.

They stand in one file of that folder, a line for each run: the number is that of the line. Lines are only ever added,
under a lock, so a number never changes, is never given twice, and comes back with a run that is restored. Nothing is
written into a run's own folder: one that was copied here from elsewhere gets a number as any other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gpu_studio.regular_files import open_regular, read_regular
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.patient_lock import lock_within

FILE: Final = ".numbers"
_MOST_BYTES: Final = 64 * 1024 * 1024
_WAIT_SECONDS: Final = 2.0
Numbers = Mapping[str, int]


def number_of(run: RunDirectory) -> int | None:
    """The number of `run`; None if its folder has not given it one."""
    return numbers_in(run.path.parent).get(run.id)


def numbers_in(runs: Path) -> Numbers:
    """The numbers given so far in this folder of runs, by the ids of the runs."""
    path = runs / FILE
    try:
        status = path.lstat()
        return _read(path, status.st_ino, status.st_size, status.st_mtime_ns)
    except OSError:
        return {}


def number_all(runs: Path, found: Iterable[RunDirectory]) -> Numbers:
    """The numbers of these runs of the folder, given from the oldest to the newest: those without one get the next.

    In a folder of somebody else, or one that cannot be written, those are kept nowhere, and may be others next time.
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
    """Write down the next numbers for those of these runs that have none. Raises OSError if that cannot be done."""
    if runs.stat().st_uid != os.geteuid():
        raise PermissionError(f"{runs} belongs to somebody else.")
    descriptor = open_regular(runs / FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        if not lock_within(descriptor, _WAIT_SECONDS):
            raise TimeoutError(f"{runs / FILE} is locked.")
        given = numbers_in(runs)
        # A name with a line break in it would be two lines.
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
