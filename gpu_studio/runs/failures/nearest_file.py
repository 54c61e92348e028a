"""Where a file or folder that is missing may be now: one of a similar name beside it, or one of its name nearby."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

# A folder of data may hold a million files: a hint is not worth reading them all.
MOST_NAMES = 2000


def hint(missing: Path, *, folders: bool = False) -> str:
    """Words to put after the sentence that `missing` is not there: `; did you mean X?`, or nothing."""
    found = nearest_file(missing, folders=folders)
    return f"; did you mean {found}?" if found else ""


def nearest_file(missing: Path, *, folders: bool = False) -> Path | None:
    """The file, or of `folders` the folder, most likely meant by a path that is not there; None if none is near.

    Looked for are a similar name of the same kind in the same folder, then the same name in the folder above it and in
    the folders beside it. What cannot be read is passed over.
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
