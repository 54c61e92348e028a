"""A graph of TensorFlow's as `placement.liveness` takes it: what each operation takes, makes, needs and changes."""

from __future__ import annotations

from typing import Any

from tensorflow.python.ops import while_v2

from gpu_studio.placement.executor import in_one_queue
from gpu_studio.placement.liveness import NOTHING, Operation, Size, Variable, history
from gpu_studio.placement.rehearsal import INTERRUPTION_S
from gpu_studio.placement.step_memory import highest
from gpu_studio.trainer.answers.op_costs import OVERWRITING, SHARING, flops, scratch_on_cpu, workspace_on_cpu

_READING = "ReadVariableOp"
_ASSIGNING = frozenset({"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"})
_NO_MEMORY = frozenset({"Const", _READING, "VarHandleOp", "NoOp", "TensorListGetItem", "TensorListPopBack"})
"""They give what is there already: a variable's own memory, a constant of the graph, or what is in a list."""
LOOPS = frozenset({"While", "StatelessWhile"})
_ADDING = frozenset({"Add", "AddN", "AddV2"})
DELAY_S = 3 * INTERRUPTION_S
"""A turn of a loop begins as soon as it has what it needs: while one thread stands still so long, the others compute
gradients of weights that wait to be added up."""
_TYPICAL = 64
"""The batch at which it is asked how long a turn takes."""
LAUNCH_S, BYTES_PER_S, FLOPS_PER_S = 1e-6, 1e10, 3e10
"""A core of a machine of today, roughly: which of two operations takes longer is all that is asked."""


class Graph:
    """The operations of a graph that its results and side effects need; the executor prunes the others."""

    def __init__(self, graph: Any, batch: int) -> None:
        """`batch` is the number of samples that it was traced for, a prime that divides no other axis."""
        self.batch = batch
        self.operations = _needed(graph)
        self.numbers = {x.ref(): n for n, x in enumerate(x for op in self.operations for x in op.outputs)}
        # Who gives the batch keeps it as long as the step runs.
        given = [x for op in self.operations if op.type == "Placeholder" for x in op.outputs]
        self.given = frozenset(self.numbers[x.ref()] for x in given)
        self.results = [self.numbers[x.ref()] for x in (*graph.outputs, *given)]
        self._captured = {tensor.ref() for tensor in graph.internal_captures}
        self._places = {op.name: place for place, op in enumerate(self.operations)}

    def size(self, tensor: Any) -> Size:
        """What a tensor takes that is made by the operation it comes from."""
        if tensor.op.type in _NO_MEMORY or tensor.ref() in self._captured:
            return NOTHING
        if tensor.op.type in LOOPS and tensor.dtype.name == "variant":
            return _collected(tensor, self.batch)
        return size_of(tensor, self.batch)

    def as_on(self, kind: str) -> list[Operation]:
        """The operations with what their kernels need on a "CPU" or a "GPU"."""
        return [self._operation(op, on_cpu=kind == "CPU") for op in self.operations]

    def seconds(self, batch: int) -> list[float]:
        """About how long each operation takes with so many samples."""
        return [self._seconds(op, batch) for op in self.operations]

    def _operation(self, op: Any, *, on_cpu: bool) -> Operation:
        made = [(self.numbers[x.ref()], self.size(x)) for x in op.outputs]
        return Operation(
            takes=(*(self.numbers[x.ref()] for x in op.inputs), *(self._places_of_maxima(op) if on_cpu else ())),
            makes=(*made, *(self._workspace(op) if on_cpu else ())),
            after=tuple(self._places[before.name] for before in op.control_inputs if before.name in self._places),
            shares=op.type in SHARING,
            overwrites=op.type in OVERWRITING,
            scratch=self._scratch(op, on_cpu=on_cpu),
            reads=self._variable(op, op.outputs[0]) if op.type == _READING else None,
            writes=self._variable(op, op.inputs[1]) if op.type in _ASSIGNING else None,
            replaces=op.type == "AssignVariableOp",
        )

    def _workspace(self, op: Any) -> list[tuple[int, Size]]:
        """What a kernel makes beside its outputs for the backward pass: a tensor with a number of its own."""
        size = workspace_on_cpu(op, self.size(op.outputs[0])) if op.outputs else NOTHING
        return [] if size == NOTHING else [(-1 - self._places[op.name], size)]

    def _places_of_maxima(self, op: Any) -> list[int]:
        """The workspace that the forward operation of this one made, if this is a backward one and there is one."""
        if op.type != "MaxPoolGrad" or op.inputs[1].op.name not in self._places:
            return []
        return [number for number, _ in self._workspace(op.inputs[1].op)]

    def _scratch(self, op: Any, *, on_cpu: bool) -> Size:
        if op.type in LOOPS:
            return _in_turns(op, self.batch)
        return scratch_on_cpu(op, [self.size(x) for x in op.inputs]) if on_cpu else NOTHING

    def _variable(self, op: Any, value: Any) -> Variable:
        return Variable(self.numbers[op.inputs[0].ref()], size_of(value, self.batch).fixed)

    def _seconds(self, op: Any, batch: int) -> float:
        if op.type in _NO_MEMORY or op.type in SHARING or op.type == "Placeholder":
            return 0.0
        sizes = [size_of(x, self.batch) for x in (*op.inputs, *op.outputs)]
        moved = sum(size.bytes(batch) for size in sizes)
        return LAUNCH_S + moved / BYTES_PER_S + flops(op) * batch / self.batch / FLOPS_PER_S


def size_of(tensor: Any, batch: int) -> Size:
    """The size of a tensor traced for `batch` samples; one whose shape is not known, or a handle, counts as nothing."""
    elements = tensor.shape.num_elements() if tensor.shape.rank is not None else None
    if not elements or tensor.dtype.name in ("resource", "variant", "string"):
        return NOTHING
    size = int(elements) * int(tensor.dtype.size)
    return Size(0, size // batch) if elements % batch == 0 else Size(size)


def root(tensor: Any) -> Any:
    """The tensor whose memory `tensor` shares."""
    while tensor.op.type in SHARING:
        tensor = tensor.op.inputs[tensor.value_index]
    return tensor


def _needed(graph: Any) -> list[Any]:
    waiting = [x.op for x in graph.outputs] + list(graph.control_outputs)
    needed = set()
    while waiting:
        op = waiting.pop()
        if op.name not in needed:
            needed.add(op.name)
            waiting += [*(x.op for x in op.inputs), *op.control_inputs]
    return [op for op in graph.get_operations() if op.name in needed]


# Loops, which recurrent layers are made of


def _body(loop: Any) -> Any:
    return while_v2._get_graph(loop, "body", "_body_graph")  # noqa: SLF001 (no public way to a loop's body)


def _turns(loop: Any) -> int:
    """How often a loop is run: once for each element of the longest sequence that it takes; else once.

    The loop that goes back takes what the one before has put into lists, and has as many turns.
    """
    before = [_turns(x.op) for x in loop.inputs if x.op.type in LOOPS]
    lists = [x.op for x in loop.inputs if x.op.type == "TensorListFromTensor"]
    return max((*before, *(op.inputs[0].shape[0] or 1 for op in lists if op.inputs[0].shape.rank)), default=1)


def _collected(tensor: Any, batch: int) -> Size:
    """What a loop has put into a list when it ends: of every turn one tensor, for the backward pass."""
    given = _body(tensor.op).outputs[tensor.value_index]
    pushed = root(given).op
    if pushed.type != "TensorListPushBack":
        return NOTHING
    element = root(pushed.inputs[1])
    if element.op.type in _NO_MEMORY:
        return NOTHING
    size, turns = size_of(element, batch), _turns(tensor.op)
    return Size(size.fixed * turns, size.per_sample * turns, pieces=turns)


def _in_turns(loop: Any, batch: int) -> Size:
    """The most that the turns of a loop hold besides what they are given: one of them, and what waits of others."""
    body = Graph(_body(loop), batch)
    operations = body.as_on("GPU")
    fullest = highest(history(operations, in_one_queue(operations), results=body.results).moments).fullest(batch)
    turns = min(_turns(loop), 1 + round(DELAY_S / (sum(body.seconds(_TYPICAL)) or 1.0)))
    waiting = sum(size.fixed for size in map(body.size, _added_up(body)) if not size.per_sample)
    return Size(fullest.fixed + waiting * (turns - 1), fullest.per_sample, pieces=turns)


def _added_up(body: Graph) -> list[Any]:
    """What a turn adds to what earlier turns gave, as it does the gradients of weights."""
    adding = [op for op in body.operations if op.type in _ADDING]
    summed = [op for op in adding if any(root(x).op.type == "Placeholder" for x in op.inputs)]
    return [x for op in summed for x in op.inputs if root(x).op.type != "Placeholder"]
