"""What comes back to a layer where that comes from another card.

The thread that receives it has it until that is through (`SameWorkerRecvDone`): nothing is written
over it. Each operation that takes it begins in a thread of its own, so that one may fall behind
the others until these leave the layer (both seen in traces).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from gpu_studio.placement.layer_holds import ORDERS
from gpu_studio.placement.liveness import (
    Operation,
    Size,
    Turn,
    WaitingOperations,
    Wiring,
    in_one_queue,
    roots_of,
)


@dataclass(frozen=True, slots=True)
class _Gradient:
    """A gradient that comes back to a layer: its memory, and the operations that take it."""

    tensor: int
    size: Size
    takers: frozenset[int]


class ReceivedGradients:
    """The gradients that come back to each layer, as where all layers behind are elsewhere."""

    def __init__(
        self, operations: Sequence[Operation], layers: Sequence[str], backward: Sequence[bool]
    ) -> None:
        """`layers` are those of the operations, and `backward` says which go back."""
        self._operations, self._layers, self._backward = operations, layers, backward
        self._roots = roots_of(operations)
        self._takers: dict[int, set[int]] = {}
        for place, each in enumerate(operations):
            for tensor in each.takes:
                self._takers.setdefault(self._roots[tensor][0], set()).add(place)
        makers = {
            tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes
        }
        self._needs = [{*each.after, *(makers[x] for x in each.takes)} for each in operations]
        self._ends: dict[str, set[int]] = {}
        for place, layer in enumerate(layers):
            if backward[place] and layer:
                self._ends.setdefault(layer, set()).add(place)
        self._coming = {layer: self._back_to(layer, some) for layer, some in self._ends.items()}
        self._receiving = {
            layer: {x for each in some for x in each.takers & self._ends[layer]}
            for layer, some in self._coming.items()
        }

    def orders(self) -> Iterator[Iterator[Turn]]:
        """Orders of the operations as on a card, also one layer after the other."""
        chance, wiring = Random(0), Wiring(self._operations)  # noqa: S311 (the same orders always)
        yield in_one_queue(wiring)
        for turn in range(ORDERS // 2):
            yield in_one_queue(wiring, chance)
            yield self._one_by_one(wiring, turn, chance)

    def orders_behind(self) -> Iterator[Iterator[Turn]]:
        """Those in which threads have fallen behind."""
        chance, wiring = Random(0), Wiring(self._operations)  # noqa: S311 (the same orders always)
        for turn in range(ORDERS // 2):
            yield self._falling_behind(wiring, self._all_but_one(turn), chance)

    def still(self, layer: str, place: int, ended: Collection[int]) -> int:
        """The bytes a sample that are there besides, of what a layer has received, at a moment.

        An operation begins then, and those have ended. Where nothing is received, gradients are
        gone by then or something is written over them.
        """
        coming = self._coming.get(layer, ())
        if not coming or self._ends[layer].issubset(ended):
            return 0
        there = [each for each in coming if self._is_through(each, place, ended)]
        return sum(each.size.per_sample for each in there)

    def still_behind(self, layer: str, place: int, ended: Collection[int]) -> int:
        """The same where threads that have fallen behind begin then, and make more."""
        waiting = (x for x in self._receiving.get(layer, ()) if x != place and x not in ended)
        begun = (x for x in waiting if self._needs[x].issubset(ended))
        return self.still(layer, place, ended) + sum(map(self._made, begun))

    def _made(self, place: int) -> int:
        """The bytes a sample of memory of its own that an operation makes."""
        each = self._operations[place]
        some = () if each.shares or each.overwrites else each.makes
        return sum(size.per_sample for _, size in some)

    def _back_to(self, layer: str, ends: Collection[int]) -> list[_Gradient]:
        taken = {self._roots[x] for place in ends for x in self._operations[place].takes}
        return [
            _Gradient(
                tensor, dict(self._operations[made].makes)[tensor], frozenset(self._takers[tensor])
            )
            for tensor, made in sorted(taken)
            if self._layers[made] != layer and self._goes_back(made)
        ]

    def _goes_back(self, place: int) -> bool:
        """Whether an operation makes a gradient: what several layers give back is added in none."""
        summed = () if self._layers[place] else self._operations[place].takes
        return self._backward[place] or any(self._backward[self._roots[x][1]] for x in summed)

    def _is_through(self, gradient: _Gradient, place: int, ended: Collection[int]) -> bool:
        """Whether all that take a gradient have ended, or the last begins and writes over it."""
        left = gradient.takers.difference(ended)
        if left != {place}:
            return not left
        last = self._operations[place]
        others = {self._roots[x][0] for x in last.takes} - {gradient.tensor}
        return (
            last.overwrites
            and gradient.size in dict(last.makes).values()
            and not any(self._is_as_good(each, gradient.size, place, ended) for each in others)
        )

    def _is_as_good(self, tensor: int, size: Size, place: int, ended: Collection[int]) -> bool:
        """Whether an operation may write over this tensor instead."""
        made = dict(self._operations[self._roots[tensor][1]].makes)
        return made[tensor] == size and self._takers[tensor].difference(ended) <= {place}

    def _all_but_one(self, turn: int) -> frozenset[int]:
        """Of the operations of each layer that take what comes back, all but one, each in turn."""
        found: set[int] = set()
        for layer, some in self._coming.items():
            for each in some:
                own = sorted(each.takers & self._ends[layer])
                first = turn % max(1, len(own))
                found.update(own[:first], own[first + 1 :])
        return frozenset(found)

    def _falling_behind(
        self, wiring: Wiring, late: Collection[int], chance: Random
    ) -> Iterator[Turn]:
        """One after the other; those that are `late` wait until others leave their layer."""
        waiting = WaitingOperations(wiring)
        layers, ready, behind = self._layers, deque(waiting.first), list[int]()
        while ready or behind:
            now = layers[ready[0]] if ready else None
            due = [each for each in behind if now is None or now not in ("", layers[each])]
            if due:
                behind.remove(due[0])
            place = due[0] if due else ready.popleft()
            yield wiring.begins[place]
            yield wiring.ends[place]
            next_ones = waiting.after(place)
            chance.shuffle(next_ones)
            for each in next_ones:
                (behind if each in late else ready).append(each)

    def _one_by_one(self, wiring: Wiring, turn: int, chance: Random) -> Iterator[Turn]:
        """One layer after the other, as where what comes back to each comes by itself.

        Those that may begin together do so in order, then in the opposite one, then in any.
        """
        waiting, ready = WaitingOperations(wiring), dict[str, deque[int]]()
        layer, next_ones = "", waiting.first
        while True:
            for each in next_ones:
                ready.setdefault(self._layers[each], deque()).append(each)
            if not ready:
                return
            layer = layer if layer in ready else "" if "" in ready else next(iter(ready))
            place = ready[layer].popleft()
            if not ready[layer]:
                del ready[layer]
            yield wiring.begins[place]
            yield wiring.ends[place]
            next_ones = sorted(waiting.after(place), reverse=turn == 1)
            if turn > 1:
                chance.shuffle(next_ones)
