"""What a card holds while each layer of a traced step is computed, alone or beside other cards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from gpu_studio.placement.bystanders import Bystanders
from gpu_studio.placement.layer_holds import (
    LayerHolds,
    becoming,
    before_others,
    held_around,
    let_go,
    spared_by_copies,
)
from gpu_studio.placement.liveness import Operation, StepGraph, Turn
from gpu_studio.placement.received_gradients import ReceivedGradients
from gpu_studio.trainer.answers.step_operations import Graph


class LayersOnCard:
    """The operations of a step as a card runs them, of which it is asked what they hold.

    What none of the layers made, such as the loss, runs where the layer before it does. What a
    layer draws it draws when it has its input.
    """

    def __init__(
        self,
        graph: Graph,
        layers: Sequence[str],
        keeping: Mapping[str, int],
        backward: Sequence[bool],
        kept: frozenset[int],
    ) -> None:
        """`layers` are those of the operations, and `backward` says which go back.

        `kept` are the tensors that the backward pass needs, and `keeping` the bytes of them a
        sample of each layer, in order.
        """
        self._graph, self._layers, self._keeping, self._backward = graph, layers, keeping, backward
        self._operations = _drawn_in_turn(graph, layers)
        self._gone = let_go(self._operations, layers, backward, kept)
        self._lasting = _lasting(graph, self._operations, kept)
        self._step = self._of(self._operations)
        self._came = ReceivedGradients(self._operations, layers, backward)
        self._bystanders = Bystanders(
            self._operations, layers, backward, list(keeping), self._lasting, graph.given
        )

    def held(self) -> dict[str, LayerHolds]:
        """Return what is held while each layer's operations run."""
        return self._around(None, None)

    def outlived(self) -> dict[str, LayerHolds]:
        """Return the same where what comes back outlives its use, as from another card."""
        return self._around(self._came.orders(), self._came.still)

    def behind(self) -> dict[str, LayerHolds]:
        """Return the same where threads that take what comes back are behind."""
        return self._around(self._came.orders_behind(), self._came.still_behind)

    def spared(self, alone: Mapping[str, LayerHolds]) -> dict[str, int]:
        """Return how much less than `alone` that is of each layer where what it takes is a copy."""

        def held(run: Sequence[Operation]) -> dict[str, LayerHolds]:
            return held_around(self._of(run), run, self._layers, self._keeping, self._gone)

        return spared_by_copies(
            alone, held, self._operations, self._layers, self._backward, list(self._keeping)
        )

    def _around(
        self,
        orders: Iterable[Iterable[Turn]] | None,
        still: Callable[[str, int, Collection[int]], int] | None,
    ) -> dict[str, LayerHolds]:
        return held_around(
            self._step,
            self._operations,
            self._layers,
            self._keeping,
            self._gone,
            orders=orders,
            still=still,
            bystanders=self._bystanders,
        )

    def _of(self, operations: Sequence[Operation]) -> StepGraph:
        graph = self._graph
        return StepGraph(operations, results=graph.results, kept=self._lasting, given=graph.given)


def _lasting(graph: Graph, operations: Sequence[Operation], kept: frozenset[int]) -> frozenset[int]:
    """What is kept, and what that which gradients have made early is written over."""
    made = {tensor for place in graph.early_places for tensor, _ in operations[place].makes}
    return kept | becoming(operations, made & kept)


def _drawn_in_turn(graph: Graph, layers: Sequence[str]) -> list[Operation]:
    operations = graph.filters_first()
    made_by = {tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes}
    feeders: dict[str, int] = {}
    for each, layer in zip(operations, layers, strict=True):
        for before in (made_by[tensor] for tensor in each.takes):
            grows = any(size.per_sample for _, size in operations[before].makes)
            if layer and layers[before] != layer and grows:
                feeders.setdefault(layer, before)
    drawn = [
        replace(each, after=(*each.after, feeders[layer]))
        if layer in feeders and not each.takes and each.reads is None
        else each
        for each, layer in zip(operations, layers, strict=True)
    ]
    return before_others(drawn, layers, graph.early_places)
