"""In what order TensorFlow's executor takes operations that become ready together.

It is that in which their edges were added to the graph, as it was read after it was rewritten
(`graph_constructor.cc`): of all operations whose inputs are there, the first of the graph comes
next. What oneDNN computes is made anew before that, at the end of the graph
(`mkl_layout_pass.cc`), and last the gradient of a filter that has a bias, which it joins with the
bias' own. Products that take the same tensor, as both gradients of a dense layer do, came in the
order in which they were made in 25 of 27 pairs of runs, but not where the step alone is rewritten.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_studio.trainer.devices import ONE_DNN

_OF_ONE_DNN = ("Conv", "MatMul", "FusedBatchNorm", "MaxPool", "AvgPool", "Einsum")
"""What the types of operations contain that oneDNN computes."""
_FILTER, _BIAS, _PRODUCT = "Conv2DBackpropFilter", "BiasAddGrad", "MatMul"


def ready_order(operations: Sequence[Any], known: Mapping[str, int]) -> list[int]:
    """Return of each operation the how-manieth it is, of which the rewritten graph has `known`.

    One that is not there any more is where the first is that waits for it.
    """
    places, ranks = {op.name: place for place, op in enumerate(operations)}, [0] * len(operations)
    followers: list[list[int]] = [[] for _ in operations]
    missing = [0] * len(operations)
    for place, op in enumerate(operations):
        for before in {each.name for each in _before(op) if each.name in places}:
            followers[places[before]].append(place)
            missing[place] += 1
    keys = _keys(operations, known)
    ready = [(keys[place], place) for place, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    for rank in range(len(operations)):
        _, place = heapq.heappop(ready)
        ranks[place] = rank
        for behind in followers[place]:
            missing[behind] -= 1
            if not missing[behind]:
                heapq.heappush(ready, (keys[behind], behind))
    return ranks


def _before(op: Any) -> Iterator[Any]:
    yield from (x.op for x in op.inputs)
    yield from op.control_inputs


def _keys(operations: Sequence[Any], known: Mapping[str, int]) -> list[tuple[int, int]]:
    """Where each is in the graph that is read: behind the others what oneDNN has, in two steps."""
    biased = {op.inputs[0].ref() for op in operations if op.type == _BIAS}
    joined = [op.type == _FILTER and op.inputs[2].ref() in biased for op in operations]
    anew = [any(each in op.type for each in _OF_ONE_DNN) for op in operations]
    places = _places(operations, known)
    return [(ONE_DNN * (a + b), place) for a, b, place in zip(joined, anew, places, strict=True)]


def _places(operations: Sequence[Any], known: Mapping[str, int]) -> list[int]:
    """Where each is in the rewritten graph, but products of the same tensor as they were made."""
    first: dict[str, int] = {}
    places = []
    for op in reversed(operations):
        places.append(place := known.get(op.name, first.get(op.name, len(known))))
        for before in _before(op):
            first[before.name] = min(place, first.get(before.name, place))
    places.reverse()
    products: dict[Any, list[int]] = {}
    for number, op in enumerate(operations):
        for x in op.inputs if op.type == _PRODUCT else ():
            products.setdefault(x.ref(), []).append(number)
    for numbers in products.values():
        for number, place in zip(numbers, sorted(places[each] for each in numbers), strict=True):
            places[number] = place
    return places
