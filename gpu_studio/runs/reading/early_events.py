"""Find an event that a run writes once, near its beginning, without reading the rest."""

from __future__ import annotations

from typing import Final, TypeVar

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Event, decode
from gpu_studio.contract.lines import LineTail

MOST_BYTES: Final = 16 << 20
"""Devices, model, placement and timeline of the largest models are told within so many bytes of the
first step.
"""
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
