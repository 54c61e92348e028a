"""The temporary folder into which TensorFlow writes a profile, handed out as a file only.

It is removed whatever ends the process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

_NAME: Final = "gpu-studio-profile-"
_PATIENCE_S: Final = 1.0
"""A profile is written within a tenth of that."""

_unused = threading.Event()
_unused.set()


@contextmanager
def profile_folder() -> Iterator[Path]:
    """Create a folder and remove it in the end, along with those that killed processes left."""
    _unused.clear()
    try:
        with tempfile.TemporaryDirectory(prefix=f"{_NAME}{os.getpid()}-") as folder:
            yield Path(folder)
    finally:
        _unused.set()
    _remove(lambda owner: not psutil.pid_exists(owner))


def remove_own() -> None:
    """Remove this process's folder when the process is about to end at once, on any thread.

    This waits, a second at most, for what TensorFlow is just writing there: TensorFlow would create
    the folder again.
    """
    _unused.wait(_PATIENCE_S)
    _remove(lambda owner: owner == os.getpid())


def _remove(wanted: Callable[[int], bool]) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_NAME}*"):
        owner = folder.name.removeprefix(_NAME).partition("-")[0]
        if owner.isdigit() and wanted(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
