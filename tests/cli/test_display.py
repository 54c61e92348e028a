"""What stands below the lines of a run that is followed in a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from gpu_studio.cli.display import Display
from gpu_studio.contract.events import StateChanged
from gpu_studio.runs.reading.history import History


class Estimated(History):
    """A run of which an estimate is all that is known."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self.apply(StateChanged(state="running", time=1000.0))
        self._estimate = seconds

    def goes_on(self, passed: float, estimate: float) -> None:
        self._estimate = estimate
        self.apply(StateChanged(state="running", time=(self.last_time or 0.0) + passed))

    @property
    def eta_seconds(self) -> float | None:
        return self._estimate


def drawn(display: Display, history: History) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(display.block(history))
    return console.file.getvalue()


def test_that_the_time_left_settles_as_in_the_window() -> None:
    display, history = Display(), Estimated(1500.0)
    assert "about 25 min left" in drawn(display, history)
    history.goes_on(1.0, 3000.0)  # one slow call
    assert "about 25 min left" in drawn(display, history)
    history.goes_on(120.0, 2880.0)
    assert "about 50 min left" in drawn(display, history)


def test_that_no_time_is_told_where_none_is_known_or_the_run_is_stopping() -> None:
    assert "left" not in drawn(Display(), Estimated(None))
    history = Estimated(1500.0)
    history.apply(StateChanged(state="stopping", time=1001.0))
    assert "left" not in drawn(Display(), history)
