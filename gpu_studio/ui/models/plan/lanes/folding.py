"""Layers put together for a picture of a large model: nested models, and chains that stay on one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_studio.placement.model_graph import Layer, ModelGraph

FOLD_FROM = 24
"""A model of so many layers is drawn with its chains folded."""
SHORTEST_CHAIN = 3


def groups_of(graph: ModelGraph, where: Mapping[str, object], unfolded: frozenset[str]) -> list[tuple[str, ...]]:
    """The layers of `graph` in groups, in order; most have one layer.

    A nested model is a group, and in a large model so is a chain of at least three layers in which each only feeds the
    next, as long as `where` is the same. A group whose first layer is in `unfolded` is left apart.
    """
    taken = _takers(graph)
    groups: list[list[Layer]] = []
    for layer in graph.layers:
        last = groups[-1] if groups else None
        if last is not None and _belongs(last[-1], layer, taken, where, chains=len(graph.layers) >= FOLD_FROM):
            last.append(layer)
        else:
            groups.append([layer])
    return [part for group in groups for part in _kept([layer.name for layer in group], unfolded)]


def nested_in(name: str) -> str:
    """The nested model that a layer is in; empty if it is in none."""
    return name.rpartition("/")[0].partition("/")[0]


def _takers(graph: ModelGraph) -> dict[str, int]:
    count: dict[str, int] = {}
    for layer in graph.layers:
        for name in layer.inputs:
            count[name] = count.get(name, 0) + 1
    return count


def _belongs(
    before: Layer, layer: Layer, taken: Mapping[str, int], where: Mapping[str, object], *, chains: bool
) -> bool:
    if nested_in(before.name) or nested_in(layer.name):
        return nested_in(before.name) == nested_in(layer.name)
    alone = layer.inputs == (before.name,) and taken.get(before.name) == 1
    return chains and alone and where.get(before.name) == where.get(layer.name)


def _kept(names: Sequence[str], unfolded: frozenset[str]) -> list[tuple[str, ...]]:
    together = len(names) >= SHORTEST_CHAIN or (len(names) > 1 and bool(nested_in(names[0])))
    if together and names[0] not in unfolded:
        return [tuple(names)]
    return [(name,) for name in names]
