"""How a physical device is cut into slices, and how its slices are cut again, joined and made larger."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.plan.card_memory import OUTSIDE_MIB
from gpu_studio.plan.logical import CPU
from gpu_studio.plan.machine import Card, Machine
from gpu_studio.plan.rules.device_rules import LEAST_MIB
from gpu_studio.plan.starter import STEP_MIB


@dataclass(frozen=True, slots=True)
class Cut:
    """The slices of a card: their `sizes` in MiB, and for each which slice it was before.

    `origins` are places among the slices that there were; None is a new slice.
    """

    sizes: tuple[int, ...]
    origins: tuple[int | None, ...]

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> Cut:
        """The slices as they are."""
        return cls(sizes, tuple(range(len(sizes))))

    def with_size(self, index: int, size: int) -> Cut:
        """Slice `index` with this size and no other changed, whether they fit together or not."""
        return Cut((*self.sizes[:index], size, *self.sizes[index + 1 :]), self.origins)

    def with_end(self, index: int, size: int, room: int) -> Cut:
        """The end of slice `index` moved until it has `size` MiB, or as near to that as can be.

        The next slice gives or takes the difference; the last slice has the free room, until all have `room` MiB
        together. Slices that have more than that already only get smaller.
        """
        if index + 1 == len(self.sizes):
            most = max(self.sizes[index], room - sum(self.sizes[:index]))
            return self.with_size(index, max(LEAST_MIB, min(size, most)))
        pair = self.sizes[index] + self.sizes[index + 1]
        if pair < 2 * LEAST_MIB:
            return self
        size = max(LEAST_MIB, min(size, pair - LEAST_MIB))
        return self.with_size(index, size).with_size(index + 1, pair - size)

    def halved(self, index: int) -> Cut:
        """Slice `index` cut into two, the first a whole number of steps where it is large enough."""
        size = self.sizes[index]
        first = (size + 1) // 2
        if size >= 2 * STEP_MIB:
            first = -(-first // STEP_MIB) * STEP_MIB
        return Cut(
            (*self.sizes[:index], first, size - first, *self.sizes[index + 1 :]),
            (*self.origins[: index + 1], None, *self.origins[index + 1 :]),
        )

    def merged(self, index: int) -> Cut:
        """Slice `index` and the next as one, which stands where the first stood."""
        joined = self.sizes[index] + self.sizes[index + 1]
        return self.with_size(index, joined).without(index + 1)

    def without(self, index: int) -> Cut:
        """Slice `index` given back to the free room."""
        return Cut(self.sizes[:index] + self.sizes[index + 1 :], self.origins[:index] + self.origins[index + 1 :])

    def with_another(self, room: int) -> Cut:
        """One slice more: of the free room, as large as the last; or where there is none, half of the largest."""
        spare = (room - OUTSIDE_MIB - sum(self.sizes)) // STEP_MIB * STEP_MIB
        size = min(spare, self.sizes[-1]) if self.sizes else spare
        if size >= LEAST_MIB:
            return Cut((*self.sizes, size), (*self.origins, None))
        return self.halved(self.sizes.index(max(self.sizes)))

    def equalised(self) -> Cut:
        """All slices of one size; the few MiB that cannot be shared out are free then."""
        return Cut((max(LEAST_MIB, sum(self.sizes) // len(self.sizes)),) * len(self.sizes), self.origins)


def equal_slices(device: str, count: int, machine: Machine) -> tuple[int, ...]:
    """`count` equal memory limits in MiB for the slices of a device; all 0 on the CPU, which has no limits.

    A card with no room left gets the smallest step for each, and the rules of the plan say that it does not fit.
    """
    if device == CPU:
        return (0,) * count
    card = machine.card(device)
    room = max(0, (card.free_mib if card and card.free_mib is not None else 0) - OUTSIDE_MIB)
    return (max(STEP_MIB, room // count // STEP_MIB * STEP_MIB),) * count


def room_mib(card: Card) -> int | None:
    """The MiB that slices of a card can have without waiting for other programs to end; None if it is unknown."""
    return card.usable_mib if card.free_mib is None else card.free_mib
