"""In which folder the user's code runs: that of its file, or the one to which its script went.

A script that changes its folder before it calls `fit` finds there what its streams and callbacks
open later by relative names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import chdir
from pathlib import Path

_gone_to: dict[Path, Path] = {}
"""By the folders of scripts."""


def place_of(folder: Path) -> Path:
    """Return where code whose file lies in `folder` runs."""
    place = _gone_to.get(folder, folder)
    return place if place.is_dir() else folder


@contextmanager
def started_in(folder: Path) -> Iterator[None]:
    """While entered, a script that lies in `folder` starts there, and may go elsewhere for good."""
    chdir(folder)
    try:
        yield
    finally:
        with suppress(OSError):  # it was deleted
            _gone_to[folder] = Path.cwd()
