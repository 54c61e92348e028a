"""How much of a device's memory TensorFlow's allocator gives out for what is asked of it (`bfc_allocator.cc`).

It gives the smallest free block that is large enough, and cuts it only if that leaves at least as much again: up to
half of a block can lie idle in a tensor's hands. What is freed is joined with the free blocks beside it. A card's
memory is one region; on a CPU regions are added as they are needed, each twice as large as the one before.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass

from gpu_studio.placement.liveness import Change

UNIT = 256
"""Bytes that every block is a multiple of."""
LARGEST_REST = 128 * 2**20
"""A rest of so many bytes is cut off in any case."""
FIRST_REGION = 2**20


@dataclass(slots=True)
class _Block:
    place: int
    bytes: int
    free: bool = True
    before: _Block | None = None
    behind: _Block | None = None


class Arena:
    """The memory of one device. Blocks that are given out are known by numbers of the taker's choosing."""

    def __init__(self, *, grows: bool) -> None:
        """One that `grows` begins with nothing; else there is more than anybody will ask for."""
        self.used = 0
        """Bytes given out."""
        self._taken: dict[int, _Block] = {}
        self._free: list[tuple[int, int]] = []
        self._blocks: dict[int, _Block] = {}
        self._end = 0
        self._region = FIRST_REGION
        if not grows:
            self._add_region(2**50)

    def take(self, number: int, size: int) -> None:
        """Give out at least `size` bytes as block `number`."""
        needed = max(UNIT, -(-size // UNIT) * UNIT)
        place = bisect_left(self._free, (needed, -1))
        if place == len(self._free):
            self._grow(needed)
            place = bisect_left(self._free, (needed, -1))
        block = self._blocks[self._free.pop(place)[1]]
        block.free = False
        rest = block.bytes - needed
        if rest >= needed or rest >= LARGEST_REST:
            self._cut(block, needed)
        self._taken[number] = block
        self.used += block.bytes

    def give_back(self, number: int) -> None:
        """Free the block."""
        block = self._taken.pop(number)
        self.used -= block.bytes
        if block.behind is not None and block.behind.free:
            self._forget(block.behind)
            _join(block, block.behind)
        if block.before is not None and block.before.free:
            self._forget(block.before)
            block = _join(block.before, block)
        self._offer(block)

    def peak(self, changes: Iterable[Change], batch: int) -> int:
        """The most that a step of `batch` samples is given besides what was given out; then all of it is free."""
        before, most = self.used, 0
        taken = set()
        for change in changes:
            if change.taken:
                self.take(change.block, change.size.fixed + change.size.per_sample * batch)
                taken.add(change.block)
                most = max(most, self.used - before)
            else:
                self.give_back(change.block)
                taken.remove(change.block)
        for left in taken:
            self.give_back(left)
        return most

    def _grow(self, needed: int) -> None:
        while self._region < needed:
            self._region *= 2
        self._add_region(self._region)
        self._region *= 2

    def _add_region(self, size: int) -> None:
        self._offer(_Block(self._end, size))
        self._end += size

    def _cut(self, block: _Block, size: int) -> None:
        rest = _Block(block.place + size, block.bytes - size, before=block, behind=block.behind)
        if block.behind is not None:
            block.behind.before = rest
        block.behind, block.bytes = rest, size
        self._offer(rest)

    def _offer(self, block: _Block) -> None:
        block.free = True
        self._blocks[block.place] = block
        insort(self._free, (block.bytes, block.place))

    def _forget(self, block: _Block) -> None:
        del self._free[bisect_left(self._free, (block.bytes, block.place))]


def _join(block: _Block, behind: _Block) -> _Block:
    """The two blocks as one."""
    block.bytes += behind.bytes
    block.behind = behind.behind
    if behind.behind is not None:
        behind.behind.before = block
    return block
