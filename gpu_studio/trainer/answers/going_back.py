"""Which operations of a traced step compute gradients, and of which layers those are that say it.

TensorFlow puts the gradients that it derives into a scope of their own. What a function computes
for its own gradient (`tf.custom_gradient`, as swish is made) is in none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from gpu_studio.trainer.answers.graph_tensors import root

TAPE = "gradient_tape/"
"""What the names of the operations begin with that TensorFlow derives."""
_SUM = "AddN"
"""Where gradients of several ways meet, they are added outside of all scopes."""


def is_taped(op: Any) -> bool:
    """Return whether the operation is of a gradient that TensorFlow derives."""
    return bool(op.name.startswith(TAPE))


def own_gradients(
    operations: Sequence[Any], layer_of: Mapping[str, str], gradients: Iterable[Any]
) -> dict[str, str]:
    """Return the operations of gradients that functions compute themselves, each with its layer.

    By name; the layer is empty where none is known. `operations` are in the order in which they
    were made, and `layer_of` gives the layer of each that a layer's call made. A function's own
    gradient is made among the others, before the last of the weights' `gradients`.
    """
    takers, places = _takers(operations, layer_of), {op.name: n for n, op in enumerate(operations)}
    first = next((n for n, op in enumerate(operations) if is_taped(op)), len(operations))
    last = max((places.get(x.op.name, 0) for x in gradients), default=0)
    found: dict[str, str] = {}
    layer = ""

    def goes_back(op: Any) -> bool:
        return is_taped(op) or op.name in found or op.type == _SUM

    for op in operations[first : last + 1]:
        if is_taped(op):
            layer = ""
        elif op.name not in layer_of and op.type != _SUM:
            some = [each for x in op.inputs for each in takers.get(x.ref(), ())]
            layer = max(dict.fromkeys((layer, *some)), key=some.count)
            if layer or any(goes_back(x.op) for x in op.inputs):
                found[op.name] = layer
    return found


def computed_early(
    operations: Sequence[Any], layers: Sequence[str], of_gradients: Callable[[Any], bool]
) -> frozenset[str]:
    """Return the operations of layers' gradients that need no gradient, by name.

    TensorFlow computes them as soon as it can, on the way forward: as where a maximum is (seen in
    a trace). What they took is free then, and what they make is kept. `layers` are those of the
    `operations`, which are in the order in which they were made. A gradient of which nothing
    comes back, as of a loss that a layer adds itself, is none of them: others than the gradients of
    its layer take it.
    """
    places = {op.name: place for place, op in enumerate(operations)}
    needs = [
        {places[x.name] for x in (*(x.op for x in op.inputs), *op.control_inputs)}
        for op in operations
    ]
    back = {place for place, op in enumerate(operations) if of_gradients(op)}
    early = back - _behind(needs, {place for place in back if not layers[place]})
    gradients = {
        before
        for place, some in enumerate(needs)
        for before in some & early
        if layers[place] != layers[before]
    }
    for place in sorted(early, reverse=True):
        gradients |= needs[place] & early if place in gradients else set()
    return frozenset(operations[place].name for place in early - _behind(needs, gradients))


def _behind(needs: Sequence[Collection[int]], first: Collection[int]) -> set[int]:
    """Return the `first` places and all that need one of them."""
    found = set(first)
    for place, some in enumerate(needs):
        if not found.isdisjoint(some):
            found.add(place)
    return found


def _takers(operations: Iterable[Any], layer_of: Mapping[str, str]) -> dict[Any, list[str]]:
    """Return the layers with functions that have gradients of their own, by what these take.

    Such a function ends in an operation that takes its results and all that it was given.
    """
    found: dict[Any, list[str]] = {}
    for op in operations:
        if op.type == "IdentityN" and "_gradient_op_type" in op.node_def.attr:
            for x in op.inputs if op.name in layer_of else ():
                found.setdefault(x.ref(), []).append(layer_of[op.name])
    return found


def makers_of(
    operations: Iterable[Any],
    layer_of: Mapping[str, str],
    early: Mapping[str, str],
    is_backward: Callable[[Any], bool],
) -> dict[str, str]:
    """Return the layer of each forward operation by its name.

    What none made between two, such as a sum of their outputs, counts for the first of them. Those
    of `early` ones are given.
    """
    makers = {**early}
    between: list[str] = []
    layer = ""
    for op in operations:
        if own := layer_of.get(op.name):
            makers |= dict.fromkeys(between, layer) | {op.name: own}
            between, layer = [], own
        elif op.type == "ZerosLike" and op.name not in early:
            # For a loop's gradient, made when all layers are.
            makers[op.name] = makers.get(root(op.inputs[0]).op.name, layer)
        # Where gradients of several ways meet, they are added outside of all scopes.
        elif not (op.name in early or any(map(is_backward, (op, *(x.op for x in op.inputs))))):
            between.append(op.name)
    return makers
