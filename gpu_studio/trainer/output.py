"""The trainer's own standard output and error, which a full disk must not turn into an error of the training."""

from __future__ import annotations

import io
import sys
from typing import Any, TextIO

from gpu_studio.runs.failures.full_disk import refusal_of_disk


class ForgivingFile(io.FileIO):
    """A file that drops what its disk has no room for: that costs lines of the log, not the run."""

    def write(self, data: Any, /) -> int:
        """Write all of `data`, or as much as there is room for; never an error if the disk takes no more."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest:
                rest = rest[super().write(rest) :]
        except OSError as error:
            if not refusal_of_disk(error):
                raise
        return size


def forgive_full_disk() -> None:
    """Have whatever is printed from here on, by Keras or by a user's own code, never fail for a full disk."""
    sys.stdout, sys.stderr = _forgiving(sys.stdout), _forgiving(sys.stderr)


def _forgiving(stream: TextIO) -> TextIO:
    stream.flush()
    file: Any = ForgivingFile(stream.fileno(), "wb", closefd=False)
    # Without a buffer: what was printed must be in the log however the process ends.
    return io.TextIOWrapper(file, stream.encoding, "backslashreplace", write_through=True)
