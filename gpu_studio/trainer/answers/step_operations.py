"""A TensorFlow graph in the form that `placement.liveness` takes, and what its operations cost.

For each operation it states what the operation reads, creates, needs and changes, its FLOPs,
and the memory of its kernel alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import Any

from gpu_studio.placement.liveness import (
    NOTHING,
    Operation,
    Size,
    Variable,
    history,
    in_one_queue,
)
from gpu_studio.placement.rehearsal import BEHIND_S
from gpu_studio.placement.step_memory import highest
from gpu_studio.trainer.answers.graph_tensors import (
    LISTING,
    LOOPS,
    NO_MEMORY,
    READING,
    as_list,
    body_of,
    collected,
    in_list,
    only_read,
    put_into_lists,
    read_in_turns,
    root,
    shared_inputs,
    size_of,
    turns_of,
    unread_outputs,
)
from gpu_studio.trainer.answers.kernel_scratch import (
    OVERWRITING,
    ScratchOf,
    pools_again,
    scratch_on_card,
    scratch_on_cpu,
    workspace_on_cpu,
)
from gpu_studio.trainer.answers.operation_flops import flops
from gpu_studio.trainer.answers.ready_order import ready_order
from gpu_studio.trainer.answers.rewritten_graph import Rewriting
from gpu_studio.trainer.devices import ONE_DNN
from gpu_studio.trainer.step_gradients import filters_before, needed

_ASSIGNING = frozenset({"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"})
_ADDING = frozenset({"Add", "AddN", "AddV2"})
DELAY_S = 1.5 * BEHIND_S
"""A turn begins as soon as it has what it needs: while one thread stands still, the others compute
gradients that wait to be added up. Real turns, of small operations on all cores, take two thirds of
what is reckoned."""
_TYPICAL = 64  # the batch at which it is asked how long a turn takes
LAUNCH_S, BYTES_PER_S, FLOPS_PER_S = 1e-6, 3e10, 1.2e11
"""A machine of today, roughly, as traced: only which of two operations takes longer matters, and
how far the others get while one thread stands still."""
_CONVOLVING_S = {True: 2.5e-4, False: 1e-4}
"""What oneDNN takes besides to begin a convolution: the gradient of its filter, and any other.

In a small model that is far more than the rest, so that filters' gradients wait for each other."""


class Graph:
    """The operations of a graph that its results and side effects need.

    The executor prunes the others.
    """

    def __init__(self, graph: Any, batch: int, known: Mapping[Any, int] | None = None) -> None:
        """`batch` is the number of samples in the trace, a prime that divides no other axis.

        `known` are numbers that tensors have already, by reference.
        """
        self.batch, self._graph = batch, graph
        ends = [*(x.op for x in graph.outputs), *graph.control_outputs]
        self.operations = needed(graph, ends)
        known = known or {}
        fresh = count(1 + max(known.values(), default=-1))
        made = (x.ref() for op in self.operations for x in op.outputs)
        self.numbers = {ref: known[ref] if ref in known else next(fresh) for ref in made}
        # The caller keeps the batch alive while the step runs.
        given = [x for op in self.operations if op.type == "Placeholder" for x in op.outputs]
        self.given = frozenset(self.numbers[x.ref()] for x in given)
        self.results = [self.numbers[x.ref()] for x in (*graph.outputs, *given)]
        self._captured = {tensor.ref() for tensor in graph.internal_captures}
        self.moved: Mapping[str, Mapping[str, tuple[int, ...]]] = {}
        """What products take instead on a "CPU" or a "GPU", by name; see `moved_factors`."""
        self.early: frozenset[str] = frozenset()
        """The operations of gradients that need none, by name; see `computed_early`."""
        self.names: Mapping[str, str] = {}
        """Of a rewritten graph, the operations' names before it was read."""
        self._places = {op.name: place for place, op in enumerate(self.operations)}

    def size(self, tensor: Any) -> Size:
        """Return the size of a tensor that its operation creates."""
        if tensor.op.type in NO_MEMORY or tensor.ref() in self._captured:
            return NOTHING
        listed = tensor.dtype.name == "variant"
        return in_list(tensor, self.batch) if listed else size_of(tensor, self.batch)

    @property
    def early_places(self) -> list[int]:
        """The places of the operations that are `early`."""
        return [self._places[name] for name in self.early]

    @cached_property
    def _unread(self) -> frozenset[Any]:
        return unread_outputs(self.operations, self._graph.outputs)

    def _size_on_cpu(self, tensor: Any) -> Size:
        """Return the size of a tensor on a CPU, where lists that nobody reads are left out.

        On a card they were not looked at.
        """
        lists = tensor.op.type in LOOPS and tensor.dtype.name == "variant"
        return in_list(tensor, self.batch, self._unread) if lists else self.size(tensor)

    def rewritten(self, rewriting: Rewriting) -> Graph | None:
        """Return the graph as TensorFlow rewrites it; tensors of the same name have their numbers.

        None if it has loops: what their turns hold is known as traced only. Raises whatever
        TensorFlow does about a graph that it cannot rewrite.
        """
        if any(op.type in LOOPS for op in self.operations):
            return None
        found = rewriting(self._graph)
        numbers = {x.name: self.numbers[x.ref()] for op in self.operations for x in op.outputs}
        run = Graph(found, self.batch, found.known(numbers))
        run.names = found.names
        return run

    def ranks_in(self, run: Graph) -> list[int]:
        """Return in which order operations are taken that become ready together; see `ready_order`.

        `run` is the graph as TensorFlow rewrites it.
        """
        known = {run.names[op.name]: place for place, op in enumerate(run.operations)}
        return ready_order(self.operations, known)

    def as_on(self, kind: str) -> list[Operation]:
        """Return the operations with what their kernels need on a "CPU" or a "GPU"."""
        scratch = scratch_on_cpu if kind == "CPU" else scratch_on_card
        operations = [self._operation(op, scratch, on_cpu=kind == "CPU") for op in self.operations]
        for name, takes in self.moved.get(kind, {}).items():
            place = self._places[name]
            operations[place] = replace(operations[place], takes=takes)
        return operations

    def with_turns_ahead(self) -> list[Operation]:
        """Return the operations on a card, where loops also hold what their turns make ahead."""
        operations = self.filters_first()
        for place, op in enumerate(self.operations):
            if op.type in LOOPS:
                own, before = operations[place].scratch, _ahead(op, self.batch)
                scratch = Size(own.fixed, own.per_sample + before)
                operations[place] = replace(operations[place], scratch=scratch)
        return operations

    def with_weights_sent(self) -> list[Operation]:
        """Return the operations on a card to which another device sends the weights' values.

        They are sent for each read, as soon as a step begins: of a table in which two layers look
        rows up there are two copies. Each turn of a loop reads anew, and leaves what it read in
        lists for the way back. Shapes are known without.
        """
        operations = self.with_turns_ahead()
        for place, op in enumerate(self.operations):
            own = operations[place]
            if op.type == READING and any(x.type != "Shape" for x in op.outputs[0].consumers()):
                sent = (self.numbers[op.outputs[0].ref()], size_of(op.outputs[0], self.batch))
                operations[place] = replace(own, makes=(sent,), reads=None)
            elif op.type in LOOPS:
                read = {self.numbers[x.ref()]: read_in_turns(x, self.batch) for x in op.outputs}
                found = ((x, read[x] if read[x] != NOTHING else size) for x, size in own.makes)
                operations[place] = replace(own, makes=tuple(found))
        return operations

    def filters_first(self) -> list[Operation]:
        """Return the operations on a card, where the trainer has added edges to the graph."""
        operations = self.as_on("GPU")
        for op, filters in filters_before(self.operations).items():
            place, first = self._places[op.name], (self._places[each.name] for each in filters)
            operations[place] = replace(operations[place], after=(*operations[place].after, *first))
        return operations

    def seconds(self, batch: int) -> list[float]:
        """Estimate how long each operation takes for this many samples."""
        return [self._seconds(op, batch) for op in self.operations]

    def _operation(self, op: Any, scratch: ScratchOf, *, on_cpu: bool) -> Operation:
        size = self._size_on_cpu if on_cpu else self.size
        made = [(self.numbers[x.ref()], size(x)) for x in op.outputs]
        shared, again = shared_inputs(op), pools_again(op, on_cpu=on_cpu)
        if on_cpu and op.type == LISTING:
            shared, made = [], [(made[0][0], as_list(op.inputs[0], self.batch))]
        if again:
            made = [*self._beside(op, self.size(op.inputs[1])), *made]
        beside = self._scratch(op, scratch, on_cpu=on_cpu)
        return Operation(
            takes=(
                *(self.numbers[x.ref()] for x in shared or op.inputs),
                *((*self._places_of_maxima(op), *self._only_read(op)) if on_cpu else ()),
            ),
            makes=(*made, *((*self._waiting(op, beside), *self._workspace(op)) if on_cpu else ())),
            after=tuple(
                self._places[before.name]
                for before in op.control_inputs
                if before.name in self._places
            ),
            shares=bool(shared),
            overwrites=again or op.type in OVERWRITING or op.type in LOOPS,
            scratch=beside,
            reads=self._variable(op, op.outputs[0]) if op.type == READING else None,
            writes=self._variable(op, op.inputs[1]) if op.type in _ASSIGNING else None,
            replaces=op.type == "AssignVariableOp",
        )

    def _workspace(self, op: Any) -> list[tuple[int, Size]]:
        """The kernel's workspace for the backward pass, as a tensor with a number of its own."""
        size = workspace_on_cpu(op, self.size(op.outputs[0])) if op.outputs else NOTHING
        return self._beside(op, size)

    def _waiting(self, op: Any, turn: Size) -> list[tuple[int, Size]]:
        """What waits of the iterations of a loop, of which a `turn` needs so much while it runs.

        It is a tensor with a number of its own that nobody reads. On a card nothing waits: one
        thread launches all operations, in turn.
        """
        loop = op.type in LOOPS
        return self._beside(op, _waiting_of(op, self.batch, turn.fixed) if loop else NOTHING)

    def _beside(self, op: Any, size: Size) -> list[tuple[int, Size]]:
        return [] if size == NOTHING else [(-1 - self._places[op.name], size)]

    def _places_of_maxima(self, op: Any) -> list[int]:
        """The workspace of the forward operation, if this is a backward one that has one."""
        if op.type != "MaxPoolGrad" or op.inputs[1].op.name not in self._places:
            return []
        return [number for number, _ in self._workspace(op.inputs[1].op)]

    def _only_read(self, op: Any) -> list[int]:
        """Lists that a loop takes once more than it does, so that it makes none in their place.

        It has them until it ends; what it makes lies beside them (`Operation.overwrites`).
        """
        return [self.numbers[x.ref()] for x in only_read(op)] if op.type in LOOPS else []

    def _scratch(self, op: Any, scratch: ScratchOf, *, on_cpu: bool) -> Size:
        if op.type in LOOPS:
            listed = put_into_lists(op, self.batch, self._unread) if on_cpu else []
            return _in_a_turn(op, self.batch, "CPU" if on_cpu else "GPU", listed)
        if on_cpu and op.type == LISTING:
            return self._beyond(op.outputs[0])
        return scratch(op, [self.size(x) for x in op.inputs], [self.size(x) for x in op.outputs])

    def _beyond(self, listed: Any) -> Size:
        """What the tensor that a list is made of may have beyond its size, if its elements stay.

        It may lie in a piece of nearly twice as much until the list is made (seen in traces).
        """
        loops = [op for op in listed.consumers() if op.type in LOOPS]
        stays = any(listed.ref() not in {x.ref() for x in only_read(op)} for op in loops)
        return as_list(listed.op.inputs[0], self.batch) if stays else NOTHING

    def _variable(self, op: Any, value: Any) -> Variable:
        matrix = (value.shape.rank or 0) > 1
        return Variable(
            self.numbers[op.inputs[0].ref()], size_of(value, self.batch).fixed, drawn=matrix
        )

    def _seconds(self, op: Any, batch: int) -> float:
        if op.type in NO_MEMORY or shared_inputs(op) or op.type == "Placeholder":
            return 0.0
        sizes = [size_of(x, self.batch) for x in (*op.inputs, *op.outputs)]
        # An update reads the variable too, and writes it.
        moved = sum(size.bytes(batch) for size in sizes) * (3 if op.type in _ASSIGNING else 1)
        worked = moved / BYTES_PER_S + flops(op) * batch / self.batch / FLOPS_PER_S
        return LAUNCH_S + _start(op) + worked


def _start(op: Any) -> float:
    """The seconds that a kernel takes before it works, beyond those of any."""
    return _CONVOLVING_S["Filter" in op.type] if ONE_DNN and "Conv" in op.type else 0.0


# Loops, which recurrent layers are made of


def _ahead(loop: Any, batch: int) -> int:
    """Return the bytes per sample that the turns of a loop make before it is their turn.

    What needs nothing of the turn before is made in as many turns as the loop runs at once, such as
    zeros into which gradients of single elements are put. What those turns leave in lists is not
    there yet, so that only what is more than that counts.
    """
    body = Graph(body_of(loop), batch)
    free, made = {x.ref() for x in body_of(loop).inputs if not body.size(x).per_sample}, 0
    for op in body.operations:
        if op.inputs and all(x.ref() in free or x.op.type == "Const" for x in op.inputs):
            free.update(x.ref() for x in op.outputs)
            own = not shared_inputs(op) and op.type != "Placeholder"
            made += own * sum(body.size(x).per_sample for x in op.outputs)
    listed = [collected(x, batch) for x in loop.outputs if x.dtype.name == "variant"]
    left = sum(size.per_sample // size.pieces for size in listed)
    turns = min(turns_of(loop), loop.get_attr("parallel_iterations")) - 1
    return max(0, int(turns * (made - left)))


def _in_a_turn(loop: Any, batch: int, kind: str, listed: Sequence[Any]) -> Size:
    """Return the most that one iteration of a loop holds on a device besides what it is given.

    What it hands on takes the place of what it was given, which the loop's outputs stand for. So do
    they for what is `listed`, which it makes and puts into lists: of the last turn too, which has
    not made it yet when it is fullest.
    """
    body = Graph(body_of(loop), batch)
    operations = body.as_on(kind)
    given = [s for each in operations for tensor, s in each.makes if tensor in body.given]
    handed_on = [tensor for tensor in body.results if tensor not in body.given]
    put = [x for x in listed if body.numbers[x.ref()] not in body.given]
    lasting = [*handed_on, *(body.numbers[x.ref()] for x in put)]
    run = history(operations, in_one_queue(operations), results=lasting)
    fullest = highest(run.moments).fullest(_TYPICAL)
    counted = [*given, *map(body.size, put)]
    return Size(
        fullest.fixed - sum(size.fixed for size in counted),
        fullest.per_sample - sum(size.per_sample for size in counted),
    )


def _waiting_of(loop: Any, batch: int, own: int) -> Size:
    """Return the bytes that wait in the iterations of a loop if one thread stands still.

    It may be nothing for a large batch. Gradients of weights wait to be added up, those of as many
    iterations as the loop begins before the oldest has ended, and what they are computed from: one
    need not be there yet. What was taken from lists, which count as held all along, is free. One
    gradient more: once in so many turns one gets a block that is nearly twice as large (`Arena`).
    Those of the turn that runs meanwhile are the one more: its `own` bytes are counted there.
    """
    body = Graph(body_of(loop), batch)
    added = _added_up(body)
    ahead = round(DELAY_S / (sum(body.seconds(_TYPICAL)) or 1.0))
    turns = min(turns_of(loop), loop.get_attr("parallel_iterations"), ahead + 1) - 1
    if turns < 1 or not added:
        return NOTHING
    once = sum(body.size(x).fixed for x in added)
    own = min(own, once)
    lists = [x for x in loop.inputs if x.op.type in LOOPS and x.dtype.name == "variant"]
    taken = sum(size.per_sample // size.pieces for size in (collected(x, batch) for x in lists))
    computed_from = (_computed_from(body, added) - taken) * turns
    pieces = turns + (2 * own < once)
    return Size(once * (turns + 1) - own, computed_from, pieces=pieces)


def _computed_from(body: Graph, tensors: Sequence[Any]) -> int:
    """Return the bytes per sample of what an iteration makes tensors of no batch from."""
    waiting, found = [root(x).op for x in tensors if not body.size(x).per_sample], dict[Any, int]()
    while waiting:
        for x in filter(lambda x: x.ref() not in found, map(root, waiting.pop().inputs)):
            found[x.ref()] = body.size(x).per_sample
            waiting += [] if found[x.ref()] else [x.op]
    return sum(found.values())


def added_up_bytes(operation: Any, batch: int) -> int:
    """Return the bytes of gradients that an operation adds up, if it is a loop."""
    body = Graph(body_of(operation), batch) if operation.type in LOOPS else None
    return sum(body.size(x).fixed for x in _added_up(body)) if body else 0


def _added_up(body: Graph) -> list[Any]:
    """What an iteration adds to earlier results, as it does for gradients of weights."""
    adding = [op for op in body.operations if op.type in _ADDING]
    summed = [op for op in adding if any(root(x).op.type == "Placeholder" for x in op.inputs)]
    made = [x for op in summed for x in op.inputs if root(x).op.type != "Placeholder"]
    return [x for x in made if not body.size(x).per_sample]


def flops_with_loops(operation: Any) -> float:
    """The floating-point operations of one operation, or of all turns of a loop."""
    if operation.type not in LOOPS:
        return flops(operation)
    return turns_of(operation) * sum(map(flops_with_loops, body_of(operation).get_operations()))
