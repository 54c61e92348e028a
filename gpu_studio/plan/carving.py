"""Slices of a physical device: cut one, halve, merge, resize or equalise its slices in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpu_studio.plan import Carve, Plan
from gpu_studio.plan.card_memory import beside_slices_mib
from gpu_studio.plan.devices import CPU, Card, Machine, followed, physical_name
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.visibility import plan_name
from gpu_studio.plan.rules.device_rules import LEAST_MIB
from gpu_studio.plan.starter import STEP_MIB


@dataclass(frozen=True, slots=True)
class CardSlices:
    """The slices of a card: their `sizes` in MiB, and for each the index of the slice it was.

    In `origins`, None is a new slice.
    """

    sizes: tuple[int, ...]
    origins: tuple[int | None, ...]

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> CardSlices:
        """The slices unchanged."""
        return cls(sizes, tuple(range(len(sizes))))

    def with_size(self, index: int, size: int) -> CardSlices:
        """Slice `index` with this size and the others unchanged, whether they fit or not."""
        return CardSlices((*self.sizes[:index], size, *self.sizes[index + 1 :]), self.origins)

    def with_end(self, index: int, size: int, capacity: int) -> CardSlices:
        """Move the end of slice `index` until it has `size` MiB, or as close as possible.

        The next slice gives or takes the difference; the last slice has the free memory, until all
        have `capacity` MiB together. If the slices already exceed that, they can only shrink.
        """
        if index + 1 == len(self.sizes):
            most = max(self.sizes[index], capacity - sum(self.sizes[:index]))
            return self.with_size(index, max(LEAST_MIB, min(size, most)))
        pair = self.sizes[index] + self.sizes[index + 1]
        if pair < 2 * LEAST_MIB:
            return self
        size = max(LEAST_MIB, min(size, pair - LEAST_MIB))
        return self.with_size(index, size).with_size(index + 1, pair - size)

    def halved(self, index: int) -> CardSlices:
        """Slice `index` cut in two, the first a whole number of steps if it is large enough."""
        size = self.sizes[index]
        first = (size + 1) // 2
        if size >= 2 * STEP_MIB:
            first = -(-first // STEP_MIB) * STEP_MIB
        return CardSlices(
            (*self.sizes[:index], first, size - first, *self.sizes[index + 1 :]),
            (*self.origins[: index + 1], None, *self.origins[index + 1 :]),
        )

    def merged(self, index: int) -> CardSlices:
        """Slice `index` and the next as one, in the place of the first."""
        joined = self.sizes[index] + self.sizes[index + 1]
        return self.with_size(index, joined).without(index + 1)

    def without(self, index: int) -> CardSlices:
        """Slice `index` removed; its memory is free."""
        return CardSlices(
            self.sizes[:index] + self.sizes[index + 1 :],
            self.origins[:index] + self.origins[index + 1 :],
        )

    def with_another(self, capacity: int, beside: int) -> CardSlices:
        """One more slice: from free memory but for the MiB `beside` the slices, as the last.

        If none is free, half of the largest.
        """
        spare = (capacity - beside - sum(self.sizes)) // STEP_MIB * STEP_MIB
        size = min(spare, self.sizes[-1]) if self.sizes else spare
        if size >= LEAST_MIB:
            return CardSlices((*self.sizes, size), (*self.origins, None))
        return self.halved(self.sizes.index(max(self.sizes)))

    def equalised(self) -> CardSlices:
        """All slices the same size; the few MiB that do not divide evenly stay free."""
        return CardSlices(
            (max(LEAST_MIB, sum(self.sizes) // len(self.sizes)),) * len(self.sizes), self.origins
        )


def equal_slices(device: str, count: int, machine: Machine) -> tuple[int, ...]:
    """`count` equal memory limits in MiB for a device's slices.

    All 0 on the CPU, which has no limits. On a full card each gets the smallest step, and the rules
    of the plan report that they do not fit.
    """
    if device == CPU:
        return (0,) * count
    card = machine.card(device)
    free = card.free_mib if card else None
    capacity = 0 if card is None or free is None else max(0, free - beside_slices_mib(card))
    return (max(STEP_MIB, capacity // count // STEP_MIB * STEP_MIB),) * count


def capacity_mib(card: Card) -> int | None:
    """The MiB that slices of a card can have without waiting for other programs.

    None if unknown.
    """
    return card.usable_mib if card.free_mib is None else card.free_mib


MOST_SLICES = 8
"""So many slices are offered in a list; more can be made one by one."""


@dataclass(frozen=True, slots=True)
class Carved:
    """A requested carve of a physical device, and its name in undo. `field` as in Change."""

    device: str
    cut: CardSlices
    text: str
    field: str = ""


def slices_of(plan: Plan, device: str, machine: Machine) -> tuple[int, ...]:
    """The memory limits of the slices of a device, in MiB; empty where it is not carved."""
    for carve in plan.devices.carve:
        if physical_name(carve.device, machine) == device:
            return carve.slices_mib
    return ()


def set_slices(plan: Plan, device: str, count: int, machine: Machine) -> Plan:
    """`plan` with the physical device cut into `count` equal slices; 1 leaves it whole.

    The slices share the memory of the card that nobody uses now. The rest as in `set_cut`.
    """
    sizes = equal_slices(device, count, machine) if count > 1 else ()
    return set_cut(plan, device, CardSlices.of(sizes), machine)


def set_cut(plan: Plan, device: str, cut: CardSlices, machine: Machine) -> Plan:
    """`plan` with the physical device cut into these slices; without slices it is left whole.

    Memory growth and a carve exclude each other, so a carve turns growth off. Logical devices that
    the plan names remain the same slices, under their new names; those whose slices are gone are
    removed.
    """
    carve = tuple(_recarved(plan, device, cut.sizes, machine))
    if carve == plan.devices.carve:
        return plan
    growth = plan.devices.memory_growth and not carve
    visible = plan.devices.visible
    card = machine.card(device)
    if card is not None and card.instance and not visible:
        # An instance has no device number for TensorFlow to identify its slices: the plan must name
        # it.
        visible = (card.uuid,)
    changed = replace(
        plan, devices=replace(plan.devices, visible=visible, carve=carve, memory_growth=growth)
    )
    return followed(plan, changed, machine, device, cut.origins or (0,))


def change_of(carved: Carved, machine: Machine) -> Change:
    """The edit that cuts a device as requested."""
    return Change(
        lambda plan: set_cut(plan, carved.device, carved.cut, machine), carved.text, carved.field
    )


def equal_change(device: str, count: int, machine: Machine) -> Change:
    """The edit that cuts a device into `count` equal slices; 1 leaves it whole."""
    name = machine.title(device)
    text = f"cut {name} into {count}" if count > 1 else f"leave {name} whole"
    return Change(lambda plan: set_slices(plan, device, count, machine), text)


def _recarved(plan: Plan, device: str, sizes: tuple[int, ...], machine: Machine) -> Iterator[Carve]:
    """The carves with that of `device` replaced under its old name, or appended if it had none."""
    mine = [carve for carve in plan.devices.carve if physical_name(carve.device, machine) == device]
    for carve in plan.devices.carve:
        if carve not in mine:
            yield carve
        elif sizes and carve is mine[0]:
            yield replace(carve, slices_mib=sizes)
    if sizes and not mine:
        yield Carve(plan_name(plan, device, machine), sizes)
