"""What a run tells once, near its beginning, found without reading the thousands of lines that follow."""

from __future__ import annotations

from typing import Final, TypeVar

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Event, decode
from gpu_studio.runs.reading.lines import LineTail

MOST_BYTES: Final = 16 << 20
"""Devices, model, placement and timeline of the largest models are told within so many bytes of the first step."""
E = TypeVar("E", bound=Event)


def first_of(run: RunDirectory, kind: type[E], most: int = MOST_BYTES) -> E | None:
    """The first event of this kind in the first `most` bytes; None if there is none (yet).

    Raises OSError if the events cannot be read.
    """
    begins = f'{{"event":"{kind.__struct_config__.tag}"'.encode()
    read = 0
    for line in LineTail(run.events_file).read_all():
        event = decode(line) if line.startswith(begins) else None
        if isinstance(event, kind):
            return event
        read += len(line)
        if read > most:
            break
    return None
