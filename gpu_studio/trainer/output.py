"""The trainer's standard output and error.

A full disk must not turn them into an error of the training.
"""

from __future__ import annotations

import ctypes
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from gpu_studio.contract.full_disk import refusal_of_disk


class ForgivingFile(io.FileIO):
    """A file that drops what its full disk refuses: that costs lines of the log, not the run."""

    def write(self, data: Any, /) -> int:
        """Write `data`, or as much as fits; a disk that takes no more is no error."""
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
    """Let nothing printed from here on, by Keras or the user's code, fail on a full disk."""
    sys.stdout, sys.stderr = _forgiving(sys.stdout), _forgiving(sys.stderr)


def leave(status: int) -> None:
    """End the process at once, after flushing its output.

    TensorFlow needs a second to take itself apart.
    """
    with suppress(OSError):  # a full disk must not prevent it
        sys.stdout.flush()
        sys.stderr.flush()
    ctypes.CDLL(None).fflush(
        None
    )  # what native code has printed, such as where operations were placed
    os._exit(status)


def _forgiving(stream: TextIO) -> TextIO:
    stream.flush()
    file: Any = ForgivingFile(stream.fileno(), "wb", closefd=False)
    # Unbuffered: what was printed must be in the log however the process ends.
    return io.TextIOWrapper(file, stream.encoding, "backslashreplace", write_through=True)
