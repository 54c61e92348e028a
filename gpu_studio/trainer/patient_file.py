"""A file that is written for other programs, and that waits for its disk."""

from __future__ import annotations

import os
from pathlib import Path

from gpu_studio.regular_files import open_regular
from gpu_studio.runs.failures.full_disk import refusal_of_disk
from gpu_studio.runs.files import make_private_directory

MOST_WAITING = 16 * 1024 * 1024
"""Bytes kept for a disk that takes no more; what comes after that is lost."""


class PatientFile:
    """A new file that is only ever added to, in whole pieces. Never raises for the disk.

    What the disk refuses is kept, in order, and tried again with each later piece, so that what stands in the file is
    always a beginning of what was written, but for whole pieces that were lost. `lost` says in the system's words why
    some were; it is empty as long as none was.
    """

    def __init__(self, path: Path) -> None:
        self.lost = ""
        self._path = path
        self._descriptor = -1
        self._waiting = bytearray()

    def write(self, piece: bytes) -> None:
        """Add `piece`."""
        refusal = self._drain() if self._waiting else ""
        if refusal and len(self._waiting) > MOST_WAITING:
            self.lost = refusal
            return
        self._waiting += piece
        self._drain()

    def close(self) -> None:
        """Write what still waits, if there is room now, and close."""
        if refusal := self._drain():
            self.lost = refusal
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _drain(self) -> str:
        """Write what waits; why not all of it could be written, empty if it could."""
        try:
            if self._descriptor < 0:
                make_private_directory(self._path.parent)
                self._descriptor = open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            while self._waiting:
                del self._waiting[: os.write(self._descriptor, self._waiting)]
        except OSError as error:
            return refusal_of_disk(error) or error.strerror or str(error)
        return ""
