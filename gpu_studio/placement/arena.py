"""The memory of a device, as TensorFlow's allocator gives it out: `Arena`.

A step's requests of it follow from what the step holds: `requested`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpu_studio.common.figures import MIB
from gpu_studio.placement.liveness import MemoryHistory, Size, block_of
from gpu_studio.placement.step_memory import UNIT

LARGEST_REST = 128 * MIB // UNIT
"""A remainder of at least this many units is always split off."""
FIRST_REGION = 2 * MIB // UNIT
_SHIFT = 96
"""Free blocks are in the order of one number each: the size in units, and below it the place."""
GLANCE = -(2**60)
"""Stands for a block that is freed before another one is allocated, and so leaves no trace."""
Request = tuple[int | None, int | None, int]
"""The block that is freed, if any, then the one that is allocated, if any, and its size's index.

One in pieces has turns of its own, with that index inverted, and how many they are comes first.
"""
_VARIABLE = 10**9
"""In place of an index: of a block that a variable was in."""
Layout = tuple[tuple[int, ...], Mapping[int, int]]
"""The free blocks by size and position, and the allocated ones by number."""


class AllocationRequests(NamedTuple):
    """The memory requests of a step: its `turns`, with the `sizes` that they mean.

    Whatever it allocates it frees in the end, except the blocks that variables have `moved` to.
    """

    turns: list[Request]
    sizes: list[Size]
    moved: Mapping[int, int]

    def units(self, batch: int) -> list[int]:
        """The units of a piece of each size in a step of `batch` samples."""
        return [_units(size.bytes(batch), size.pieces) for size in self.sizes]


def requested(step: MemoryHistory) -> AllocationRequests:
    """The memory requests of a step, in as few turns as come to the same.

    In what order blocks are freed, one after the other, makes no difference.
    """
    turns: list[Request] = []
    sizes: dict[Size, int] = {}
    held = {block_of(variable): _VARIABLE for variable in step.moved}
    freed: dict[int, int] = {}
    for number, size, taken in step.changes:
        if not taken:
            freed[number] = held.pop(number, _VARIABLE)
            continue
        index = sizes.setdefault(size, len(sizes))
        held[number] = kind = index if size.pieces == 1 else ~index
        _leave(turns, freed)
        back = _handed_on(freed, index) if kind >= 0 else size.pieces
        turns += _given_back(freed)
        turns.append((back, number, kind))
        freed.clear()
    for block in step.moved.values():
        del held[block]
    freed |= held
    _leave(turns, freed)
    return AllocationRequests(turns + _given_back(freed), list(sizes), step.moved)


def _given_back(freed: Mapping[int, int]) -> list[Request]:
    return [(number, None, min(0, kind)) for number, kind in freed.items()]


def _leave(turns: list[Request], freed: dict[int, int]) -> None:
    """Only glance at what is allocated last if it is freed now."""
    back, number, index = turns[-1] if turns else (None, None, 0)
    if number in freed and number is not None and index >= 0:
        del turns[-1]
        if back is not None:
            turns.append((back, None, 0))
        turns.append((None, GLANCE, ~index))
        del freed[number]


def _handed_on(freed: dict[int, int], index: int) -> int | None:
    """Which of the blocks is freed last: one of the size that is allocated next, else any."""
    whole = [each for each, kind in freed.items() if kind >= 0]
    back = next((each for each in whole if freed[each] == index), next(iter(whole), None))
    if back is not None:
        del freed[back]
    return back


def cut_to_size(steps: Iterable[MemoryHistory]) -> Callable[[int], int]:
    """The most bytes that an allocator gives out in any of the steps, by the samples of a batch.

    It is one that cuts each piece to the size that is asked, as those of cards are made to
    (`trainer.devices`), so that it is all the same where the pieces lie.
    """
    kinds: dict[Size, int] = {}
    changes = [
        np.array([(kinds.setdefault(each.size, len(kinds)), each.taken) for each in step.changes])
        for step in steps
        if step.changes
    ]

    def most(batch: int) -> int:
        given = np.array([given_for(each.bytes(batch), each.pieces) for each in kinds])
        held = (np.where(taken, 1, -1) * given[kinds] for kinds, taken in (x.T for x in changes))
        return max((int(each.cumsum().max()) for each in held), default=0)

    return most


def given_for(size: int, pieces: int = 1) -> int:
    """The bytes of pieces that are cut to a size that is asked."""
    return pieces * UNIT * _units(size, pieces)


def _units(size: int, pieces: int = 1) -> int:
    """The units of each of `pieces` blocks that together hold `size` bytes."""
    return max(1, -(-size // (pieces * UNIT)))


class _Block:
    """Memory of `size` units, `key` in the order of free blocks, and what lies next to it."""

    __slots__ = ("before", "behind", "free", "key", "size")
    before: _Block
    behind: _Block

    def __init__(self, size: int, key: int) -> None:
        self.size, self.key, self.free = size, key, False


class Arena:
    """The memory of a CPU, as TensorFlow's allocator gives it out (`bfc_allocator.cc`).

    It returns the smallest free block that is large enough, and splits it only if at least as much
    is left over: up to half of a block can be wasted. A freed block is merged with free neighbours.
    It starts empty. Regions are added when needed, each twice as large as the last, or larger if
    the request demands it. The caller numbers the blocks that it takes.
    """

    def __init__(self) -> None:
        self._used = self._end = self._most = 0
        self._region = FIRST_REGION
        self._taken: dict[int, _Block] = {}
        self._pieces: dict[int, list[_Block]] = {}
        self._keys: list[int] = []
        self._free: list[_Block] = []
        self._wall = _Block(0, 0)
        """Stands at both ends of each region, and is never free."""

    @property
    def used(self) -> int:
        """Bytes allocated."""
        return self._used * UNIT

    @property
    def end(self) -> int:
        """Bytes of all regions."""
        return self._end * UNIT

    @property
    def most(self) -> int:
        """The most bytes that were allocated at once so far."""
        return self._most * UNIT

    @property
    def layout(self) -> Layout:
        """The positions of all blocks. Arenas with equal layouts serve the same steps equally."""
        return tuple(self._keys), {number: block.key for number, block in self._taken.items()}

    def copy(self) -> Arena:
        """Another arena with the same layout."""
        twin = Arena()
        twins = {id(self._wall): twin._wall}
        every = (*self._taken.values(), *self._free)
        for each in every:
            twins[id(each)] = _Block(each.size, each.key)
        for each in every:
            other = twins[id(each)]
            other.free = each.free
            other.before, other.behind = twins[id(each.before)], twins[id(each.behind)]
        twin._used, twin._end, twin._most = self._used, self._end, self._most
        twin._region = self._region
        twin._keys, twin._free = list(self._keys), [twins[id(each)] for each in self._free]
        twin._taken = {number: twins[id(each)] for number, each in self._taken.items()}
        return twin

    def add_region(self) -> None:
        """Add the next region, as if there had not been memory enough."""
        self._grow(self._region)

    def drop_region(self) -> bool:
        """Have the last region never been added, if nothing of it is allocated; whether that is so.

        Not if the regions before are not all that there would be then.
        """
        last = self._region // 2
        whole = [each for each in self._free if each.size == last and self._is_region(each)]
        if not whole or self._end != 2 * last - FIRST_REGION:
            return False
        place = self._free.index(whole[-1])
        del self._free[place], self._keys[place]
        self._end -= last
        self._region = last
        return True

    def _is_region(self, block: _Block) -> bool:
        return block.before is self._wall is block.behind

    def take(self, number: int, size: int) -> None:
        """Allocate at least `size` bytes as block `number`."""
        self._serve([(None, number, 0)], [_units(size)])

    def give_back(self, number: int) -> None:
        """Free the block."""
        self._serve([(number, None, 0)], ())
        del self._taken[number]

    def replace(self, number: int, by: int) -> None:
        """Free block `number`, if it is allocated, and give its number to block `by`."""
        if number in self._taken:
            self.give_back(number)
        self._taken[number] = self._taken.pop(by)

    def peak(self, step: AllocationRequests, units: Sequence[int]) -> int:
        """The most bytes that a step allocates in addition to what was allocated before it.

        `units` are those of the sizes it asks for. Afterwards all of the step's memory is free,
        except the blocks that variables have moved to.
        """
        before, lasting = self._used, dict(self._taken)
        most = self._serve(step.turns, units)
        for variable, block in step.moved.items():
            lasting[block_of(variable)] = self._taken[block]
        self._taken = lasting
        return (most - before) * UNIT

    def _serve(self, turns: Iterable[Request], units: Sequence[int]) -> int:
        """Free and allocate in a million turns or so; the most units that are taken at once."""
        keys, free = self._keys, self._free
        taken: dict[Any, _Block] = self._taken
        used = most = self._used
        for back, number, index in turns:
            if index < 0:
                self._used = used
                most = max(most, self._serve_rarely((back, number), units[~index]))
                used = self._used
                continue
            block = None
            if back is not None:
                block = taken[back]
                used -= block.size
                if block.behind.free or block.before.free:
                    block = _merged(block, keys, free)
                if number is None:
                    _offer(block, keys, free)
                    continue
            needed = units[index]
            place = bisect_left(keys, needed << _SHIFT) if needed > 1 else 0
            if block and (block.size < needed or (place < len(keys) and block.key > keys[place])):
                place += block.size < needed
                _offer(block, keys, free)
                block = None
            if block is None:
                if place == len(keys):
                    place = self._grow(needed)
                size = free[place].size
                cut = size >= 2 * needed or size >= needed + LARGEST_REST
                block = _front(place, needed if cut else size, keys, free)
            else:
                _cut(block, needed, keys, free)
            taken[number] = block
            used += block.size
            if used > most:
                most = used
        self._used, self._most = used, max(self._most, most)
        return most

    def _serve_rarely(self, turn: tuple[int | None, int | None], needed: int) -> int:
        """Glance at a block, or allocate or free one in pieces; the units that are allocated then.

        Pieces that are cut from one block, one after the other, stay one: they are freed together.
        """
        count, number = turn
        if number is not None and count is not None:
            self._pieces[number] = [*self._cut_into(count, needed)]
        elif count is not None:
            for block in self._pieces.pop(count):
                self._used -= block.size
                _offer(_merged(block, self._keys, self._free), self._keys, self._free)
        else:
            size = self._free[self._found(needed)].size
            return self._used + (needed if _is_cut(size, needed) else size)
        return self._used

    def _cut_into(self, count: int, needed: int) -> Iterator[_Block]:
        """The blocks of so many pieces."""
        least = needed + min(needed, LARGEST_REST)
        while count:
            place = self._found(needed)
            size = self._free[place].size
            cut = min(count, (size - least) // needed + 1) if size >= least else 0
            block = _front(place, cut * needed or size, self._keys, self._free)
            count -= max(1, cut)
            self._used += block.size
            yield block

    def _found(self, needed: int) -> int:
        """Where in the list the block is that is allocated if so many units are needed."""
        place = bisect_left(self._keys, needed << _SHIFT)
        return place if place < len(self._keys) else self._grow(needed)

    def _grow(self, needed: int) -> int:
        """Add a region, and return where in the list a block of so many units is found now."""
        if needed <= self._region:
            self._add_region(self._region)
            self._region *= 2
        else:
            while self._region < needed:
                self._region *= 2
            self._add_region(self._region)
        return bisect_left(self._keys, needed << _SHIFT)

    def _add_region(self, size: int) -> None:
        region = _Block(size, size << _SHIFT | self._end)
        region.before = region.behind = self._wall
        self._end += size
        _offer(region, self._keys, self._free)


def _offer(block: _Block, keys: list[int], free: list[_Block]) -> None:
    """Have a block found by who needs one of its size."""
    place = bisect_left(keys, block.key)
    keys.insert(place, block.key)
    free.insert(place, block)
    block.free = True


def _merged(block: _Block, keys: list[int], free: list[_Block]) -> _Block:
    """Merge a block with its free neighbours; the merged one is in no list."""
    other = block.behind
    if other.free:
        place = bisect_left(keys, other.key)
        del keys[place], free[place]
        block.size += other.size
        block.key += other.size << _SHIFT
        block.behind = other.behind
        other.behind.before = block
    other = block.before
    if other.free:
        place = bisect_left(keys, other.key)
        del keys[place], free[place]
        other.size += block.size
        other.key += block.size << _SHIFT
        other.behind = block.behind
        block.behind.before = other
        other.free = False
        return other
    return block


def _front(place: int, units: int, keys: list[int], free: list[_Block]) -> _Block:
    """The first `units` of the free block at this place in the list, or all of it."""
    rest = free[place]
    key = rest.key
    left = rest.size - units
    if not left:
        del keys[place], free[place]
        rest.free = False
        return rest
    rest.size = left
    block = _Block(units, key - (left << _SHIFT))
    block.before, block.behind = rest.before, rest
    rest.before.behind = block
    rest.before = block
    rest.key = key = key - (units << _SHIFT) + units
    if place and key < keys[place - 1]:
        del keys[place], free[place]
        _offer(rest, keys, free)
    else:
        keys[place] = key
    return block


def _is_cut(size: int, needed: int) -> bool:
    """Whether a block of `size` is cut for what needs less."""
    return size >= 2 * needed or size >= needed + LARGEST_REST


def _cut(block: _Block, needed: int, keys: list[int], free: list[_Block]) -> None:
    """Cut a block that is in no list, if it is cut for so many units, and offer the rest."""
    left = block.size - needed
    if left < needed and left < LARGEST_REST:
        return
    rest = _Block(left, block.key - (needed << _SHIFT) + needed)
    block.size = needed
    block.key -= left << _SHIFT
    rest.before, rest.behind = block, block.behind
    block.behind.before = rest
    block.behind = rest
    _offer(rest, keys, free)
