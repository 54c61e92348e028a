"""What layers that lie on several devices send to each other, from the graph of a traced step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpu_studio.placement.layer_holds import MetOutputs
from gpu_studio.trainer.answers.graph_tensors import root
from gpu_studio.trainer.answers.step_operations import Graph

_JOINING = frozenset({"Add", "AddN", "AddV2", "ConcatV2", "Pack", "Sub"})
"""Their gradients need nothing of what they took."""


def meets_of(
    graph: Graph,
    layer_of: Mapping[str, str],
    output_bytes: Mapping[str, int],
    is_backward: Callable[[Any], bool],
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return by layer the outputs of others that it takes in one tensor, each with the next one.

    Operations that no layer's call made run where their first input is (`following_inputs`), so
    that a layer elsewhere is sent one tensor. It goes by the name of the last layer in it: it must
    not be larger than that one's output, which nobody may take besides.
    """
    taken, tensors = _taken(graph, layer_of, list(output_bytes), is_backward)
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for layer, each in taken.items():
        alone = {names[0] for names in each.values() if len(names) == 1}
        pairs = (
            pair
            for ref, names in each.items()
            if len(tensors[names[-1]]) == 1
            and graph.size(ref.deref()).per_sample <= output_bytes[names[-1]]
            for pair in pairwise(names)
        )
        found[layer] = tuple(dict.fromkeys(pair for pair in pairs if pair[0] not in alone))
    return found


def met_outputs_of(
    graph: Graph, layer_of: Mapping[str, str], is_backward: Callable[[Any], bool]
) -> dict[str, MetOutputs]:
    """Return by layer what its output meets before a layer takes what is made of them.

    That is done where the output is that comes first in an operation; the others are sent there.
    """
    first: dict[str, str] = {}
    below: dict[str, frozenset[tuple[str, str, bool]]] = {}
    made: dict[str, dict[Any, int]] = {}
    pairs: set[tuple[str, str, bool]] = set()
    for op in graph.operations:
        if is_backward(op):
            continue
        layer = layer_of.get(op.name, "")
        makers = list(dict.fromkeys(first[x.op.name] for x in op.inputs if x.op.name in first))
        met = frozenset[tuple[str, str, bool]]().union(
            *(below.get(x.op.name, ()) for x in op.inputs)
        )
        if layer:
            first[op.name] = layer
            pairs |= met
            for x in op.inputs:
                if below.get(x.op.name):
                    made.setdefault(first[x.op.name], {})[root(x).ref()] = graph.size(x).per_sample
        elif makers:
            first[op.name] = makers[0]
            kept = op.type not in _JOINING
            below[op.name] = met | {(makers[0], other, kept) for other in makers[1:]}
    return {
        layer: MetOutputs(
            tuple(dict.fromkeys(other for one, other, _ in sorted(pairs) if one == layer)),
            any(kept for one, _, kept in pairs if one == layer),
            sum(made.get(layer, {}).values()),
        )
        for layer in dict.fromkeys(one for one, _, _ in sorted(pairs))
    }


def lent_bytes(
    graph: Graph,
    layers: Sequence[str],
    kept: Mapping[Any, str],
    is_backward: Callable[[Any], bool],
) -> dict[str, int]:
    """Return by layer the bytes that it keeps only for the backward pass of others.

    `layers` are those of the operations, and `kept` the tensors that are kept, each with the layer
    that keeps it. A layer elsewhere has a copy, and needs none of it here.
    """
    readers: dict[Any, set[str]] = {}
    for op, layer in zip(graph.operations, layers, strict=True):
        for x in op.inputs if is_backward(op) else ():
            readers.setdefault(root(x).ref(), set()).add(layer)
    found: dict[str, int] = {}
    for ref, layer in kept.items():
        if layer and not readers.get(ref, set()) & {"", layer}:
            found[layer] = found.get(layer, 0) + graph.size(ref.deref()).per_sample
    return found


def kept_outputs(
    graph: Graph,
    layer_of: Mapping[str, str],
    outputs: Mapping[str, Sequence[Sequence[Any]]],
    kept: Mapping[Any, str],
    is_backward: Callable[[Any], bool],
) -> dict[str, int]:
    """Return by layer the bytes of its `outputs` in all calls that it keeps; `kept` as above.

    Where only operations between layers take an output, what they make of it stands for it.
    """

    def is_kept(x: Any, layer: str) -> bool:
        if kept.get(root(x).ref()) == layer:
            return True
        takers = [op for op in x.consumers() if not is_backward(op)]
        made = [{kept.get(root(y).ref()) for y in op.outputs} for op in takers]
        return bool(takers) and all(
            op.name not in layer_of and layer in some for op, some in zip(takers, made, strict=True)
        )

    found = {}
    for layer, calls in outputs.items():
        some = {root(x).ref(): x for call in calls for x in call if is_kept(x, layer)}
        found[layer] = sum(graph.size(root(x)).per_sample for x in some.values())
    return found


def waiting_for_gradients(
    graph: Graph, layer_of: Callable[[Any], str], last: str, is_backward: Callable[[Any], bool]
) -> dict[str, int]:
    """Return by layer the bytes that are made before any gradient, and that gradients then take.

    What goes backward and needs no gradient is computed as soon as it can be, on the way forward.
    Gradients come of what the `last` layer makes.
    """
    late = {op for op in graph.operations if not is_backward(op) and layer_of(op) == last}
    followers: dict[Any, list[Any]] = {}
    for op in graph.operations:
        for x in op.inputs:
            followers.setdefault(x.op, []).append(op)
    waiting = list(late)
    while waiting:
        after = [op for op in followers.get(waiting.pop(), ()) if op not in late]
        late.update(after)
        waiting += after
    taken = {root(x).ref() for op in late if is_backward(op) for x in op.inputs}
    found: dict[str, int] = {}
    for x in (ref.deref() for ref in taken):
        if x.op not in late and x.op.type != "Placeholder":
            found[layer_of(x.op)] = found.get(layer_of(x.op), 0) + graph.size(x).per_sample
    return found


def given_back(
    graph: Graph, layers: Sequence[str], is_backward: Callable[[Any], bool]
) -> dict[str, int]:
    """Return by layer how many tensors of its own it gives back, as gradients of what it took."""
    made_in = {op.name: layer for op, layer in zip(graph.operations, layers, strict=True)}
    found: dict[str, set[Any]] = {}
    for op, layer in zip(graph.operations, layers, strict=True):
        for source in map(root, op.inputs):
            maker, back = made_in[source.op.name], is_backward(source.op)
            if back and maker not in ("", layer) and graph.size(source).per_sample:
                found.setdefault(maker, set()).add(source.ref())
    return {layer: len(tensors) for layer, tensors in found.items()}


def _taken(
    graph: Graph,
    layer_of: Mapping[str, str],
    order: Sequence[str],
    is_backward: Callable[[Any], bool],
) -> tuple[dict[str, dict[Any, list[str]]], dict[str, set[Any]]]:
    """Return by layer the tensors that it takes, each with the layers in it in `order`.

    Also by layer the tensors in which it is the last.
    """
    places = {layer: place for place, layer in enumerate(order)}
    sources: dict[str, frozenset[str]] = {}
    taken: dict[str, dict[Any, list[str]]] = {}
    tensors: dict[str, set[Any]] = {}
    for op in graph.operations:
        layer = layer_of.get(op.name, "")
        if is_backward(op):
            continue
        before = [(x, sources.get(x.op.name, frozenset())) for x in op.inputs]
        among = frozenset[str]().union(*(makers for _, makers in before))
        sources[op.name] = frozenset({layer}) if layer else among
        for tensor, makers in before if layer else ():
            if makers - {layer} and graph.size(tensor).per_sample:
                names = sorted(makers, key=places.__getitem__)
                taken.setdefault(layer, {})[root(tensor).ref()] = names
                tensors.setdefault(names[-1], set()).add(root(tensor).ref())
    return taken, tensors
