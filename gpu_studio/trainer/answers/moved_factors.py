"""Constant factors that TensorFlow's optimizer of graphs moves to an earlier product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpu_studio.trainer.answers.graph_tensors import root
from gpu_studio.trainer.answers.step_operations import Graph


def moved_factors(
    graph: Graph, is_backward: Callable[[Any], bool]
) -> Mapping[str, tuple[int, ...]]:
    """Return the tensors that products take, by name, where a constant factor comes earlier.

    Of (g · x) · c the optimizer makes (g · c) · x, as in the gradient of gelu. The first product
    could be written over x, which was kept; it cannot now, nor over the gradient g as long as
    another operation needs that (seen in a trace). Which of the two meets the factor hangs on
    names, which are others where layers are placed: this way more is held. In a longer product the
    factor goes to what follows.
    """
    late, found = _late(graph, is_backward), dict[str, tuple[int, ...]]()
    for first, second in _in_a_row(graph):
        constant = [x for x in second.inputs if x.op.type == "Const" and x.shape.rank == 0]
        kept = [x for x in first.inputs if x.op not in late and graph.size(x).per_sample]
        coming = [x for x in first.inputs if x.op in late]
        if len(constant) == len(kept) == len(coming) == 1:
            found[first.name] = _numbers(graph, *coming, *constant)
            found[second.name] = _numbers(graph, first.outputs[0], *kept)
    return found


def in_runs(
    rewritten: Graph, traced: Graph, is_backward: Callable[[Any], bool]
) -> tuple[Mapping[str, tuple[int, ...]], bool]:
    """Return what products of a `rewritten` graph take in a run, by name, and whether that is all.

    Of (gradient · kept) · constant, as in the gradients of softmax and gelu, a run's graph makes
    (gradient · constant) · kept. The same passes over the step alone make (kept · constant) ·
    gradient, whose first product would wait from the way forward on (seven models, eight runs).
    Where else they move a constant to what was kept, it was not found what a run's graph makes.
    """
    before = {op.name: {x.op.name for x in op.inputs} for op in traced.operations}
    found = dict[str, tuple[int, ...]]()
    for first, second in _in_a_row(rewritten):
        kept, coming = _kept(first, is_backward), [x for x in second.inputs if x.op is not first]
        alone = len(kept) == len(coming) == 1 and is_backward(coming[0].op)
        if alone and before.get(first.name) == {kept[0].op.name, coming[0].op.name}:
            found[first.name] = _numbers(rewritten, *coming)
            found[second.name] = _numbers(rewritten, first.outputs[0], *kept)
    gradients = [op for op in rewritten.operations if op.name in before and is_backward(op)]
    others = [op for op in gradients if op.name not in found and _is_product(op)]
    moved = any(x.op.name not in before[op.name] for op in others for x in _kept(op, is_backward))
    return found, bool(found) and not moved


def _kept(product: Any, is_backward: Callable[[Any], bool]) -> list[Any]:
    """Return what a product with a constant factor takes from the way forward."""
    factors = [x for x in product.inputs if x.op.type == "Const" and x.shape.rank == 0]
    others = [x for x in product.inputs if x.op.type != "Const" and not is_backward(x.op)]
    return others if factors else []


def _numbers(graph: Graph, *tensors: Any) -> tuple[int, ...]:
    return tuple(graph.numbers[x.ref()] for x in tensors)


def _late(graph: Graph, is_backward: Callable[[Any], bool]) -> set[Any]:
    """Return the operations that go backward, or need what does, such as sums of gradients."""
    late: set[Any] = set()
    for op in graph.operations:
        if is_backward(op) or any(x.op in late for x in op.inputs):
            late.add(op)
    return late


def _in_a_row(graph: Graph) -> Iterator[tuple[Any, Any]]:
    """Yield the last two of the products that are alone in taking what the one before makes."""
    takers: dict[Any, list[Any]] = {}
    for op in graph.operations:
        for x in op.inputs:
            takers.setdefault(x.op, []).append(op)
    followers = {
        op: some[0]
        for op, some in takers.items()
        if len(some) == 1 and _is_product(op) and _is_product(some[0])
    }
    for first, second in followers.items():
        if second not in followers:
            yield first, second


def _is_product(op: Any) -> bool:
    """Whether it is one that takes memory: a product with one takes none."""
    return op.type == "Mul" and root(op.outputs[0]) is op.outputs[0]
