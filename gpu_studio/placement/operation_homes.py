"""The layers on whose cards the operations of a step run, also those that no layer has made.

Where several layers take an output, what they give back for it is added up on the card of the layer
that made it, in no layer's scope. Of a layer such as a sum nothing is computed on the way back: its
gradient goes on as it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from gpu_studio.placement.liveness import Operation, roots_of

Home = frozenset[str]
NOWHERE: Home = frozenset()
"""Of what it is not known where it runs."""


def homes_of(
    operations: Sequence[Operation], layers: Sequence[str], backward: Sequence[bool]
) -> list[Home]:
    """The layers with any of which each operation runs; `layers` has those that made them."""
    return _Homes(operations, layers, backward).found


class _Homes:
    """The homes of operations, each found after those of what it takes."""

    def __init__(
        self, operations: Sequence[Operation], layers: Sequence[str], backward: Sequence[bool]
    ) -> None:
        self._operations, self._layers = operations, layers
        roots = roots_of(operations)
        self._before = [[roots[x][1] for x in each.takes] for each in operations]
        self._takers: list[list[int]] = [[] for _ in operations]
        for place, some in enumerate(self._before):
            for before in some:
                self._takers[before].append(place)
        self._late = self._going_back(backward)
        self._heirs = self._taken_in()
        self._inputs = self._inputs_of_layers()
        self._order = {layer: place for place, layer in enumerate(self._inputs)}
        self._through = self._passing_on()
        self.found: list[Home] = []
        for place in range(len(operations)):
            self.found.append(self._home(place))

    def _going_back(self, backward: Sequence[bool]) -> list[bool]:
        found: list[bool] = []
        for place, back in enumerate(backward):
            found.append(back or any(found[x] for x in self._before[place] if x < place))
        return found

    def _taken_in(self) -> list[Home]:
        """The layer of each operation; of one that is in none those that take what it makes."""
        found = [NOWHERE] * len(self._layers)
        for place in reversed(range(len(found))):
            after = (found[at] for at in self._takers[place] if at > place)
            layer = self._layers[place]
            found[place] = frozenset({layer}) if layer else NOWHERE.union(*after)
        return found

    def _inputs_of_layers(self) -> dict[str, set[str]]:
        """The layers whose outputs each layer takes."""
        makers: list[Home] = []
        found: dict[str, set[str]] = {}
        for place, layer in enumerate(self._layers):
            some = NOWHERE.union(*(makers[x] for x in self._before[place] if x < place))
            makers.append(frozenset({layer}) if layer else some)
            if layer and not self._late[place]:
                found.setdefault(layer, set()).update(some - {layer})
        return found

    def _passing_on(self) -> Home:
        """The layers through which gradients go as they came."""
        every = zip(self._operations, self._layers, self._late, strict=True)
        computing = {
            layer
            for each, layer, late in every
            if late and any(x.per_sample for _, x in each.makes)
        }
        return frozenset(self._inputs) - computing

    def _home(self, place: int) -> Home:
        if layer := self._layers[place]:
            return frozenset({layer})
        before = [self.found[x] for x in self._before[place] if x < place]
        heirs = self._heirs[place]
        if not self._late[place] or len(before) < 2:
            return heirs.union(*before)
        if NOWHERE in before:
            return NOWHERE
        if len({*before, heirs}) == 1:
            return heirs
        return self._summed_for([self._given_for(each) for each in before], heirs)

    def _given_for(self, home: Home) -> Home:
        """The layers for whose outputs others may give back a gradient: those that they take."""
        found = set(chain.from_iterable(self._inputs.get(each, ()) for each in home))
        waiting = [each for each in found if each in self._through]
        while waiting:
            fresh = self._inputs[waiting.pop()] - found
            found |= fresh
            waiting += (each for each in fresh if each in self._through)
        return frozenset(found)

    def _summed_for(self, some: Sequence[Home], heirs: Home) -> Home:
        """The layer for whose output these gradients are, which goes on to the `heirs`."""
        found = some[0].intersection(*some[1:]) & (self._through | heirs)
        return frozenset({max(found, key=self._order.__getitem__)}) if found else NOWHERE
