"""The contents of a step's drawing: a row for each device.

A measured step is converted into such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.contract import events
from gpu_studio.contract.events import StageSpan
from gpu_studio.placement.occupation import bubble_of

SLOWED = "slowed by the profiler"
_ROUNDING = 1e-12


class Spell(Protocol):
    """Something that a device does, `what` (a pass), from `begin` to `end` seconds after the step
    began.
    """

    @property
    def what(self) -> str:
        """The pass."""

    @property
    def begin(self) -> float:
        """When it begins."""

    @property
    def end(self) -> float:
        """When it ends."""


@dataclass(frozen=True, slots=True)
class Worked:
    """A spell of a measured step, and all that is said of it."""

    what: str
    begin: float
    end: float
    words: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """What one device does in a step, in order. `place` is the number from which it has its colour.

    `title` names the row, `description` says it in words, and `say` does so of one of its `spells`.
    """

    name: str
    place: int
    title: str
    description: str
    spells: tuple[Spell, ...]
    say: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class StepPicture:
    """A step's rows, its length in seconds, and what stands over it.

    `to_scale` tells whether the seconds are real.
    """

    rows: tuple[StepRow, ...]
    seconds: float
    caption: str
    to_scale: bool = True


def measured_picture(
    step: events.Timeline, devices: Mapping[str, int], whose: str = ""
) -> StepPicture:
    """A measured step.

    `devices` has the place of each logical one, in order, `whose` says of which run it is.
    """
    by_device: dict[str, list[Worked]] = {device: [] for device in step.busy}
    for task in step.tasks:
        by_device.setdefault(task.device or step.stages[task.stage].device, []).append(
            _worked(task, step)
        )
    known = tuple(dict.fromkeys((*devices, *sorted(by_device))))
    colours = {name: devices.get(name, place) for place, name in enumerate(known)}
    rows = tuple(
        _measured_row(name, colours[name], by_device[name], step)
        for name in known
        if name in by_device
    )
    bubble = (
        f" · bubble {figures.share(bubble_of(step.busy.values(), step.seconds))}"
        if len(rows) > 1
        else ""
    )
    which = " of ".join(filter(None, (f"step {grouped(step.step + 1)}", whose)))
    caption = f"measured step {figures.span(step.seconds)}{bubble} · {which}, {SLOWED}"
    return StepPicture(rows, step.seconds, caption)


def _measured_row(
    name: str, place: int, worked: Iterable[Worked], step: events.Timeline
) -> StepRow:
    busy = step.busy.get(name, 0.0) / step.seconds if step.seconds else 0.0
    description = f"{name}: busy {figures.share(busy)} of the measured step"
    return StepRow(name, place, f"measured step on {name}", description, in_order(worked), _say)


def _say(spell: Worked) -> str:
    return spell.words


def _worked(task: StageSpan, step: events.Timeline) -> Worked:
    names = step.stages[task.stage].layers
    layers = (
        names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({grouped(len(names))} layers)"
    )
    known = task.micro_batch is not None and task.micro_batch >= 0
    which = (
        f" of micro-batch {task.micro_batch + 1}" if known and task.micro_batch is not None else ""
    )
    when = f"{figures.span(task.begin)} to {figures.span(task.end)}"
    words = f"{task.way}{which}: {layers}, {when}, busy {figures.span(task.busy)}"
    return Worked(task.way, task.begin, task.end, words)


def in_order(spells: Iterable[Any]) -> tuple[Any, ...]:
    """The spells by when they begin."""
    return tuple(sorted(spells, key=lambda spell: spell.begin))


def tracks_of(tasks: Sequence[Spell]) -> tuple[int, ...]:
    """The track of each of `tasks`, which are in the order of their beginning.

    The first that is free by then.

    So there are no more tracks than tasks that are ever under way at once.
    """
    free: list[float] = []
    found: list[int] = []
    for task in tasks:
        track = next(
            (number for number, end in enumerate(free) if end <= task.begin + _ROUNDING), len(free)
        )
        if track == len(free):
            free.append(0.0)
        free[track] = task.end
        found.append(track)
    return tuple(found)
