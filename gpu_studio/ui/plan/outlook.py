"""The forecast of training a plan on this machine, in words, as far as it is certain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural, size_from_mib
from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.plan import (
    MIB,
    Machine,
    Placed,
    Plan,
    PlannedDevice,
    logical_devices,
    replica_count,
    replicas,
    shares_of,
)
from gpu_studio.plan.card_memory import outside_mib
from gpu_studio.plan.logical import CPU
from gpu_studio.plan.replication import replica_devices
from gpu_studio.plan.strategies import strategy_of
from gpu_studio.ui.kit.device_place import places

MEANINGS = {
    "weights": "The model's variables.",
    "gradients": "How the loss changes with each trained weight.",
    "slots": (
        "What the optimizer remembers of each trained weight, as Adam "
        "does two averages of its gradients."
    ),
    "activations": "What the layers keep of the batch until the backward pass.",
    "other": "The batch itself, and what operations need for a moment.",
}
"""What each part is, for who has not met the word."""


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A part of the memory of a step: its `bytes`, and the `formula` that gives them."""

    name: str = ""
    bytes: int = 0
    formula: str = ""

    @property
    def reported(self) -> str:
        """Its name, and how its bytes are computed."""
        return "\n".join(filter(None, (MEANINGS.get(self.name, ""), self.formula)))

    @property
    def amount(self) -> str:
        """The bytes with their unit."""
        return figures.size(self.bytes)


@dataclass(frozen=True, slots=True)
class Prospect:
    """One logical device: its number, which gives its colour, its limit and its share, in words.

    `parts` are predicted, with their `total` and its `formula`; none until the model is known.
    `most` is what TensorFlow may take there, in bytes, and `now` what it would get of that beside
    others who hold the card's memory; None without a limit, or if that is unknown. `outside` is
    what CUDA and its libraries get of a whole card, in bytes; 0 where that does not apply.
    """

    place: int
    name: str
    limit: str
    share: str
    replica: bool
    parts: tuple[MemoryPart, ...] = ()
    total: int = 0
    formula: str = ""
    most: int | None = None
    now: int | None = None
    outside: int = 0

    @property
    def over(self) -> bool:
        """Whether a step takes more memory than is available now."""
        return any(area is not None and self.total > area for area in (self.most, self.now))

    @property
    def held(self) -> float:
        """The share (0 to 1) of the bar, from its end, that others hold."""
        if self.most is None or self.now is None:
            return 0.0
        return max(0, self.most - self.now) / self._whole

    @property
    def _whole(self) -> int:
        return max(self.total, self.most or 0, 1)

    @property
    def amount(self) -> str:
        """The total of the limit; the limit alone until something is predicted."""
        if not self.parts:
            return self.limit
        if self.now is not None and self.most is not None and self.now < self.most:
            return f"{figures.size(self.total)} of {figures.size(self.now)} free"
        return (
            f"{figures.size(self.total)} of {figures.size(self.most)}"
            if self.most
            else figures.size(self.total)
        )

    @property
    def shares(self) -> tuple[float, ...]:
        """Each part as a share (0 to 1) of the limit.

        They are shares of the total if that is larger, or if there is no limit. Gradients appear
        while activations are freed, so the parts may be more than the total: then all are drawn
        smaller.
        """
        together = max(sum(part.bytes for part in self.parts), 1)
        return tuple(
            part.bytes / self._whole * min(1.0, self.total / together) for part in self.parts
        )

    @property
    def text(self) -> str:
        """All of it in a sentence."""
        limit = "" if self.most or not self.parts else f", {self.limit}"
        too_much = ", which is too much" if self.over else ""
        said = (
            f"{self.name}: {self.share}, {self.amount}{limit}{self._others}{self._cuda}{too_much}"
        )
        parts = ", ".join(f"{part.name} {part.amount}" for part in self.parts if part.bytes)
        return f"{said}: {parts}" if parts else said

    @property
    def _others(self) -> str:
        held = (self.most or 0) - (self.now if self.now is not None else self.most or 0)
        return (
            f"; others hold {figures.size(held)} of {figures.size(self.most or 0)}"
            if held > 0
            else ""
        )

    @property
    def _cuda(self) -> str:
        return (
            f"; CUDA and its libraries get {figures.size(self.outside)} of the card"
            if self.outside
            else ""
        )


def prospects(
    plan: Plan, machine: Machine, memory: Iterable[PredictedMemory] = ()
) -> tuple[Prospect, ...]:
    """Return the plan's logical devices, the batch of each, and the memory that it takes."""
    replica_names = replicas(plan, machine)
    shares = shares_of(plan, len(replica_names))
    taken = {each.device: each for each in memory}
    logical = logical_devices(plan, machine)
    known = places(logical, machine)
    hopes = (
        Prospect(
            known[device.name],
            device.name,
            _limit(plan, device),
            _share(plan, device, replica_names, shares),
            device.name in replica_names,
            outside=_outside(device, machine),
        )
        for device in logical
    )
    return tuple(_predicted(prospect, taken.get(prospect.name)) for prospect in hopes)


def facts(
    plan: Plan, machine: Machine, data: DataFacts | None = None
) -> tuple[tuple[str, str], ...]:
    """Return names and values of what is certain before training.

    The steps of an epoch are included once the data are known.
    """
    shares = shares_of(plan, replica_count(plan, machine))
    each = " or ".join(grouped(each) for each in sorted(set(shares), reverse=True))
    steps = f" × {plural(data.steps(sum(shares)), 'step')}" if data else ""
    return (
        ("replicas", f"{len(shares)}{_on_the_same(plan, machine) if len(shares) > 1 else ''}"),
        ("global batch", plural(sum(shares), "sample")),
        _cut(plan) or ("each replica", each),
        ("epochs", f"{grouped(plan.training.epochs)}{steps}"),
    )


def _on_the_same(plan: Plan, machine: Machine) -> str:
    """Say where replicas share hardware, so that nobody expects them to be faster."""
    there = [device.physical for device in replica_devices(plan, machine)]
    return ", on the same cores" if len(there) > 1 and set(there) == {CPU} else ""


def _cut(plan: Plan) -> tuple[str, str] | None:
    if not strategy_of(plan).places_layers:
        return None
    return "micro-batches", grouped((plan.distribution.placed or Placed()).micro_batches)


def _predicted(prospect: Prospect, memory: PredictedMemory | None) -> Prospect:
    if memory is None:
        return prospect
    parts = tuple(MemoryPart(name, part.bytes, part.formula) for name, part in memory.parts)
    return replace(
        prospect,
        parts=parts,
        total=memory.total,
        formula=memory.total_formula,
        most=memory.limit_bytes,
        now=memory.free_bytes,
    )


def _limit(plan: Plan, device: PlannedDevice) -> str:
    if device.name.startswith("CPU"):
        return "host memory, no limit"
    if device.limit_mib is not None:
        return f"up to {size_from_mib(device.limit_mib)}"
    return "grows as needed" if plan.devices.memory_growth else "the whole card"


def _outside(device: PlannedDevice, machine: Machine) -> int:
    card = None if device.limit_mib is not None else machine.card(device.physical)
    return (outside_mib(card) or 0) * MIB if card is not None else 0


def _share(
    plan: Plan, device: PlannedDevice, replica_names: tuple[str, ...], shares: tuple[int, ...]
) -> str:
    if strategy_of(plan).places_layers:
        return _layers(plan, device.name, replica_names[:1])
    if device.name not in replica_names:
        return "no replica"
    return plural(shares[replica_names.index(device.name)], "sample")


def _layers(plan: Plan, name: str, first: tuple[str, ...]) -> str:
    """Return what is placed there.

    A layer that is not placed goes with its neighbours; if none is placed, to the first device.
    """
    layers = (plan.distribution.placed or Placed()).layers
    here = sum(name in names for names in layers.values())
    if not layers and name in first:
        return "all layers"
    return f"{plural(here, 'layer')} placed" if here else "no layer placed"
