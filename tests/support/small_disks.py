"""Real small disks that really fill up: an in-memory file system of a few MiB.

Requires permission to mount: root, or root in a user namespace (`unshare --map-root-user --mount`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_BALLAST = "ballast"


class SmallDisk:
    """A disk mounted at `path`, to be filled and cleared."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def room(self) -> int:
        """Bytes that still fit."""
        disk = os.statvfs(self.path)
        return disk.f_bavail * disk.f_frsize

    def fill(self) -> None:
        """Leave no room at all."""
        self.leave(0)

    def leave(self, room: int) -> None:
        """Leave so many bytes of room, as far as whole blocks go."""
        self.clear()
        with (self.path / _BALLAST).open("wb", buffering=0) as file:
            while (left := self.room - room) > 0:
                with suppress(OSError):  # somebody else writes there, too, and had a part of it
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, left)

    def clear(self) -> None:
        """Give back the room that filling has taken."""
        (self.path / _BALLAST).unlink(missing_ok=True)


@contextmanager
def mounted(path: Path, size_kib: int) -> Iterator[SmallDisk]:
    """Mount a disk of so many KiB at `path`, a new folder.

    Raises OSError where that is not allowed.
    """
    path.mkdir()
    options = f"size={size_kib}k,mode=0700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True, check=False
    )
    if done.returncode:
        raise OSError(done.stderr.decode(errors="replace").strip())
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", path], check=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of 16 MiB; the test is skipped where none can be mounted."""
    try:
        disk = mounted(tmp_path / "disk", 16 * 1024)
        entered = disk.__enter__()
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    try:
        yield entered
    finally:
        disk.__exit__(None, None, None)
