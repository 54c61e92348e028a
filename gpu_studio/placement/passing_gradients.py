"""Gradients that wait for others of the same output, while layers between go back.

Where several layers take an output, what they give back for it is added up when the last of them
has gone back. Neither on the card of the layer that made it nor on that of the one that gives it
back, a layer between has none of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.placement.layer_holds import Passing, roots_of
from gpu_studio.placement.liveness import Operation

_SMALL = 64
"""What is this part of the largest tensor is not looked at: it takes longer than it tells."""


class PassingGradients:
    """The gradients that wait for others, and which of them are there at a moment."""

    def __init__(
        self, operations: Sequence[Operation], layers: Sequence[str], backward: Sequence[bool]
    ) -> None:
        """`layers` are those of the operations, and `backward` says which go back."""
        roots = roots_of(operations)
        takers: dict[int, set[int]] = {}
        for place, each in enumerate(operations):
            for tensor in each.takes:
                takers.setdefault(roots[tensor][0], set()).add(place)
        sizes = {tensor: size.per_sample for each in operations for tensor, size in each.makes}
        least = max(sizes.values(), default=0) / _SMALL
        self._made: dict[int, dict[Passing, int]] = {}
        self._added: dict[int, list[Passing]] = {}
        for place, each in enumerate(operations):
            summed = {roots[x] for x in each.takes} if len(each.takes) > 1 else set()
            ends = {layers[at] for tensor, _ in each.makes for at in takers.get(tensor, ())}
            if layers[place] or len(ends) != 1 or "" in ends:
                continue
            for tensor, made in sorted(summed):
                known = backward[made] and layers[made] and takers[tensor] == {place}
                if known and sizes[tensor] > least:
                    passing = (layers[made], max(ends))
                    self._made.setdefault(made, {})[passing] = sizes[tensor]
                    self._added.setdefault(place, []).append(passing)

    @property
    def sizes(self) -> dict[Passing, int]:
        """The bytes a sample of each."""
        return {passing: size for some in self._made.values() for passing, size in some.items()}

    def end(self, place: int, there: dict[Passing, int]) -> None:
        """Count with those that are there, with their bytes, when an operation ends."""
        there |= self._made.get(place, {})
        for each in self._added.get(place, ()):
            there.pop(each, None)
