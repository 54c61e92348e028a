"""What layers that lie on several devices send to each other, from the graph of a traced step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpu_studio.trainer.answers.step_operations import Graph, root


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
