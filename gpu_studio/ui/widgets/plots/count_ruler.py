"""An axis of plain numbers: what is drawn over it says itself how many steps or epochs it lies at."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.ui.widgets.plots.ruler import Ruler
from gpu_studio.ui.widgets.plots.ticks import Tick, count_ticks, part_ticks

_FEWEST = {"step": 4.0, "epoch": 0.02}


@dataclass(frozen=True, slots=True, eq=False)
class CountRuler(Ruler):
    """Places that are counts already, for runs whose steps took differently long."""

    @property
    def least(self) -> float:
        """A few steps, or a small part of an epoch."""
        return _FEWEST.get(self.kind, 1.0)

    def ticks(self, start: float, end: float, count: int) -> list[Tick]:
        """Round counts from `start` to `end`, about `count` of them, with what is counted before them."""
        made = part_ticks if self.kind == "epoch" else count_ticks
        return [(at, f"{self.kind} {text}") for at, text in made(start, end, count)]
