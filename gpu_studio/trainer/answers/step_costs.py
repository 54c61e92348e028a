"""The costs of a traced training step.

They are each layer's FLOPs and the activations kept for it, and what the step holds moment by
moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpu_studio.placement.rehearsal import TensorKinds, on_card, on_cpu
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.trainer.answers.op_costs import flops
from gpu_studio.trainer.answers.step_operations import Graph, root, size_of
from gpu_studio.trainer.answers.step_trace import BACKWARD, StepTrace
from gpu_studio.trainer.cores import cores


@dataclass(frozen=True, slots=True)
class LayerCosts:
    """The costs of one layer per sample, and its first output's shape without the batch axis."""

    output_shape: tuple[int | None, ...] = ()
    output_bytes: int = 0
    kept_bytes: int = 0
    flops_forward: float = 0.0
    flops_backward: float = 0.0


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Every layer's costs by its path, and what the step holds on a "CPU" and on a "GPU"."""

    layers: dict[str, LayerCosts]
    steps: dict[str, StepMemory]


def costs_of(trace: StepTrace, *, loaded: bool = False) -> StepCosts:
    """Read all costs from the graph of a step; `loaded` says whether weights come from a file."""
    step = _Step(trace, loaded=loaded)
    return StepCosts(step.layers(), step.memory())


class _Step:
    """The operations of a trace that contribute to its result, in the order in which they were
    made.
    """

    def __init__(self, trace: StepTrace, *, loaded: bool) -> None:
        self._trace, self._loaded = trace, loaded
        self.graph = Graph(trace.graph, trace.batch)
        self._kept = self._kept_tensors()

    # Layers

    def layers(self) -> dict[str, LayerCosts]:
        kept, forward, backward = self._kept_bytes(), *self._flops()
        return {
            path: LayerCosts(
                output_shape=tuple(calls[0][0].shape.as_list()[1:]) if calls[0] else (),
                output_bytes=sum(
                    size_of(x, self._trace.batch).per_sample for call in calls for x in call
                ),
                kept_bytes=kept.get(path, 0),
                flops_forward=forward.get(path, 0.0),
                flops_backward=backward.get(path, 0.0),
            )
            for path, calls in self._trace.outputs.items()
        }

    def _kept_tensors(self) -> set[Any]:
        """Return the roots of tensors that forward operations make and backward operations read."""
        taken = (x for op in self.graph.operations if _is_backward(op) for x in op.inputs)
        roots = {root(x).ref() for x in taken if not _is_backward(x.op)}
        return {
            ref
            for ref in roots
            if not _is_backward(ref.deref().op) and ref.deref().op.type != "Placeholder"
        }

    def _kept_bytes(self) -> dict[str, int]:
        kept: dict[str, int] = {}
        for ref in self._kept:
            path = self._trace.layer_of.get(ref.deref().op.name, "")
            kept[path] = kept.get(path, 0) + self.graph.size(ref.deref()).per_sample
        return kept

    def _flops(self) -> tuple[dict[str, float], dict[str, float]]:
        forward: dict[str, float] = {}
        backward: dict[str, float] = {}
        scopes = self._scopes()
        for op in self.graph.operations:
            sums = backward if _is_backward(op) else forward
            path = _scoped(op.name.removeprefix(BACKWARD), scopes) if _is_backward(op) else None
            path = path or self._trace.layer_of.get(op.name, "")
            sums[path] = sums.get(path, 0.0) + flops(op) / self._trace.batch
        return forward, backward

    def _scopes(self) -> dict[str, str]:
        """Return the layer of each scope that its forward operations are in.

        Its gradients are in a scope of the same name below another.
        """
        return {
            name.rpartition("/")[0]: path
            for name, path in self._trace.layer_of.items()
            if "/" in name
        }

    # Memory

    def memory(self) -> dict[str, StepMemory]:
        """Return what the step holds on each kind of device."""
        graph = self.graph
        gradients = frozenset(self._numbers(self._trace.gradients))
        given = (x for calls in self._trace.outputs.values() for call in calls for x in call)
        kept = frozenset(self._numbers(ref.deref() for ref in self._kept))
        marks = TensorKinds(
            graph.results, graph.given, tuple(self._numbers(given)), gradients, kept, self._loaded
        )
        return {
            "CPU": on_cpu(graph.as_on("CPU"), graph.seconds, marks, cores()),
            "GPU": on_card(graph.as_on("GPU"), marks),
        }

    def _numbers(self, tensors: Iterable[Any]) -> Iterator[int]:
        return (self.graph.numbers[x.ref()] for x in tensors if x.ref() in self.graph.numbers)


def _is_backward(op: Any) -> bool:
    return bool(op.name.startswith(BACKWARD))


def _scoped(name: str, scopes: dict[str, str]) -> str | None:
    """Return the layer of the innermost scope that contains `name`."""
    scope = name.rpartition("/")[0]
    while scope:
        if scope in scopes:
            return scopes[scope]
        scope = scope.rpartition("/")[0]
    return None
