"""What a plot shows of the axis: a window of it, in so many columns of pixels, measured by a ruler."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpu_studio.ui.widgets.plots.decimate import Array
from gpu_studio.ui.widgets.plots.ruler import TIME, Ruler
from gpu_studio.ui.widgets.plots.time_window import TimeWindow

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """The window, `columns` (1 or more) pixels wide. `edges` are the moments at which the columns begin and end.

    They are seconds after the run's start, shape (columns + 1,), and sorted; on an axis that does not count seconds
    the columns last differently long.
    """

    window: TimeWindow
    columns: int
    ruler: Ruler = TIME
    edges: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", self.split(self.columns))

    def split(self, columns: int, before: int = 0) -> Array:
        """The edges of so many columns, and of as many again that would follow to the left as there are `before`."""
        window = self.window
        early = window.start - window.span / columns * before
        return self.ruler.seconds(np.linspace(early, window.end, columns + before + 1))

    def shows(self, places: Array) -> Flags:
        """Which of these places are in the window, as booleans in their shape."""
        return (places >= self.window.start) & (places <= self.window.end)
