"""Where the end of a slice comes to rest while it is dragged."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.plan.card_memory import OUTSIDE_MIB
from gpu_studio.plan.starter import STEP_MIB
from gpu_studio.ui.models.plan.track import Track

COARSE_MIB = 1024


def snapped(track: Track, index: int, size: int, reach: float) -> int:
    """The size that a slice takes where its end is dragged so that it would have `size` MiB.

    An equal share within `reach` MiB wins; then a whole GiB within half of that; else it is a whole step of 256 MiB.
    """
    near = min(_marks(track, index), key=lambda mark: abs(mark - size), default=None)
    if near is not None and abs(near - size) <= reach:
        return near
    whole = max(COARSE_MIB, _rounded(size, COARSE_MIB))
    return whole if abs(whole - size) <= reach / 2 else max(STEP_MIB, _rounded(size, STEP_MIB))


def _marks(track: Track, index: int) -> Iterator[int]:
    """Sizes that a person may well want: as large as a neighbour, or all that is free."""
    sizes = track.cut.sizes
    if index > 0:
        yield sizes[index - 1]
    if index + 1 < len(sizes):
        yield (sizes[index] + sizes[index + 1]) // 2
        return
    spare = track.room - sum(sizes[:index])
    yield from (mark for mark in (spare, spare - OUTSIDE_MIB) if mark > 0)


def _rounded(size: int, grid: int) -> int:
    return round(size / grid) * grid
