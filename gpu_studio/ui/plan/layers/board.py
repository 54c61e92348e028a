"""The lanes: every logical device with the layers that a plan places on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_studio.common import figures
from gpu_studio.common.figures import flops, grouped
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.placement.known_problems import units_of
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.placement.work import limits_bytes
from gpu_studio.plan import CPU, MIB, Machine, Plan, logical_devices, replicas
from gpu_studio.plan.edits.distribution import places_of
from gpu_studio.ui.kit.device_place import places
from gpu_studio.ui.plan.facts_words import shape_in_words

OPEN = ""
"""The lane of the layers that the plan leaves out."""
LITTLE = 0.005
"""A share below it is 0 in whole percent."""


@dataclass(frozen=True, slots=True)
class Item:
    """A layer in a lane, or a part of one.

    `share` (0 to 1) is its part of a step's time; None if times are unknown. `part` says which part
    of a split layer it is, `goes_to` where a layer runs that the plan leaves out, and `place` is
    the number of the device that it runs on, which gives its colour.
    """

    layer: str
    kind: str
    share: float | None
    bytes: int
    place: int | None
    part: str = ""
    goes_to: str = ""
    detail: str = ""

    @property
    def is_notable(self) -> bool:
        """Whether its share of the time is large enough to matter more than the end of its name."""
        return self.share is not None and self.share >= LITTLE

    @property
    def percent(self) -> str:
        """The share in words: whole percent, but never 0 for a small share."""
        if self.share is None:
            return ""
        return "< 1 %" if 0 < self.share < LITTLE else figures.share(self.share)

    @property
    def text(self) -> str:
        """Everything about it in a line."""
        words = (
            self.layer,
            self.kind,
            self.part,
            self.percent,
            figures.size(self.bytes),
            self.goes_to,
        )
        return ", ".join(word for word in words if word)


@dataclass(frozen=True, slots=True)
class Lane:
    """A device's lane.

    `place` is its number among the logical devices. OPEN is the lane of layers left out.

    `limit_bytes` is its limit in bytes, or for a CPU, which has none, the host's memory; None if
    unknown. `why_not` says why nothing can be dropped there: the device does not exist.
    """

    device: str
    place: int | None
    items: tuple[Item, ...] = ()
    memory: PredictedMemory | None = None
    limit_bytes: int | None = None
    why_not: str = ""

    @property
    def title(self) -> str:
        """The text above it."""
        return self.device or "unplaced"

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of its layers, in the model's order."""
        return tuple(item.layer for item in self.items)


@dataclass(frozen=True, slots=True)
class Board:
    """All lanes, beginning with that of the layers left out.

    Layers that the model lacks are in no lane.
    """

    lanes: tuple[Lane, ...] = ()
    layers: int = 0

    def lane(self, device: str) -> Lane | None:
        """The lane of a device."""
        return next((lane for lane in self.lanes if lane.device == device), None)


def board_of(
    plan: Plan,
    machine: Machine,
    graph: ModelGraph,
    shares: Mapping[str, float],
    memory: Mapping[str, PredictedMemory],
) -> Board:
    """Return the lanes of `plan`.

    `shares` is each layer's part of a step's time, empty if unknown.
    """
    there = places(logical_devices(plan, machine), machine)
    asked = places_of(plan)
    gone = dict.fromkeys(
        device for devices in asked.values() for device in devices if device not in there
    )
    filled = _filled(plan, graph, there, running_on(plan, machine, graph), shares)
    lanes = [Lane(OPEN, None, filled.get(OPEN, ()))]
    byte_limits = _byte_limits(plan, machine)
    lanes += [
        Lane(name, place, filled.get(name, ()), memory.get(name), byte_limits[name])
        for name, place in there.items()
    ]
    lanes += [Lane(name, None, filled.get(name, ()), why_not=not_there(name)) for name in gone]
    return Board(tuple(lanes), len(graph.layers))


def _byte_limits(plan: Plan, machine: Machine) -> dict[str, int | None]:
    """Return the memory of each logical device; logical CPUs share the host's."""
    host = machine.memory_mib * MIB or None
    logical = logical_devices(plan, machine)
    limits = limits_bytes(logical, machine)
    return {each.name: host if each.physical == CPU else limits[each.name] for each in logical}


def not_there(device: str) -> str:
    """Return why a device that TensorFlow will not see cannot be used."""
    return f"{device} is not among the logical devices of this plan."


def running_on(plan: Plan, machine: Machine, graph: ModelGraph) -> dict[str, tuple[str, ...]]:
    """Return the devices of every layer, including layers that the plan leaves out."""
    return graph.devices_of(places_of(plan), replicas(plan, machine))


def _filled(
    plan: Plan,
    graph: ModelGraph,
    there: Mapping[str, int],
    running: Mapping[str, tuple[str, ...]],
    shares: Mapping[str, float],
) -> dict[str, tuple[Item, ...]]:
    filled: dict[str, list[Item]] = {}
    asked = places_of(plan)
    for layer in graph.layers:
        share = shares.get(layer.name) if shares else None
        devices = tuple(dict.fromkeys(asked.get(layer.name, ())))
        for device, item in _items(layer, devices, running[layer.name], share, there):
            filled.setdefault(device, []).append(item)
    return {device: tuple(items) for device, items in filled.items()}


def _items(
    layer: GraphLayer,
    asked: tuple[str, ...],
    running: tuple[str, ...],
    share: float | None,
    there: Mapping[str, int],
) -> Iterator[tuple[str, Item]]:
    """Return the items of a layer.

    They are in the lane of the layers left out, or in that of each device that has a part of it.
    """
    detail = _detail(layer)
    if not asked:
        home = running[0]
        yield (
            OPEN,
            Item(
                layer.name,
                kind_of(layer),
                share,
                layer.weight_bytes,
                there.get(home),
                "",
                f"runs on {home}",
                detail,
            ),
        )
    count = len(asked)
    for number_, device in enumerate(asked, 1):
        part = f"part {number_} of {count}" if count > 1 else ""
        mine = None if share is None else share / count
        size = layer.weight_bytes // count
        kind = _kind_of_part(layer, number_, count)
        yield device, Item(layer.name, kind, mine, size, there.get(device), part, "", detail)


def kind_of(layer: GraphLayer) -> str:
    """Return a layer's class and its size: `Dense 256`."""
    units = units_of(layer)
    return layer.kind if units is None else f"{layer.kind} {grouped(units)}"


def _kind_of_part(layer: GraphLayer, part: int, count: int) -> str:
    """Return `Dense 128 of 256`.

    Parts are as even as possible, the larger ones first, as the trainer splits layers.
    """
    units = units_of(layer)
    if units is None or count < 2:
        return kind_of(layer)
    mine = units // count + (part <= units % count)
    return f"{layer.kind} {grouped(mine)} of {grouped(units)}"


def _detail(layer: GraphLayer) -> str:
    return "\n".join(
        (
            f"{layer.name}: {kind_of(layer)}, output {shape_in_words(layer.output_shape)}",
            f"{grouped(layer.parameters)} parameters, {figures.size(layer.weight_bytes)}",
            f"keeps {figures.size(layer.kept_bytes)} a sample for the backward pass",
            (
                f"{flops(layer.flops_forward)} forward, {flops(layer.flops_backward)} "
                "backward, a sample"
            ),
        )
    )
