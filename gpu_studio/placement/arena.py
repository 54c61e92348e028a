"""How much of a device's memory TensorFlow's allocator gives out for what is asked of it (`bfc_allocator.cc`).

It gives the smallest free block that is large enough, and cuts it only if that leaves at least as much again: up to
half of a block can lie idle in a tensor's hands. What is freed is joined with the free blocks beside it. A card's
memory is one region; on a CPU regions are added as they are needed, each twice as large as the one before, or as much
larger as what is asked needs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_studio.placement.liveness import History, block_of

UNIT = 256
"""Bytes that every block is a multiple of."""
LARGEST_REST = 128 * 2**20
"""A rest of so many bytes is cut off in any case."""
FIRST_REGION = 2 * 2**20


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
        self._taken: dict[int, list[_Block]] = {}
        self._free: list[tuple[int, int]] = []
        self._blocks: dict[int, _Block] = {}
        self._end = 0
        self._region = FIRST_REGION
        if not grows:
            self._add_region(2**50)

    def take(self, number: int, size: int, pieces: int = 1) -> None:
        """Give out at least `size` bytes as block `number`, in so many pieces."""
        self._taken[number] = [self._take(-(-size // pieces)) for _ in range(pieces)]

    def give_back(self, number: int) -> None:
        """Free the block."""
        for block in self._taken.pop(number):
            self._free_block(block)

    def _take(self, size: int) -> _Block:
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
        self.used += block.bytes
        return block

    def _free_block(self, block: _Block) -> None:
        self.used -= block.bytes
        if block.behind is not None and block.behind.free:
            self._forget(block.behind)
            _join(block, block.behind)
        if block.before is not None and block.before.free:
            self._forget(block.before)
            block = _join(block.before, block)
        self._offer(block)

    def peak(self, step: History, batch: int) -> int:
        """The most that a step of `batch` samples is given besides what was given out.

        Then all of it is free, but for what the variables have moved to: that is theirs now.
        """
        before, most = self.used, 0
        taken = set()
        for change in step.changes:
            if change.taken:
                self.take(change.block, change.size.bytes(batch), change.size.pieces)
                taken.add(change.block)
                most = max(most, self.used - before)
            else:
                self.give_back(change.block)
                taken.discard(change.block)
        self._move(step.moved)
        for left in taken.difference(step.moved.values()):
            self.give_back(left)
        return most

    def _move(self, moved: Mapping[int, int]) -> None:
        for variable, block in moved.items():
            if block_of(variable) in self._taken:
                self.give_back(block_of(variable))
            self._taken[block_of(variable)] = self._taken.pop(block)

    def _grow(self, needed: int) -> None:
        if needed <= self._region:
            self._add_region(self._region)
            self._region *= 2
        else:
            while self._region < needed:
                self._region *= 2
            self._add_region(self._region)

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
