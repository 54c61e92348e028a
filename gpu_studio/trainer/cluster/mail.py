"""What supervisor and member say to each other where they are on two machines: lines in two files.

Both lie in a folder of the run that both machines see, and each has one writer. So no port is open
and no secret needed: whoever may write there is the user. Each line is read from the file anew, as
file systems of several machines show what was written once it is opened after that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gpu_studio.contract import LineTail, append_line
from gpu_studio.trainer.cluster.channel import Present, Said, line_of, said_in

POLL_S: Final = 0.5
PRESENT_S: Final = 5.0
"""So often a supervisor says that it lives."""
PATIENCE_S: Final = 180.0
"""After so much silence a supervisor is gone. File systems may show a line a minute late."""
FIRST_PATIENCE_S: Final = 75.0
"""And after so much, before it has said that training begins: nothing is lost if it lives."""
ASKED: Final = "asked.jsonl"
"""What a supervisor says to a worker, beside its log."""


class Mail:
    """One end, with the methods of `channel.Channel`.

    `closed` is set after `patience` seconds in which nothing came; None waits for ever.
    """

    def __init__(self, outgoing: Path, incoming: Path, patience: float | None = None) -> None:
        self.outgoing, self.incoming = outgoing, incoming
        self._lines = LineTail(incoming)
        self._patience, self._heard = patience, time.monotonic()
        self._saying, self._unsent = threading.Lock(), list[bytes]()
        self._present = 0.0
        self.closed = False

    def say(self, what: Said) -> bool:
        """Write it; what a full disk refuses, the next call tries again."""
        with self._saying:
            self._unsent.append(line_of(what))
            while self._unsent:
                try:
                    append_line(self.outgoing, self._unsent[0])
                except OSError:
                    break
                del self._unsent[0]
        return not self.closed

    def say_present(self) -> None:
        """Say that this end lives, if it is time."""
        if time.monotonic() - self._present >= PRESENT_S:
            self._present = time.monotonic()
            self.say(Present())

    def new(self) -> list[Said]:
        """What has come."""
        try:
            lines = list(self._lines.read_all())
        except OSError:  # what cannot be read now may be readable next time
            lines = []
        if lines:
            self._heard = time.monotonic()
        elif self._patience is not None and time.monotonic() - self._heard > self._patience:
            self.closed = True
        return list(said_in(lines))

    def hear(self) -> Iterator[Said]:
        """What has come, or nothing after a moment."""
        said = self.new()
        if not said:
            time.sleep(POLL_S)
        yield from said

    def be_patient(self, seconds: float) -> None:
        """From now on the other end is only gone after so much silence."""
        self._patience, self._heard = seconds, time.monotonic()

    def close(self) -> None:
        """Say and hear nothing more."""
        self.closed = True
