"""Temporary files that a test left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

TEMPORARY = (".tmp-*", "*.tmp", "tmp*", "*.part")
_KNOWN = ("__pycache__",)
# A trainer that is killed while it writes a checkpoint leaves one under its unfinished name, by
# design.
_UNFINISHED = "checkpoints"


def watch(home: Path, temporary: Path) -> Callable[[], list[str]]:
    """The answer lists temporary files, and files with such names in the home."""

    def leftovers() -> list[str]:
        if not any(temporary.iterdir()) and not any(home.iterdir()):  # as after most tests
            return []
        found = sorted([*_in_temporary(temporary), *_in_home(home)])
        return [f"temporary {'folder' if path.is_dir() else 'file'} {path}" for path in found]

    return leftovers


def _in_temporary(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not _like(path, _KNOWN))


def _in_home(folder: Path) -> Iterator[Path]:
    return (
        path
        for path in folder.rglob("*")
        if _like(path, TEMPORARY) and _UNFINISHED not in path.relative_to(folder).parts
    )


def _like(path: Path, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(path.name, pattern) for pattern in patterns)
