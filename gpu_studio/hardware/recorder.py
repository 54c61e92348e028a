"""Write samples to a file: a run's `hardware.jsonl`, or a recording."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from pathlib import Path

from gpu_studio.common.figures import MIB
from gpu_studio.common.safe_files import lock_if_there_are_locks, open_regular

LIMIT_MIB = 256
_START = b'{"sample":"'
_OF_THE_MOMENT = b'{"sample":"asking"'
"""Samples that are useful only live."""
_THINNED = frozenset({b"fast", b"slow", b"pcie", b"processes", b"host", b"beat"})


class BeingRecordedError(Exception):
    """Another process already records into this file."""


class Recorder:
    """Appends lines to a file, 0600, that never exceeds its limit; a full disk causes no failure.

    When half of the limit is used, every second sample of a class is kept, when half of the rest is
    used, every fourth, and so on: enough for more than a week of eight cards. Cards and events are
    kept as long as there is any space. `follow` is as in `safe_files`.

    Raises OSError if the file cannot be opened, BeingRecordedError if another process is writing
    it.
    """

    def __init__(self, path: Path, limit: int = LIMIT_MIB * MIB, *, follow: bool = False) -> None:
        self.descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, follow=follow)
        if not lock_if_there_are_locks(self.descriptor, 0.0):
            os.close(self.descriptor)
            raise BeingRecordedError(f"{path} is being recorded into already")
        self.lost = 0
        self._limit = limit
        self._size = os.fstat(self.descriptor).st_size
        self._seen: Counter[bytes] = Counter()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, line: bytes) -> bool:
        """Write a sample's line (without newline); return whether it was kept.

        `lost` counts those that the disk did not take.
        """
        if line.startswith(_OF_THE_MOMENT) or not self._is_due(line):
            return False
        data = line + b"\n"
        if self._size + len(data) > self._limit:
            return False
        try:
            written = os.write(self.descriptor, data)
        except OSError:
            written = 0
        if written == len(data):
            self._size += written
            return True
        # Half a line would corrupt the next one.
        with contextlib.suppress(OSError):
            os.ftruncate(self.descriptor, self._size)
        self.lost += 1
        return False

    def close(self) -> None:
        """End the recording. Closing twice is harmless."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _is_due(self, line: bytes) -> bool:
        kind = line[len(_START) : line.find(b'"', len(_START))] if line.startswith(_START) else b""
        number = self._seen[kind]
        self._seen[kind] += 1
        return kind not in _THINNED or number % self._stride() == 0

    def _stride(self) -> int:
        left = max(1, self._limit - self._size)
        return 1 << ((self._limit // left).bit_length() - 1)
