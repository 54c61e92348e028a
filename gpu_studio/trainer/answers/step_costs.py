"""What a traced training step costs: each layer's FLOPs and kept activations, and what is held moment by moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpu_studio.placement.liveness import NOTHING, Operation, Size, moments
from gpu_studio.placement.step_memory import StepMemory, highest
from gpu_studio.trainer.answers.op_costs import OVERWRITING, SHARING, flops, scratch_on_cpu
from gpu_studio.trainer.answers.step_trace import BACKWARD, Trace

AT_ONCE_ON_CPU = 2
"""Operations that run at the same time on a CPU, where the executor has a thread for each core; a card runs one."""
_NO_MEMORY = frozenset({"Const", "ReadVariableOp", "VarHandleOp", "NoOp"})
"""They give what is there already: a variable's own memory, or a constant of the graph."""


@dataclass(frozen=True, slots=True)
class LayerCosts:
    """Of one layer: the shape of its first output without the batch axis; all else is for one sample."""

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


def costs_of(trace: Trace) -> StepCosts:
    """Everything that can be read from the graph of a step."""
    step = _Step(trace)
    return StepCosts(step.layers(), {kind: step.memory(kind) for kind in ("CPU", "GPU")})


class _Step:
    """The operations of a trace that contribute to its result, in the order in which they were made."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        graph = trace.graph
        self._captured = {tensor.ref() for tensor in graph.internal_captures}
        self._operations = _needed(graph)
        self._numbers = {x.ref(): n for n, x in enumerate(x for op in self._operations for x in op.outputs)}
        self._places = {op.name: place for place, op in enumerate(self._operations)}
        self._kept = self._kept_tensors()

    # Sizes

    def _size(self, tensor: Any) -> Size:
        if tensor.op.type in _NO_MEMORY or tensor.ref() in self._captured:
            return NOTHING
        return size_of(tensor, self._trace.batch)

    # Layers

    def layers(self) -> dict[str, LayerCosts]:
        kept, forward, backward = self._kept_bytes(), *self._flops()
        return {
            path: LayerCosts(
                output_shape=tuple(calls[0][0].shape.as_list()[1:]) if calls[0] else (),
                output_bytes=sum(size_of(x, self._trace.batch).per_sample for call in calls for x in call),
                kept_bytes=kept.get(path, 0),
                flops_forward=forward.get(path, 0.0),
                flops_backward=backward.get(path, 0.0),
            )
            for path, calls in self._trace.outputs.items()
        }

    def _kept_tensors(self) -> set[Any]:
        """The roots of what forward operations make and backward operations take."""
        taken = (x for op in self._operations if _is_backward(op) for x in op.inputs)
        roots = {_root(x).ref() for x in taken if not _is_backward(x.op)}
        return {ref for ref in roots if not _is_backward(ref.deref().op) and ref.deref().op.type != "Placeholder"}

    def _kept_bytes(self) -> dict[str, int]:
        kept: dict[str, int] = {}
        for ref in self._kept:
            path = self._trace.layer_of.get(ref.deref().op.name, "")
            kept[path] = kept.get(path, 0) + self._size(ref.deref()).per_sample
        return kept

    def _flops(self) -> tuple[dict[str, float], dict[str, float]]:
        forward: dict[str, float] = {}
        backward: dict[str, float] = {}
        scopes = self._scopes()
        for op in self._operations:
            sums = backward if _is_backward(op) else forward
            path = _scoped(op.name.removeprefix(BACKWARD), scopes) if _is_backward(op) else None
            path = path or self._trace.layer_of.get(op.name, "")
            sums[path] = sums.get(path, 0.0) + flops(op) / self._trace.batch
        return forward, backward

    def _scopes(self) -> dict[str, str]:
        """Layer by the scope that its forward operations are in; their gradients are in the same scope of another."""
        return {name.rpartition("/")[0]: path for name, path in self._trace.layer_of.items() if "/" in name}

    # Memory

    def memory(self, kind: str) -> StepMemory:
        operations = [self._operation(op, kind) for op in self._operations]
        return highest(
            moments(
                operations,
                results=[self._numbers[x.ref()] for x in self._trace.graph.outputs],
                gradients=frozenset(self._known(self._trace.gradients)),
                kept=frozenset(self._known(ref.deref() for ref in self._kept)),
                at_once=AT_ONCE_ON_CPU if kind == "CPU" else 1,
            )
        )

    def _known(self, tensors: Iterable[Any]) -> Iterable[int]:
        return (self._numbers[x.ref()] for x in tensors if x.ref() in self._numbers)

    def _operation(self, op: Any, kind: str) -> Operation:
        return Operation(
            takes=tuple(self._numbers[x.ref()] for x in op.inputs),
            makes=tuple((self._numbers[x.ref()], self._size(x)) for x in op.outputs),
            after=tuple(self._places[before.name] for before in op.control_inputs if before.name in self._places),
            shares=op.type in SHARING,
            overwrites=op.type in OVERWRITING,
            scratch=scratch_on_cpu(op, self._size(op.inputs[1])) if kind == "CPU" and len(op.inputs) > 1 else NOTHING,
        )


def size_of(tensor: Any, batch: int) -> Size:
    """The size of a tensor traced for `batch` samples; one whose shape is not known, or a handle, counts as nothing."""
    elements = tensor.shape.num_elements() if tensor.shape.rank is not None else None
    if not elements or tensor.dtype.name in ("resource", "variant", "string"):
        return NOTHING
    size = int(elements) * int(tensor.dtype.size)
    return Size(0, size // batch) if elements % batch == 0 else Size(size)


def _needed(graph: Any) -> list[Any]:
    """The operations that the outputs and the side effects of the graph need; the executor prunes the others."""
    waiting = [x.op for x in graph.outputs] + list(graph.control_outputs)
    needed = set()
    while waiting:
        op = waiting.pop()
        if op.name not in needed:
            needed.add(op.name)
            waiting += [*(x.op for x in op.inputs), *op.control_inputs]
    return [op for op in graph.get_operations() if op.name in needed]


def _is_backward(op: Any) -> bool:
    return bool(op.name.startswith(BACKWARD))


def _root(tensor: Any) -> Any:
    """The tensor whose memory `tensor` shares."""
    while tensor.op.type in SHARING:
        tensor = tensor.op.inputs[tensor.value_index]
    return tensor


def _scoped(name: str, scopes: dict[str, str]) -> str | None:
    """The layer of the innermost scope that `name` is in."""
    scope = name.rpartition("/")[0]
    while scope:
        if scope in scopes:
            return scopes[scope]
        scope = scope.rpartition("/")[0]
    return None
