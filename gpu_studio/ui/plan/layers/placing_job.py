"""Place for me, as a job for another thread.

It takes what the user asks for and returns the change of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_studio.common.figures import grouped, plural
from gpu_studio.placement.estimate import Times, by_flops
from gpu_studio.placement.places import chosen_devices, places
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.search import Objective
from gpu_studio.placement.suggestion import NothingFits, Suggestion, suggest
from gpu_studio.plan import Machine, Placed, Plan
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.distribution import set_recompute
from gpu_studio.plan.edits.placing import place_all, spread
from gpu_studio.plan.strategies import strategy_of
from gpu_studio.ui.plan.layers.forecast import at_once
from gpu_studio.ui.plan.layers.measurement import Measurement
from gpu_studio.ui.plan.layers.words import nothing_fits_in_words

TITLES: Mapping[Objective, str] = {
    "fastest": "Fastest",
    "least_memory": "Least memory",
    "fewest_transfers": "Fewest transfers",
}
TIPS: Mapping[Objective, str] = {
    "fastest": "The least time of a step, of placements that give each device one stretch of layers",
    "least_memory": "The least share of its memory on the fullest device",
    "fewest_transfers": "The fewest bytes from device to device",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What to place, and how; with `keep` the number of micro-batches stays."""

    plan: Plan
    machine: Machine
    model: ModelFacts
    measured: Measurement | None
    objective: Objective
    keep: bool = False


@dataclass(frozen=True, slots=True)
class PlacingOutcome:
    """The change that places the layers, or None, and the message about it.

    A further change recomputes activations, if the model fits only that way.
    """

    change: Change | None
    said: str
    offer: Change | None = None


def placed_for(wish: Wish) -> PlacingOutcome:
    """Find the placement. Raises ValueError if there are no layers or no devices."""
    plan = wish.plan if strategy_of(wish.plan).places_layers else spread(wish.plan)
    logical = chosen_devices(plan, wish.machine)
    names = [device.name for device in logical]
    known = (
        wish.measured
        if wish.measured and all(name in wish.measured.times for name in names)
        else None
    )
    devices = places(logical, wish.machine, known.links if known else {})
    turns = at_once(range(len(logical)), logical, wish.machine)
    count = (plan.distribution.placed or Placed()).micro_batches if wish.keep else None
    batch = max(1, plan.training.batch_size)
    times = known.times if known else _by_flops(wish, names)
    again = (plan.distribution.placed or Placed()).recompute
    found = suggest(
        wish.model, devices, batch, times, wish.objective, count, turns, recompute=again
    )
    if isinstance(found, NothingFits):
        offer = _change(found.recomputed, wish) if found.recomputed else None
        return PlacingOutcome(None, nothing_fits_in_words(found), offer)
    return PlacingOutcome(_change(found, wish), _said(found, wish.objective))


def _by_flops(wish: Wish, names: list[str]) -> Mapping[str, Times]:
    graph = wish.model.graph
    return dict.fromkeys(names, by_flops(graph) if graph else {})


def _change(found: Suggestion, wish: Wish) -> Change:
    def make(plan: Plan) -> Plan:
        ready = plan if strategy_of(plan).places_layers else spread(plan)
        return set_recompute(place_all(ready, found.layers, found.micro_batches), found.recompute)

    return Change(make, f"place the layers: {TITLES[wish.objective].lower()}")


def _said(found: Suggestion, objective: Objective) -> str:
    used = len(set(found.layers.values()))
    parts = f"{grouped(found.micro_batches)} micro-batch{'' if found.micro_batches == 1 else 'es'}"
    again = ", with activations recomputed" if found.recompute else ""
    return f"{TITLES[objective]}: on {plural(used, 'device')}, in {parts}{again}."
