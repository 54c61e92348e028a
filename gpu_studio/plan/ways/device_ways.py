"""Ways out of problems of `[devices]`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_studio.plan.carving import equal_slices
from gpu_studio.plan.hiding import only_on
from gpu_studio.plan.hiding import without as without_cards
from gpu_studio.plan.logical import CPU, visible_cards
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.mending import Mend, changing
from gpu_studio.plan.problems import Problem, shown
from gpu_studio.plan.values import Carve, Plan
from gpu_studio.plan.ways.place import index_in, put, without


def visible(problem: Problem, plan: Plan, machine: Machine) -> Iterator[Mend]:
    """Hide what does not answer; else take the name out."""
    lost = [card for card in visible_cards(plan.devices, machine) if card.lost]
    if lost:
        label = "Hide it" if len(lost) == 1 else "Hide them"
        yield Mend(label, lambda changed: without_cards(changed, machine, [card.device for card in lost]))
    seen = visible_cards(plan.devices, machine)
    first = next((card for card in seen if card.instance), None)
    if first is not None and len(seen) > 1:
        yield Mend(f"Use {first.title} alone", partial(only_on, first))
    names = plan.devices.visible
    index = index_in(problem, names)
    if index is not None:
        yield changing(f"Take {shown(names[index])} out", "devices", visible=without(names, index))


def growth(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Keep the carve, which says more."""
    yield changing("Do not grow", "devices", memory_growth=False)


def carve(problem: Problem, plan: Plan, machine: Machine) -> Iterator[Mend]:
    """As many slices that fit; or no slices."""
    carves = plan.devices.carve
    index = index_in(problem, carves)
    if index is None:
        return
    one = carves[index]
    if one.slices_mib and (one.device == CPU or machine.card(one.device)):
        fitting = Carve(one.device, equal_slices(one.device, len(one.slices_mib), machine))
        label = "No limits" if one.device == CPU else "Share what is free"
        yield changing(label, "devices", carve=put(carves, index, fitting))
    yield changing(f"Leave {machine.title(one.device)} whole", "devices", carve=without(carves, index))
