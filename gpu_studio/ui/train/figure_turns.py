"""When the figures beside the plots are shown anew, and what they showed last."""

from __future__ import annotations

from typing import Final

PROGRESS: Final = 0
"""The part with how far the run is and what its devices hold."""
READOUT: Final = 1
"""The part with the figures at the crosshair, or the newest."""
# Figures that change more often than this cannot be read. They are preferably drawn in frames
# without a plot, and each part in a frame of its own.
TICKS_A_FIGURE: Final = 3
MOST_TICKS: Final = 5
_NOTHING_YET: Final = (-1, -1)


class FigureTurns:
    """The parts of the figures: how long each has waited, and what it showed last.

    That is a revision of the run's recording, and one of its history. `taken` counts the turns.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._ticks = [0, 0]
        self.restart()

    def restart(self) -> None:
        """Show nothing yet."""
        self.shown = [_NOTHING_YET, _NOTHING_YET]

    def next(self, *, drawn: bool) -> int | None:
        """The part whose turn it is at this tick, if any; `drawn`: a plot was drawn in it."""
        self._ticks = [ticks + 1 for ticks in self._ticks]
        waited = max(self._ticks)
        if waited < (MOST_TICKS if drawn else TICKS_A_FIGURE):
            return None
        part = self._ticks.index(waited)
        self._ticks[part] = 0
        self.taken += 1
        return part

    @property
    def history(self) -> int:
        """The revision of the run's history that all parts show."""
        return min(revision for _, revision in self.shown)

    @property
    def record(self) -> int:
        """The revision of its recording that all parts show."""
        return min(revision for revision, _ in self.shown)
