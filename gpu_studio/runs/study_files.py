"""What the files that a plan names held when it was trained, so that a change is noticed later.

Python is recognised by its content. Data and models may be large: they are recognised by their
size and the time of their last change, a folder by that of its own and of the folders in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from gpu_studio.contract.consent import digest
from gpu_studio.contract.user_files import code_files
from gpu_studio.plan import AbsolutePlan, listed, printable
from gpu_studio.plan.local_modules import MOST, read_code

GONE: Final = "gone"
_PYTHON: Final = ".py"
_MOST_NAMES: Final = 3
_MOST_FILES: Final = MOST + 5


def stamps_of(plan: AbsolutePlan) -> dict[str, str]:
    """A stamp of each file that `plan` names and each module that those import, by its path."""
    named = (plan.model.file, plan.model.weights, plan.data.file, plan.data.folder, plan.data.table)
    paths = [*map(str, code_files(plan)), *(path for path in named if path)]
    return {path: stamp(path) for path in dict.fromkeys(paths)}


def stamp(path: str) -> str:
    """What tells the present content of a file or folder from another; GONE if there is none."""
    place = Path(path)
    try:
        if place.suffix == _PYTHON:
            return digest(read_code(place))
        status = place.stat()
        return _of_folder(place) if place.is_dir() else f"{status.st_size} {status.st_mtime_ns}"
    except (OSError, ValueError):
        return GONE


def _of_folder(folder: Path) -> str:
    newest, count = folder.stat().st_mtime_ns, 0
    with os.scandir(folder) as entries:
        for entry in entries:
            count += 1
            with suppress(OSError):
                if entry.is_dir():
                    newest = max(newest, entry.stat().st_mtime_ns)
    return f"{count} {newest}"


class Stamps:
    """The present stamps of files, each read once until `renew`."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def renew(self) -> None:
        """Read each anew when it is asked for next."""
        self._known.clear()

    def changed(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """Those of the files that hold something else by now, or are gone."""
        # Anybody may have written a note: no more files are looked at than a plan can name.
        several = islice(before.items(), _MOST_FILES)
        return tuple(path for path, then in several if self._now(path) != then)

    def _now(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = stamp(path)
        return self._known[path]


def in_words(paths: Iterable[str]) -> str:
    """The names of changed files: `models.py`, or `models.py, digits.npz and 3 more`."""
    names = [printable(Path(path).name) for path in dict.fromkeys(paths)]
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} more"]
    return listed(names)
