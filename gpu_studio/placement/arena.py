"""The memory of a device, as TensorFlow's allocator gives it out: `Arena`.

A step's requests of it follow from what the step holds: `requested`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gpu_studio.common.figures import MIB
from gpu_studio.placement.liveness import MemoryHistory, block_of

UNIT = 256
"""The size of every block is a multiple of this many bytes."""
LARGEST_REST = 128 * MIB
"""A remainder of at least this many bytes is always split off."""
FIRST_REGION = 2 * MIB
Layout = tuple[frozenset[tuple[int, tuple[int, ...]]], tuple[tuple[int, int], ...]]
"""The positions of allocated blocks by number, and the size and position of each free block."""


class AllocationRequests(NamedTuple):
    """The memory requests of a step: `turns` of (block number, bytes per piece, number of pieces).

    Zero pieces free the block. `left` are the blocks that still exist when the step ends, and
    `moved` those that variables have moved to.
    """

    turns: list[tuple[int, int, int]]
    left: frozenset[int]
    moved: Mapping[int, int]


def requested(step: MemoryHistory, batch: int) -> AllocationRequests:
    """The memory requests of a step of `batch` samples."""
    turns = [
        (block, _rounded(size.bytes(batch), size.pieces), size.pieces) if taken else (block, 0, 0)
        for block, size, taken in step.changes
    ]
    taken = {change.block for change in step.changes if change.taken}
    given_back = {change.block for change in step.changes if not change.taken}
    return AllocationRequests(
        turns, frozenset(taken - given_back - set(step.moved.values())), step.moved
    )


def _rounded(size: int, pieces: int) -> int:
    """The bytes of each of `pieces` blocks that together hold `size`."""
    return max(UNIT, -(-size // (pieces * UNIT)) * UNIT)


@dataclass(slots=True)
class _Block:
    place: int
    bytes: int
    free: bool = True
    before: _Block | None = None
    behind: _Block | None = None


class Arena:
    """The memory of one device, as TensorFlow's allocator gives it out (`bfc_allocator.cc`).

    It returns the smallest free block that is large enough, and splits it only if at least as much
    is left over: up to half of a block can be wasted. A freed block is merged with free neighbours.
    A card's memory is one region; on a CPU regions are added when needed, each twice as large as
    the last, or larger if the request demands it. The caller numbers the blocks that it takes.
    """

    def __init__(self, *, grows: bool) -> None:
        """With `grows`, memory starts empty and regions are added.

        Otherwise it is practically unlimited.
        """
        self.used = 0
        """Bytes allocated."""
        self._taken: dict[int, list[_Block]] = {}
        self._free: list[tuple[int, int, _Block]] = []
        self.end = 0
        self._region = FIRST_REGION
        if not grows:
            self._add_region(2**50)

    @property
    def layout(self) -> Layout:
        """The positions of all blocks. Arenas with equal layouts serve the same steps equally."""
        taken = (
            (number, tuple(block.place for block in blocks))
            for number, blocks in self._taken.items()
        )
        return frozenset(taken), tuple((size, place) for size, place, _ in self._free)

    def take(self, number: int, size: int, pieces: int = 1) -> None:
        """Allocate at least `size` bytes as block `number`, in `pieces` pieces."""
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

    def peak(self, step: AllocationRequests) -> int:
        """The most that a step allocates in addition to what was allocated before it.

        Afterwards all of the step's memory is free, except the blocks that variables have moved to.
        """
        # The innermost loop of a rehearsal: a million iterations for a large model.
        before = most = self.used
        taken, take, free = self._taken, self._take, self._free_block
        for number, needed, pieces in step.turns:
            if pieces:
                taken[number] = (
                    [take(needed)] if pieces == 1 else [take(needed) for _ in range(pieces)]
                )
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
            self.replace(block_of(variable), block)

    def replace(self, number: int, by: int) -> None:
        """Free block `number`, if it is allocated, and give its number to block `by`."""
        if number in self._taken:
            self.give_back(number)
        self._taken[number] = self._taken.pop(by)

    def _grow(self, needed: int) -> None:
        if needed <= self._region:
            self._add_region(self._region)
            self._region *= 2
        else:
            while self._region < needed:
                self._region *= 2
            self._add_region(self._region)

    def _add_region(self, size: int) -> None:
        self._offer(_Block(self.end, size))
        self.end += size

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
    """Merge the two blocks."""
    block.bytes += behind.bytes
    block.behind = behind.behind
    if behind.behind is not None:
        behind.behind.before = block
    return block
