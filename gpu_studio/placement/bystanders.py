"""Tensors of other layers that lie on a card while one is computed there, and with which layers.

In a step of the whole model all are on one card. Where layers are on several, a tensor is only
where the layers are that make it or are yet to take it: what layers side by side keep, or give back
for an output that all of them take, is not on each other's cards.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_studio.placement.apart import Lying
from gpu_studio.placement.liveness import Operation, Size, roots_of
from gpu_studio.placement.operation_homes import NOWHERE, Home, homes_of

_SMALL = 64
"""What is this part of the largest tensor and not kept is not looked at: it takes longer than it
tells."""


class Beside(NamedTuple):
    """What lies beside a layer and need not: so many bytes a sample with each of some layers.

    Where none of them is on its card so much `less` is there. Of what layers before it have `kept`
    so much is there, or has become something else, as far as it is known who keeps it.
    """

    sizes: Mapping[Lying, int]
    less: int = 0
    kept: int = 0

    def alone(self, held: int, keeping: int) -> tuple[int, Mapping[Lying, int]]:
        """What of so much is there where none of them is, besides what layers before it keep."""
        return held - self.less - min(self.kept, keeping), self.sizes


@dataclass(frozen=True, slots=True)
class _Tensor:
    """One that may be a bystander: its bytes a sample, how often it is taken, and where it lies.

    That is with the layers that make it, and with those that take it. It is kept by the layer in
    this place, or else None. It may be written over `another`, as the only one that takes that.
    """

    number: int
    size: int
    uses: int
    made_by: Home
    taken_by: Home
    keeper: int | None
    another: int | None


class _Taken(NamedTuple):
    """What a layer takes that others take too: it is free when these operations have ended.

    It is, if none of those is on the card that it lies with.
    """

    number: int
    size: int
    ends: frozenset[int]
    lying: Lying


class Bystanders:
    """The tensors of a step that may lie beside layers that have no part of them."""

    def __init__(
        self,
        operations: Sequence[Operation],
        layers: Sequence[str],
        backward: Sequence[bool],
        order: Sequence[str],
        kept: Collection[int],
        given: Collection[int],
    ) -> None:
        """`layers` are those of the operations, of which these go `backward`; `order` is theirs.

        What is `given` lies there in any case.
        """
        self.places = {layer: place for place, layer in enumerate(order)}
        self._operations, self._layers, self._backward = operations, layers, backward
        self._roots = roots_of(operations)
        self.takes = [{self._roots[x][0] for x in each.takes} for each in operations]
        self._takers: dict[int, list[int]] = {}
        for place, some in enumerate(self.takes):
            for tensor in some:
                self._takers.setdefault(tensor, []).append(place)
        self.makes: list[list[_Tensor]] = [[] for _ in operations]
        for each in self._large_ones(kept, given):
            self.makes[self._roots[each.number][1]].append(each)
        self.taken = self._taken_with_others()

    def _large_ones(self, kept: Collection[int], given: Collection[int]) -> Iterator[_Tensor]:
        """Those that count, of which it is known where they lie."""
        sizes = {tensor: size for each in self._operations for tensor, size in each.makes}
        least = max((each.per_sample for each in sizes.values()), default=0) / _SMALL
        lasting = {self._roots[x][0] for x in kept if x in self._roots}
        keepers, homes = self._keepers(), self._homes()
        for tensor, takers in self._takers.items():
            size, made = sizes[tensor].per_sample, self._roots[tensor][1]
            keeps, ends = tensor in lasting, [homes[place] for place in takers]
            large = size > (0 if keeps else least)
            if large and tensor not in given and all((homes[made], *ends)):
                yield _Tensor(
                    tensor,
                    size,
                    len(takers),
                    homes[made],
                    NOWHERE.union(*ends),
                    self.places.get(keepers[made]) if keeps else None,
                    _under(self._operations[made], tensor, self._roots, sizes),
                )

    def _homes(self) -> list[Home]:
        """Where each operation runs; it is not known with layers that are in no order."""
        found = homes_of(self._operations, self._layers, self._backward)
        return [home if home <= self.places.keys() else NOWHERE for home in found]

    def _keepers(self) -> list[str]:
        """The layer that keeps what each operation makes on its way forward; none on the way back.

        Of what is made between two layers it is the first of them.
        """
        found: list[str] = []
        back: list[bool] = []
        layer = ""
        for place, own in enumerate(self._layers):
            before = (self._roots[x][1] for x in self.takes[place])
            back.append(self._backward[place] or any(back[x] for x in before if x < place))
            layer = layer if back[place] else own or layer
            found.append("" if back[place] else layer)
        return found

    def _taken_with_others(self) -> dict[str, list[_Taken]]:
        """What is kept for each layer by one before it, and needed by others as well.

        On another card it is a copy, which is needed by the layers there only. Nothing is made in
        its memory.
        """
        found: dict[str, list[_Taken]] = {}
        for each in (x for some in self.makes for x in some):
            late: dict[str, list[int]] = {}
            for place in self._takers[each.number]:
                if self._backward[place]:
                    late.setdefault(self._layers[place], []).append(place)
            for layer in late if len(late) > 1 and each.keeper is not None else ():
                over = any(self._operations[place].overwrites for place in late[layer])
                if self.places.get(layer, -1) > (each.keeper or 0) and not over:
                    found.setdefault(layer, []).append(self._taken_by(layer, each))
        return found

    def _taken_by(self, layer: str, each: _Tensor) -> _Taken:
        lying = tuple(sorted((each.made_by | each.taken_by) - {layer}))
        ends = frozenset(x for x in self._takers[each.number] if self._layers[x] == layer)
        return _Taken(each.number, each.size, ends, lying)

    def at_first(self) -> TensorsThere:
        """Nobody yet, as a step begins."""
        return TensorsThere(self)


def _under(
    operation: Operation,
    tensor: int,
    roots: Mapping[int, tuple[int, int]],
    sizes: Mapping[int, Size],
) -> int | None:
    """What an operation may write a tensor over: the first that it takes of the same size."""
    takes = [roots[x][0] for x in operation.takes] if operation.overwrites else []
    alike = (x for x in takes if sizes[x] == sizes[tensor] and takes.count(x) == 1)
    return next(alike, None)


@dataclass(slots=True)
class TensorsThere:
    """Those that are there, as operations end one after the other."""

    known: Bystanders
    _uses: dict[int, int] = field(default_factory=dict)
    _brief: dict[int, _Tensor] = field(default_factory=dict)
    _kept: dict[int, dict[int, _Tensor]] = field(default_factory=dict)
    _keepers: list[int] = field(default_factory=list)
    """The layers in order that keep some."""
    _whole: int = 0
    """The bytes a sample of all that is kept."""
    _keeper: dict[int, int] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _over: dict[int, int] = field(default_factory=dict)
    """Of what is written over something that is kept the layer that keeps it."""

    def beside(self, layer: str) -> Beside:
        """Those beside a layer: of what is kept only what layers behind it keep."""
        known = self.known
        here = known.places.get(layer, len(known.places))
        behind = self._keepers[bisect_right(self._keepers, here) :]
        kept = self._whole - sum(
            x.size for at in (here, *behind) for x in self._kept.get(at, {}).values()
        )
        found: dict[Lying, int] = {}
        less = 0
        for each in (*self._brief.values(), *(x for at in behind for x in self._kept[at].values())):
            if layer not in each.made_by and layer not in each.taken_by:
                lying = self._lying(each, here)
                found[lying] = found.get(lying, 0) + each.size
                less += each.size
            elif self._over.get(each.number, here) < here:
                kept += each.size
        for one in known.taken.get(layer, ()):
            if one.ends <= self._ended:
                found[one.lying] = found.get(one.lying, 0) + one.size
                less += one.size
        return Beside(found, less, kept)

    def _lying(self, each: _Tensor, here: int) -> Lying:
        """The layers that a tensor lies with, beside the layer in this place.

        What is kept comes for layers behind it as what these receive.
        """
        places = self.known.places
        some = (x for x in each.taken_by if each.keeper is None or places.get(x, here) < here)
        return tuple(sorted(each.made_by.union(some)))

    def end(self, place: int) -> None:
        """Let what an operation has taken last be gone, and what it has made be there."""
        self._ended.add(place)
        for each in self.known.makes[place]:
            if each.another is not None and self._uses.get(each.another) == 1:
                self._become(each.number, each.another)
        for tensor in self.known.takes[place] & self._uses.keys():
            self._uses[tensor] -= 1
            if not self._uses[tensor]:
                self._leave(tensor)
        for each in self.known.makes[place]:
            self._uses[each.number] = each.uses
            if each.keeper is None:
                self._brief[each.number] = each
                continue
            if each.keeper not in self._kept:
                insort(self._keepers, each.keeper)
            self._whole += each.size
            self._kept.setdefault(each.keeper, {})[each.number] = each
            self._keeper[each.number] = each.keeper

    def _become(self, tensor: int, another: int) -> None:
        """Note what is written over something that is kept: the memory is that which is kept."""
        keeper = self._keeper.get(another, self._over.get(another))
        if keeper is not None:
            self._over[tensor] = keeper

    def _leave(self, tensor: int) -> None:
        del self._uses[tensor]
        self._over.pop(tensor, None)
        self._brief.pop(tensor, None)
        keeper = self._keeper.pop(tensor, None)
        if keeper is not None:
            self._whole -= self._kept[keeper].pop(tensor).size
            if not self._kept[keeper]:
                del self._kept[keeper]
                self._keepers.remove(keeper)
