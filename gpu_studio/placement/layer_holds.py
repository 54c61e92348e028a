"""What a card holds while each layer of a step is computed.

Which of the operations that become ready together comes first is chance. Several orders are looked
at, and the fullest moment counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from gpu_studio.placement.apart import Apart, Lying, Moments, apart_from
from gpu_studio.placement.bystanders import Bystanders
from gpu_studio.placement.liveness import (
    NOTHING,
    Operation,
    Size,
    StepGraph,
    Turn,
    Wiring,
    in_one_queue,
    roots_of,
)

ORDERS = 8
"""How many orders are drawn, besides that of the operations' numbers."""


class Kernel(NamedTuple):
    """What is held beside a kernel, in bytes per sample, and its scratch memory, in bytes.

    It needs that for the `least` samples and for more. So much more is held beside it if what comes
    back to its layer has `outlived` its use, and less where layers are `apart`.
    """

    beside: int
    scratch: int
    least: int = 0
    outlived: int = 0
    apart: tuple[Apart, ...] = ()


LetGo = Mapping[str, Sequence[tuple[int, Collection[int]]]]
"""By layer the bytes a sample of each input that it needs last, and the operations that take it."""


@dataclass(frozen=True, slots=True)
class MetOutputs:
    """Outputs of `others` that operations between layers take in where the first one's output is.

    What these make is so many `bytes` per sample; `kept` says if the backward pass needs the rest.
    """

    others: tuple[str, ...] = ()
    kept: bool = False
    bytes: int = 0


NOTHING_MET = MetOutputs()


@dataclass(slots=True)
class LayerHolds:
    """What is held on a card while a layer is computed, besides the batch, in bytes per sample.

    `passing` besides all that is kept; `around` besides what the layers before it keep, and
    `beside` the same by the scratch memory of the kernel that runs, of bytes that do not grow with
    the batch; `moments` are by that memory those that count where other layers are elsewhere.
    """

    passing: int = 0
    around: int = 0
    beside: dict[Size, int] = field(default_factory=dict)
    moments: dict[Size, Moments] = field(default_factory=dict)

    def note(
        self,
        passing: int,
        around: int,
        scratch: Size,
        alone: int | None = None,
        others: Mapping[Lying, int] = MappingProxyType({}),
    ) -> None:
        """Count a moment, in which less is held where the layer is `alone`, and more by others."""
        self.passing = max(self.passing, passing)
        self.around = max(self.around, around)
        needs = Size(scratch.fixed, least=scratch.least) if scratch.fixed else NOTHING
        for each in {NOTHING, needs}:
            some = self.moments.setdefault(each, Moments())
            some.note(around if alone is None else alone, others)
        if needs != NOTHING:
            self.beside[needs] = max(self.beside.get(needs, 0), around)

    def kernels(self, late: LayerHolds) -> tuple[Kernel, ...]:
        """The kernels that need scratch memory, without those beside which another needs more.

        `late` is the same where what comes back outlives its use.
        """
        every = {
            Kernel(beside, size.fixed, size.least, max(0, late.beside.get(size, 0) - beside)): size
            for size, beside in self.beside.items()
        }
        found: dict[Kernel, list[Size]] = {}
        for one in sorted(every, key=lambda each: (-each.scratch, each.least, -each.beside)):
            fuller = next((each for each in found if not _may_be_fuller(one, each)), one)
            found.setdefault(fuller, []).append(every[one])
        return tuple(
            kernel._replace(apart=self._apart(kernel, sizes, late))
            for kernel, sizes in found.items()
        )

    def _apart(self, kernel: Kernel, sizes: Sequence[Size], late: LayerHolds) -> tuple[Apart, ...]:
        """How much less is held beside a kernel, or those with these sizes that need less."""
        most = ((kernel.beside, self), (kernel.beside + kernel.outlived, late))
        return apart_from(
            [
                (total, holds.moments[size])
                for total, holds in most
                for size in sizes
                if size in holds.moments
            ]
        )

    def apart(self, *late: LayerHolds) -> tuple[Apart, ...]:
        """How much less is held where other layers are elsewhere.

        Of those that are `late` what comes back outlives its use, of each by more.
        """
        totals = accumulate((self.around, *(each.around for each in late)), max)
        every = (self, *late)
        return apart_from(
            [
                (total, each.moments[NOTHING])
                for total, each in zip(totals, every, strict=True)
                if NOTHING in each.moments
            ]
        )

    def grown(self, other: LayerHolds) -> int:
        """How much more is held at most in `other`, of the same operations."""
        return max(0, other.around - self.around)

    def spared(self, other: LayerHolds) -> int:
        """How much less is held at every moment in `other`, of the same operations."""
        less = (held - other.beside.get(scratch, held) for scratch, held in self.beside.items())
        return max(0, min((self.around - other.around, *less)))


def _may_be_fuller(one: Kernel, other: Kernel) -> bool:
    """Whether more may be held beside a kernel than beside another, which needs more itself."""
    late, later = one.beside + one.outlived, other.beside + other.outlived
    return one.beside > other.beside or late > later or one.least < other.least


def held_around(
    step: StepGraph,
    operations: Sequence[Operation],
    layers: Sequence[str],
    keeping: Mapping[str, int],
    gone: LetGo = MappingProxyType({}),
    *,
    orders: Iterable[Iterable[Turn]] | None = None,
    still: Callable[[str, int, Collection[int]], int] | None = None,
    bystanders: Bystanders | None = None,
) -> dict[str, LayerHolds]:
    """What is held while each layer's operations run; `layers` are those of the operations.

    What none made, such as the loss, runs where the layer before it does. `keeping` are the bytes a
    sample that each layer keeps, in order, of which those are `gone` that this layer needs last.
    They run in these `orders`, or as on a card. What a layer has received may lie there `still`, as
    an operation begins that is given with those that have ended. Those `bystanders` are told apart.
    """
    before = dict(zip(keeping, accumulate(keeping.values(), initial=0), strict=False))
    found: dict[str, LayerHolds] = {}
    for turns in on_a_card(operations) if orders is None else orders:
        order = list(turns)
        layer, ended, there = "", set[int](), bystanders and bystanders.at_first()
        places = (turn.place for turn in order if turn.begins)
        for place, (_, held, _, kept) in zip(places, step.history(order).held, strict=True):
            layer = layers[place] or layer
            held -= step.given_per_sample
            held += still(layer, place, ended) if still else 0
            free = sum(size for size, takers in gone.get(layer, ()) if ended.issuperset(takers))
            beside, most = there and there.beside(layer), before.get(layer, 0)
            found.setdefault(layer, LayerHolds()).note(
                held - kept,
                held - min(kept + free, most),
                operations[place].scratch,
                *(beside.alone(held - free, most) if beside else ()),
            )
            ended.add(place)
            if there:
                there.end(place)
    return found


def let_go(
    operations: Sequence[Operation],
    layers: Sequence[str],
    backward: Sequence[bool],
    kept: Collection[int],
) -> LetGo:
    """What of that which is kept for a layer by those before it is free before its way back ends.

    That are the inputs which no other layer's gradient needs, and in whose memory none is made.
    """
    roots = roots_of(operations)
    takers: dict[int, list[int]] = {}
    for place, each in enumerate(operations):
        for tensor in each.takes:
            takers.setdefault(roots[tensor][0], []).append(place)
    found: dict[str, list[tuple[int, frozenset[int]]]] = {}
    for tensor in sorted(takers.keys() & set(kept)):
        made = roots[tensor][1]
        late = [place for place in takers[tensor] if backward[place]]
        written = any(operations[place].overwrites for place in late)
        layer, *others = {layers[place] for place in late} or {""}
        if layer and layer != layers[made] and not others and not written:
            size = dict(operations[made].makes)[tensor].per_sample
            found.setdefault(layer, []).append((size, frozenset(takers[tensor])))
    return found


def becoming(operations: Sequence[Operation], kept: Collection[int]) -> frozenset[int]:
    """The tensors over which those that are `kept` are written: that memory is kept already.

    Nobody takes them afterwards: whoever else does has ended before what is kept is made.
    """
    roots = roots_of(operations)
    sizes = {tensor: size for each in operations for tensor, size in each.makes}
    takers: dict[int, set[int]] = {}
    for place, each in enumerate(operations):
        for tensor in each.takes:
            takers.setdefault(roots[tensor][0], set()).add(place)
    needs = _needs(operations)
    whole = {*kept}
    for place, each in reversed([*enumerate(operations)]):
        for tensor in (x for x, _ in each.makes if each.overwrites and x in whole):
            under = {roots[x][0] for x in each.takes if sizes[roots[x][0]] == sizes[tensor]}
            free = (x for x in sorted(under) if _all_before(needs, place, takers[x] - {place}))
            whole.update([*free][:1])
    return frozenset(whole.difference(kept))


def _all_before(needs: Sequence[Collection[int]], last: int, others: Collection[int]) -> bool:
    """Whether all the others have ended before the last operation, which needs what they make."""
    waiting, found, first = [last], {last}, min(others, default=last)
    while waiting and not found.issuperset(others):
        fresh = {place for place in needs[waiting.pop()] if place >= first} - found
        found |= fresh
        waiting += fresh
    return found.issuperset(others)


def _needs(operations: Sequence[Operation]) -> list[set[int]]:
    """The operations that must end before each begins."""
    makers = {tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes}
    return [{*(makers[x] for x in each.takes), *each.after} for each in operations]


def on_a_card(operations: Sequence[Operation]) -> Iterator[Iterator[Turn]]:
    """Orders in which a card takes operations: that of their numbers, and some that are drawn."""
    chance, wiring = Random(0), Wiring(operations)  # noqa: S311 (the same orders in every process)
    yield in_one_queue(wiring)
    for _ in range(ORDERS):
        yield in_one_queue(wiring, chance)


def spared_by_copies(
    alone: Mapping[str, LayerHolds],
    held: Callable[[Sequence[Operation]], Mapping[str, LayerHolds]],
    operations: Sequence[Operation],
    layers: Sequence[str],
    backward: Sequence[bool],
    order: Sequence[str],
) -> dict[str, int]:
    """How much less is held around each layer where the one before it is on another card.

    What it takes of that one is a copy then, and what goes back through it is not here. It is so
    much less than `alone`. `held` says what is held while operations run, and `order` is that of
    the layers.
    """
    found: dict[str, int] = {}
    for first in (0, 1):  # no layer is in two pairs at once: what it makes is no copy where it is
        pairs = [*pairwise(order)][first::2]
        copied = with_copies(operations, layers, backward, pairs)
        apart = one_after_the_other(copied, layers, backward, pairs)
        if apart != [*operations]:
            there = held(apart)
            taking = [each for _, each in pairs if each in alone and each in there]
            found |= {each: alone[each].spared(there[each]) for each in taking}
    return {each: size for each, size in found.items() if size}


def one_after_the_other(
    operations: Sequence[Operation],
    layers: Sequence[str],
    backward: Sequence[bool],
    taking: Collection[tuple[str, str]],
) -> list[Operation]:
    """The operations as where nothing goes back through a layer before all of a later one has.

    `taking` are pairs of both, the earlier one first. What that computes from a gradient, while
    those of the later one's weights are still to come, is on another card. Nothing waits for a
    layer that needs what goes back through the earlier one, as if that is called again behind it.
    """
    backs: dict[str, list[int]] = {}
    for place, layer in enumerate(layers):
        if backward[place]:
            backs.setdefault(layer, []).append(place)
    needs = _needs(operations)
    behind = _gone_through(needs, layers, backward)
    found = list(operations)
    for earlier, later in taking:
        ends = {*backs.get(later, ())}
        again = any(earlier in behind[place] for place in ends)
        ends -= {before for place in ends for before in needs[place]}
        for place in backs.get(earlier, ()) if ends and not again else ():
            if needs[place].isdisjoint(backs[earlier]):
                found[place] = replace(found[place], after=(*found[place].after, *sorted(ends)))
    possible = sum(turn.begins for turn in in_one_queue(found)) == len(found)
    return found if possible else list(operations)


def _gone_through(
    needs: Sequence[Collection[int]], layers: Sequence[str], backward: Sequence[bool]
) -> list[frozenset[str]]:
    """The layers that what each operation needs has gone back through."""
    found: list[frozenset[str]] = []
    for some in needs:
        own = {layers[place] for place in some if backward[place]}
        found.append(frozenset(own).union(*(found[place] for place in some if place < len(found))))
    return found


def before_others(
    operations: Sequence[Operation], layers: Sequence[str], early: Collection[int]
) -> list[Operation]:
    """The operations as where others take what a layer makes when its `early` ones are through.

    Those make on the way forward what its gradient needs in place of what the layer takes: only one
    of both is there when a layer behind it is computed, and it is the one that is kept.
    """
    needs, found = _needs(operations), list(operations)
    taking: dict[str, list[tuple[int, int]]] = {}
    for place, some in enumerate(needs):
        for before in some:
            taking.setdefault(layers[before], []).append((place, before))
    for layer in dict.fromkeys(layers[place] for place in sorted(early)):
        own = {place for place in early if layers[place] == layer}
        ends = own.difference(*(needs[place] for place in own))
        first = {*own}
        for place in range(max(own), -1, -1):
            first |= needs[place] if place in first else set()
        takers = {place for place, before in taking.get(layer, ()) if before not in own}
        for place in takers - first:
            if layers[place] != layer:
                found[place] = replace(found[place], after=(*found[place].after, *sorted(ends)))
    return found


def with_copies(
    operations: Sequence[Operation],
    layers: Sequence[str],
    backward: Sequence[bool],
    taking: Collection[tuple[str, str]],
) -> list[Operation]:
    """The operations as where a layer has a copy of what it takes from another one.

    `taking` are pairs of both, the one that makes it first. The backward pass of that one reads its
    own then, so that a gradient may be written over the copy if no other layer takes that.
    """
    roots = roots_of(operations)
    takers: dict[int, set[str]] = {}
    over: set[tuple[int, str]] = set()
    for place, each in enumerate(operations):
        for tensor in each.takes:
            takers.setdefault(roots[tensor][0], set()).add(layers[place])
        writes = each.overwrites and backward[place]
        over.update((roots[x][0], layers[place]) for x in each.takes if writes)

    def is_elsewhere(tensor: int, place: int) -> bool:
        found, made = roots[tensor]
        maker, *others = layers[made], *(takers[found] - {layers[made]})
        reads = maker == layers[place] and backward[place] and not backward[made]
        return reads and (maker, *others) in taking and (found, others[0]) in over

    return [
        each
        if each.shares
        else replace(each, takes=tuple(x for x in each.takes if not is_elsewhere(x, place)))
        for place, each in enumerate(operations)
    ]
