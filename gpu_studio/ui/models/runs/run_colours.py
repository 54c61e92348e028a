"""Which colour each of the runs that are compared has: the same one for as long as it is among them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count


class RunColours:
    """Gives numbers to runs, which the theme turns into a colour and a dash."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each run that has one, by its id."""
        return dict(self._numbers)

    def choose(self, runs: Sequence[str]) -> dict[str, int]:
        """Give a number to exactly these runs: what each had, else the lowest that is free."""
        self._numbers = {run: number for run, number in self._numbers.items() if run in runs}
        for run in runs:
            if run not in self._numbers:
                taken = set(self._numbers.values())
                self._numbers[run] = next(number for number in count() if number not in taken)
        return self.numbers
