"""Guess where a missing file or folder is: a similar name beside it, or the same name nearby."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

# A data folder may hold a million files: a hint is not worth reading them all.
MOST_NAMES = 2000


def hint(missing: Path, *, folders: bool = False) -> str:
    """Text to append to "`missing` does not exist": `; did you mean X?`, or nothing."""
    found = nearest_file(missing, folders=folders)
    return f"; did you mean {found}?" if found else ""


def nearest_file(missing: Path, *, folders: bool = False) -> Path | None:
    """The existing file most likely meant by a missing path, or of `folders` the folder; or None.

    Searches for a similar name of the same kind in the same folder, then the same name in the
    parent folder and in sibling folders. What cannot be read is skipped.
    """
    is_one = _is_folder if folders else _is_file
    names = [path.name for path in _entries(missing.parent) if path.suffix == missing.suffix]
    close = [missing.parent / name for name in get_close_matches(missing.name, names)]
    return next((path for path in (*close, *_elsewhere(missing)) if is_one(path)), None)


def _elsewhere(missing: Path) -> Iterator[Path]:
    above = missing.parent.parent
    yield above / missing.name
    for folder in (missing.parent, above):
        yield from (entry / missing.name for entry in _entries(folder) if entry.is_dir())


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(islice(folder.iterdir(), MOST_NAMES))
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
