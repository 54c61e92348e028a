"""The effect of dropping layers on a lane: the change of the plan, or why it is impossible.

It is known while still dragging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.common import figures
from gpu_studio.common.figures import plural
from gpu_studio.placement.model_graph import GraphLayer, ModelGraph
from gpu_studio.placement.places import most_bytes
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.splitting_kinds import why_not_split
from gpu_studio.placement.stage_memory import at_once, samples_at_once
from gpu_studio.plan import Machine, Placed, Plan, logical_devices, validate
from gpu_studio.plan.edits import placing
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.problems import listed
from gpu_studio.ui.plan.layers.board import OPEN, not_there, running_on


@dataclass(frozen=True, slots=True)
class LayerDrop:
    """Layers over a device's lane; with `split` the device gets a part of their units."""

    layers: tuple[str, ...]
    device: str
    split: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """`said` is the effect of the drop or, if `change` is None, why it is impossible."""

    said: str
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """What verdicts depend on, computed once for all drops.

    `running` is where each layer is now, by name. `problems` are those that the plan already has,
    as field and received value.
    """

    plan: Plan
    machine: Machine
    model: ModelFacts
    layers: Mapping[str, GraphLayer]
    running: Mapping[str, tuple[str, ...]]
    limits: Mapping[str, float | None]
    problems: frozenset[tuple[str, str]]


def ground_of(plan: Plan, machine: Machine, model: ModelFacts, graph: ModelGraph) -> Ground:
    """Return what verdicts about drops on this plan depend on."""
    logical = logical_devices(plan, machine)
    return Ground(
        plan,
        machine,
        model,
        {layer.name: layer for layer in graph.layers},
        running_on(plan, machine, graph),
        most_bytes(logical, machine),
        frozenset((each.field, each.received) for each in validate(plan, machine)),
    )


def verdict(drop: LayerDrop, ground: Ground) -> Verdict:
    """Return whether the layers can be dropped there, and with what effect."""
    refusal = next(_refusals(drop, ground), "")
    if refusal:
        return Verdict(refusal)
    change = change_of(drop, ground.running)
    new = _new_problem(ground, change.make(ground.plan))
    return Verdict(new) if new else Verdict(_said(drop, ground.running), change)


def change_of(drop: LayerDrop, running: Mapping[str, tuple[str, ...]]) -> Change:
    """Return the change that a drop asks for; `running` is where each layer runs now."""
    layers, device = drop.layers, drop.device
    what = layers[0] if len(layers) == 1 else plural(len(layers), "layer")
    if device == OPEN:
        return Change(lambda plan: placing.take_off(plan, layers), f"leave {what} open")
    if drop.split:
        return Change(
            lambda plan: placing.split_with(plan, layers, device, running),
            f"split {what} with {device}",
        )
    return Change(lambda plan: placing.run_on(plan, layers, device), f"move {what} to {device}")


def _refusals(drop: LayerDrop, ground: Ground) -> Iterator[str]:
    """List everything that prevents a drop, the plainest reason first."""
    strangers = [name for name in drop.layers if name not in ground.layers]
    if not drop.layers:
        yield "No layer is selected."
    elif strangers:
        yield f"The layer {strangers[0]} is not one of this model's."
    elif drop.device != OPEN and drop.device not in ground.limits:
        yield not_there(drop.device)
    elif not drop.split and _is_there(drop, ground.plan):
        yield _already(drop)
    else:
        layers = [ground.layers[name] for name in drop.layers]
        yield from _split_refusals(drop, layers, ground.running)
        yield from _size_refusals(drop, layers, ground)


def _is_there(drop: LayerDrop, plan: Plan) -> bool:
    places = placing.places_of(plan)
    wanted = (drop.device,) if drop.device != OPEN else ()
    return all(places.get(layer, ()) == wanted for layer in drop.layers)


def _already(drop: LayerDrop) -> str:
    what = f"The layer {drop.layers[0]}" if len(drop.layers) == 1 else "All of them"
    if drop.device == OPEN:
        return f"{what} {'is' if len(drop.layers) == 1 else 'are'} left open already."
    order = "in a lane, layers stand in the order in which they run"
    return f"{what} {'is' if len(drop.layers) == 1 else 'are'} on {drop.device} already; {order}."


def _split_refusals(
    drop: LayerDrop, layers: Sequence[GraphLayer], running: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    if not drop.split:
        return
    if drop.device == OPEN:
        yield "A layer is split over devices: drop it on one of them."
        return
    for layer in layers:
        now = running[layer.name]
        if drop.device in now:
            yield (
                f"The layer {layer.name} is on {drop.device} already: drop it "
                "on another device to split it."
            )
        elif why_not := why_not_split(layer, (*now, drop.device)):
            yield why_not


def _size_refusals(drop: LayerDrop, layers: Sequence[GraphLayer], ground: Ground) -> Iterator[str]:
    """List layers that are too large for the device even if nothing else is on it."""
    limit = ground.limits.get(drop.device)
    if limit is None:
        return
    for layer in layers:
        parts = len(ground.running[layer.name]) + 1 if drop.split else 1
        held = _held(layer, ground) // parts
        if held > limit:
            there = figures.size(int(limit))
            yield (
                f"The layer {layer.name} alone takes {figures.size(held)} in a step, and "
                f"{drop.device} has {there}."
            )


def _held(layer: GraphLayer, ground: Ground) -> int:
    """Return the least bytes that layers hold.

    They are weights, gradients, the optimizer's slots, and what the backward pass needs of the
    batch.
    """
    state = layer.weight_bytes + layer.trainable_bytes + ground.model.slots.get(layer.name, 0)
    placed = ground.plan.distribution.placed or Placed()
    batch = max(1, ground.plan.training.batch_size)
    return state + layer.kept_bytes * samples_at_once(
        batch, max(1, placed.micro_batches), at_once(1)
    )


def _new_problem(ground: Ground, after: Plan) -> str:
    """Return what the plan's own rules say against the change."""
    new = [
        each
        for each in validate(after, ground.machine)
        if (each.field, each.received) not in ground.problems
    ]
    return f"{new[0].field} would be {new[0].received}: {new[0].advice}." if new else ""


def _said(drop: LayerDrop, running: Mapping[str, tuple[str, ...]]) -> str:
    if drop.device == OPEN:
        return "drop to leave open"
    if not drop.split:
        return f"drop to run on {drop.device}"
    devices = dict.fromkeys(
        device for layer in drop.layers for device in (*running[layer], drop.device)
    )
    return f"drop to split over {listed(devices)}"
