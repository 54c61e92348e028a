"""Read new lines of a trainer process's output, however much there is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from gpu_studio.common import figures
from gpu_studio.common.regular_files import open_regular
from gpu_studio.runs.reading.history import Level

LAST_BYTES: Final = 256 * 1024
"""The end of a long output is what is asked for; the whole of it lies in the file."""
SLICE_BYTES: Final = 16 * 1024
SLICES: Final = LAST_BYTES // SLICE_BYTES + 1
"""So many make up all that is near the end, and what was written meanwhile."""
LONGEST_LINE: Final = 4000
# As written by TensorFlow's native part, and by Python's logging and tracebacks.
_NATIVE = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+: ([WEF]) |^([WEF])\d{4} [\d:.]+ ")
_WORDS = re.compile(
    r"^(?:\[[^\]]*\] ?|[\d:,. -]+)?(WARNING|ERROR|CRITICAL|FATAL)\b|^(?:\w+\.)*\w+(Warning|Error)\b"
)


class OutputLog:
    """The lines of `trainer.log`, from its last 256 KiB on, read 16 KiB at a time.

    Output that is written faster than it is read is skipped, with a note. A line longer than 4000
    characters is cut; a line that is rewritten over and over, like a progress bar, is shown in its
    last state.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset: int | None = None
        self._rest = b""
        self._headless = False
        self._problem = ""

    def new(self) -> list[str]:
        """Return the complete lines since the last call, at most 16 KiB of them."""
        try:
            descriptor = open_regular(self.path)
        except FileNotFoundError:
            return []
        except OSError as error:
            return self._tell(error)
        try:
            notes = self._find_place(os.fstat(descriptor).st_size)
            data = os.pread(descriptor, SLICE_BYTES, self._offset or 0)
        except OSError as error:
            return self._tell(error)
        finally:
            os.close(descriptor)
        self._offset = (self._offset or 0) + len(data)
        return [*notes, *self._lines(data)]

    def _find_place(self, size: int) -> list[str]:
        """Seek near the end if that is far, or to the beginning of a restarted file."""
        before = self._offset
        if before is None or before <= size <= before + LAST_BYTES:
            self._offset = before if before is not None else max(0, size - LAST_BYTES)
            self._headless |= before is None and self._offset > 0
            return (
                [f"… earlier lines stand in {self.path}"] if before is None and self._offset else []
            )
        self._offset, self._rest = max(0, size - LAST_BYTES), b""
        self._headless = self._offset > 0
        if size < before:
            return ["… the file was started again"]
        return [f"… {figures.size(self._offset - before)} passed over; they stand in {self.path}"]

    def _lines(self, data: bytes) -> list[str]:
        *whole, rest = (self._rest + data).split(b"\n")
        if len(rest) > LAST_BYTES:
            whole, rest = [*whole, rest], b""
        if self._headless and whole:
            # The first is the end of a line whose beginning was skipped.
            self._headless = False
            del whole[0]
        self._rest = rest
        return [_shown(line) for line in whole]

    def _tell(self, error: OSError) -> list[str]:
        """Return a problem as a line, once."""
        problem = f"{self.path} cannot be read: {error.strerror or error}."
        before, self._problem = self._problem, problem
        return [problem] if problem != before else []


def level_of(line: str) -> Level:
    """Return the level of a program's line, from its beginning."""
    native = _NATIVE.match(line)
    words = None if native else _WORDS.match(line)
    sign = next(
        (group for found in (native, words) if found for group in found.groups() if group), ""
    )
    if sign in ("W", "WARNING", "Warning"):
        return "warning"
    return "error" if sign else "info"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    return (
        f"{text[:LONGEST_LINE]}… ({len(text):,} characters)" if len(text) > LONGEST_LINE else text
    )
