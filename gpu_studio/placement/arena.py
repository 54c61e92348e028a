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
from typing import NamedTuple

from gpu_studio.placement.liveness import History, block_of

UNIT = 256
"""Bytes that every block is a multiple of."""
LARGEST_REST = 128 * 2**20
"""A rest of so many bytes is cut off in any case."""
FIRST_REGION = 2 * 2**20
Layout = tuple[frozenset[tuple[int, tuple[int, ...]]], tuple[tuple[int, int], ...]]
"""The places of the blocks that are given out, by their numbers; size and place of each that is free."""


class Requests(NamedTuple):
    """What a step of some batch asks for: in `turns` the number of a block, the bytes of a piece, and how many pieces.

    None are asked for where the block is given back. `left` are the blocks that are still there when the step ends, and
    `moved` those that variables have moved to.
    """

    turns: list[tuple[int, int, int]]
    left: frozenset[int]
    moved: Mapping[int, int]


def requested(step: History, batch: int) -> Requests:
    """What a step of `batch` samples asks for."""
    turns = [
        (block, _rounded(size.bytes(batch), size.pieces), size.pieces) if taken else (block, 0, 0)
        for block, size, taken in step.changes
    ]
    taken = {change.block for change in step.changes if change.taken}
    given_back = {change.block for change in step.changes if not change.taken}
    return Requests(turns, frozenset(taken - given_back - set(step.moved.values())), step.moved)


def _rounded(size: int, pieces: int) -> int:
    """The bytes of a block for each of so many pieces of `size`."""
    return max(UNIT, -(-size // (pieces * UNIT)) * UNIT)


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
        self._free: list[tuple[int, int, _Block]] = []
        self._end = 0
        self._region = FIRST_REGION
        if not grows:
            self._add_region(2**50)

    @property
    def layout(self) -> Layout:
        """What lies where: in two arenas that are alike in this, the same steps are given the same memory."""
        taken = ((number, tuple(block.place for block in blocks)) for number, blocks in self._taken.items())
        return frozenset(taken), tuple((size, place) for size, place, _ in self._free)

    def take(self, number: int, size: int, pieces: int = 1) -> None:
        """Give out at least `size` bytes as block `number`, in so many pieces."""
        needed = _rounded(size, pieces)
        self._taken[number] = [self._take(needed) for _ in range(pieces)]

    def give_back(self, number: int) -> None:
        """Free the block."""
        for block in self._taken.pop(number):
            self._free_block(block)

    def _take(self, needed: int) -> _Block:
        place = bisect_left(self._free, (needed, -1))
        if place == len(self._free):
            self._grow(needed)
            place = bisect_left(self._free, (needed, -1))
        block = self._free.pop(place)[2]
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

    def peak(self, step: Requests) -> int:
        """The most that a step is given besides what was given out.

        Then all of it is free, but for what the variables have moved to: that is theirs now.
        """
        # The innermost loop of a rehearsal: a million turns for a large model.
        before = most = self.used
        taken, take, free = self._taken, self._take, self._free_block
        for number, needed, pieces in step.turns:
            if pieces:
                taken[number] = [take(needed)] if pieces == 1 else [take(needed) for _ in range(pieces)]
                if self.used > most:
                    most = self.used
            else:
                for block in taken.pop(number):
                    free(block)
        self._move(step.moved)
        for left in step.left:
            self.give_back(left)
        return most - before

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
        rest = _Block(block.place + size, block.bytes - size, True, block, block.behind)
        if block.behind is not None:
            block.behind.before = rest
        block.behind, block.bytes = rest, size
        self._offer(rest)

    def _offer(self, block: _Block) -> None:
        block.free = True
        insort(self._free, (block.bytes, block.place, block))

    def _forget(self, block: _Block) -> None:
        del self._free[bisect_left(self._free, (block.bytes, block.place))]


def _join(block: _Block, behind: _Block) -> _Block:
    """The two blocks as one."""
    block.bytes += behind.bytes
    block.behind = behind.behind
    if behind.behind is not None:
        behind.behind.before = block
    return block
