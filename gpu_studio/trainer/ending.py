"""The end of a run is told once, by whichever thread gets there first."""

from __future__ import annotations

import threading

from gpu_studio.runs.event_writer import EventWriter
from gpu_studio.runs.events import Failed, Finished, StateChanged


class Ending:
    """Writes the terminal event of a run, and closes its events."""

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._told = False

    def tell(self, event: Finished | Failed) -> bool:
        """Write `event` with the state it leads to; False if another end was told already."""
        with self._lock:
            if self._told:
                return False
            self._told = True
            self._writer.write(StateChanged(state=event.state))
            self._writer.write(event)
            return True
