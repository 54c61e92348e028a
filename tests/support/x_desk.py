"""A simulated person at a window on a real X server: sees what it reports, uses the pointer."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable
from typing import Any

from patience import PATIENCE_S
from x_program import Program, at_rest, xdotool

Facts = dict[str, Any]


class Desk:
    """A person before the window: what is seen, and what hands do."""

    def __init__(self, program: Program, environment: dict[str, str]) -> None:
        self._program, self._environment = program, environment
        self.facts: Facts = {}

    def sees(self, wanted: Callable[[Facts], object]) -> Facts:
        """What is on the screen, as soon as it is as wanted."""
        end = time.monotonic() + PATIENCE_S
        while not self.facts or not wanted(self.facts):
            line = self._line(max(end - time.monotonic(), 0))
            assert line, f"what was waited for did not come; the last that was seen: {self.facts}"
            self.facts = json.loads(line)
            assert "wrong" not in self.facts["dialog"], self.facts
        return self.facts

    def _line(self, patience: float) -> bytes | None:
        """The next line that the window tells; None if it says nothing, empty if it has ended."""
        assert self._program.stdout is not None
        ready, _, _ = select.select([self._program.stdout], [], [], patience)
        return self._program.stdout.readline() if ready else None

    def hands(self, *words: object) -> str:
        """Move the pointer and press keys, as xdotool is told."""
        return xdotool(self._environment, *words)

    def enter(self) -> None:
        """Give the keys to the window."""
        found = self.hands(
            "search", "--sync", "--onlyvisible", "--pid", self._program.pid, "--name", "GPU Studio"
        )
        self.hands("windowfocus", "--sync", found.split()[-1])

    def settle(self) -> None:
        """Wait until nothing new is seen for a while.

        What is told of the plan and the machine moves and enables.
        """
        self.facts = at_rest(self._program)

    def click(self, name: str, *held: str) -> None:
        """Click on the part of this name once it is there, with these keys held."""
        keys = (
            [word for key in held for word in ("keydown", key)],
            [word for key in held for word in ("keyup", key)],
        )
        self._point_at(name)
        self.hands(*keys[0], "click", 1, *keys[1])

    def _point_at(self, name: str) -> None:
        """Bring the pointer onto the part, wherever it moves while the window is laid out anew."""
        pointed: list[int] | None = None
        while pointed is None or self.facts["parts"].get(name) != pointed:
            pointed = self.sees(lambda facts: name in facts["parts"])["parts"][name]
            left, top, width, height = pointed
            self._move(left + min(width // 2, 60), top + height // 2)

    def _move(self, x: int, y: int) -> None:
        self.hands("mousemove", x, y)
        self.sees(lambda facts: facts["pointer"] == [x, y])

    def brush(self, name: str) -> None:
        """Drag over the middle half of the part of this name."""
        left, top, width, height = self.facts["parts"][name]
        middle = top + height // 2
        self.hands("mousemove", left + width // 4, middle, "mousedown", 1)
        for eighth in (3, 4, 5, 6):
            self.hands("mousemove", left + width * eighth // 8, middle)
        self.hands("mouseup", 1)
