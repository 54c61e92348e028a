"""Tasks of one device that overlap, put side by side."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.ui.models.plan.lanes.step_rows import Spell

_ROUNDING = 1e-12


def tracks_of(tasks: Sequence[Spell]) -> tuple[int, ...]:
    """The track of each of `tasks`, which are in the order of their beginning: the first that is free by then.

    So there are no more tracks than tasks that are ever under way at once.
    """
    free: list[float] = []
    found: list[int] = []
    for task in tasks:
        track = next((number for number, end in enumerate(free) if end <= task.begin + _ROUNDING), len(free))
        if track == len(free):
            free.append(0.0)
        free[track] = task.end
        found.append(track)
    return tuple(found)
