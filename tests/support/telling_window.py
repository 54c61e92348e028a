"""A window that reports what the user sees, for tests with a real pointer and keys."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from PySide6.QtCore import QSocketNotifier, QTimer

from gpu_studio.ui.kit.settings import QUIT
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quitting import LEAVE

LOOK_MS = 200
STILL_AFTER = 5
"""Looks without anything new, or asked for, after which all is at rest, however long they took."""
STILL = "still"
"""What the last line says then, if it was asked for by a byte on standard input."""


class Window(MainWindow):
    """Writes a line of JSON whenever something new is seen; closes with its standard input."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.told, self.asked, self.unchanged = "", False, 0
        self.settings.set(QUIT, LEAVE)
        self.look = QTimer(self)
        self.look.timeout.connect(self.tell)
        self.look.start(LOOK_MS)
        self.words = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read, self)
        self.words.activated.connect(self.hear)

    def seen(self) -> dict[str, Any]:
        """What is seen."""
        raise NotImplementedError

    def tell(self) -> None:
        """Write what is seen, if that is new, or if it is asked for once it is no longer new."""
        line = json.dumps(self.seen())
        if line != self.told:
            self.told, self.unchanged = line, 0
            write(line)
            return
        # What is still being asked for will be seen, be the machine ever so busy.
        waits = self.facts.asking or self.inventory.looking
        self.unchanged = 0 if waits else self.unchanged + 1
        if self.asked and self.unchanged >= STILL_AFTER:
            self.asked = False
            write(json.dumps(json.loads(line) | {STILL: True}))

    def hear(self) -> None:
        """Be asked when all is still from now on, or close, as nobody will ask any more."""
        if os.read(sys.stdin.fileno(), 1):
            self.asked, self.unchanged = True, 0
        else:
            self.words.setEnabled(False)
            self.close()


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
