"""Count what a traced training step costs.

The costs are each layer's FLOPs and the activations kept for it, and what the step holds moment by
moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any

import msgspec

from gpu_studio.placement.exchange import (
    GATHERING,
    READING,
    SENDING,
    Exchange,
    gathering,
    reading,
    sending,
)
from gpu_studio.placement.in_turn import IN_TURN, in_turn
from gpu_studio.placement.layer_holds import LayerHolds, MetOutputs
from gpu_studio.placement.rehearsal import EachOf, TensorKinds, on_card, on_cpu
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.placement.way_forward import HeldForward, held_forward
from gpu_studio.trainer.answers.beside import beside, each_beside
from gpu_studio.trainer.answers.constants import constants_of
from gpu_studio.trainer.answers.going_back import (
    TAPE,
    computed_early,
    is_taped,
    makers_of,
    own_gradients,
)
from gpu_studio.trainer.answers.graph_tensors import root, size_of, splits_of
from gpu_studio.trainer.answers.layers_on_card import LayersOnCard
from gpu_studio.trainer.answers.moved_factors import in_runs, moved_factors
from gpu_studio.trainer.answers.rewritten_graph import Rewriting, rewritten
from gpu_studio.trainer.answers.sent_tensors import (
    given_back,
    kept_outputs,
    lent_bytes,
    meets_of,
    met_outputs_of,
    waiting_for_gradients,
)
from gpu_studio.trainer.answers.step_costs import LayerCosts, Rehearsal, RehearsedSteps, StepCosts
from gpu_studio.trainer.answers.step_operations import (
    Graph,
    added_up_bytes,
    flops_with_loops,
)
from gpu_studio.trainer.answers.traced_step import LOOP_SCOPE, StepTrace
from gpu_studio.trainer.environment import cores

_CONVOLUTIONS = ("Conv2D", "Conv3D", "DepthwiseConv")
"""How the types of convolutions and of their gradients begin; those over one axis are `Conv2D`."""


def costs_of(
    trace: StepTrace,
    *,
    loaded: bool = False,
    rewriting: Rewriting | None = rewritten,
    rehearsed: bool = True,
    at_once: bool = False,
) -> StepCosts:
    """Read all costs from the graph of a step; `loaded` says whether weights come from a file.

    The graph is looked at as TensorFlow rewrites it, too: by `rewriting`, unless that is None. Its
    optimizer of graphs may end the process instead of raising an error. If no step is `rehearsed`,
    it is not known what one holds. It is rehearsed `at_once` if that is wanted in any case: in
    processes of its own, on a CPU and on cards, while layers are looked at in this one.
    """
    step = _Step(trace, loaded=loaded, rewriting=rewriting if rehearsed else None)
    memory = step.memory(at_once=at_once) if rehearsed else {}
    return StepCosts(step.layers(), memory)


class _Step:
    """The operations of a trace that contribute to its result, in the order they were made."""

    def __init__(self, trace: StepTrace, *, loaded: bool, rewriting: Rewriting | None) -> None:
        self._trace, self._loaded, self._rewriting = trace, loaded, rewriting
        self.graph = Graph(trace.graph, trace.batch)
        self._own = own_gradients(self.graph.operations, trace.layer_of, trace.gradients)
        early = computed_early(self.graph.operations, self._paths(), self._is_of_gradients)
        self.graph.early = early
        self._kept = self._kept_tensors()
        self.graph.moved = {"GPU": moved_factors(self.graph, self._is_backward)}

    # Layers

    def layers(self) -> dict[str, LayerCosts]:
        graph, layer_of, goes_back = self.graph, self._trace.layer_of, self._is_of_gradients
        kept, forward, backward = self._kept_bytes(), *self._flops()
        paths, keepers, needing = self._paths(), self._keepers(), self._keep_inputs()
        outputs_kept = kept_outputs(graph, layer_of, self._trace.outputs, keepers, goes_back)
        lent = lent_bytes(graph, paths, keepers, self._is_backward)
        given = given_back(graph, paths, goes_back)
        added, outputs = self._added_up(), self._output_bytes()
        convolving = self._convolving()
        meets = meets_of(graph, layer_of, outputs, goes_back)
        met = met_outputs_of(graph, layer_of, goes_back)
        return self._on_a_card(
            {
                path: LayerCosts(
                    output_shape=tuple(calls[0][0].shape.as_list()[1:]) if calls[0] else (),
                    output_bytes=outputs[path],
                    output_kept_bytes=outputs_kept[path],
                    kept_bytes=kept.get(path, 0),
                    lent_bytes=lent.get(path, 0),
                    gives_back=given.get(path, 0),
                    row_bytes=self._trace.rows.get(path, 0),
                    shape_bytes=self._trace.shapes.get(path, 0),
                    added_up_bytes=added.get(path, 0),
                    keeps_inputs=path in needing,
                    meets=meets.get(path, ()),
                    met_outputs=met.get(path, MetOutputs()),
                    flops_forward=forward.get(path, 0.0),
                    flops_backward=backward.get(path, 0.0),
                    convolves=path in convolving,
                )
                for path, calls in self._trace.outputs.items()
            }
        )

    def _on_a_card(self, found: dict[str, LayerCosts]) -> dict[str, LayerCosts]:
        """Return the costs with what a card holds while each layer is computed."""
        among = frozenset(self._numbers(ref.deref() for ref in self._kept))
        keeping, paths = {path: each.kept_bytes for path, each in found.items()}, self._paths()
        going_back = list(map(self._is_backward, self.graph.operations))
        on_card = LayersOnCard(self.graph, paths, keeping, going_back, among)
        held, late, behind = on_card.held(), on_card.outlived(), on_card.behind()
        spared = on_card.spared(held)
        ahead = held_forward(self.graph.as_on("GPU"), paths, going_back, among | self.graph.given)
        moved = self._moved_forward()
        once = {path for path, calls in self._trace.outputs.items() if len(calls) == 1}
        whole = {}
        for path, each in found.items():
            holds, more = held.get(path, LayerHolds()), moved.get(path, 0)
            later, far = late.get(path, holds), behind.get(path, holds)
            forward = ahead.get(path, HeldForward()) if path in once else HeldForward()
            whole[path] = replace(
                each,
                kept_bytes=each.kept_bytes + more,
                passing_bytes=holds.passing,
                forward_bytes=forward.beyond,
                let_go_bytes=forward.let_go,
                made_bytes=forward.made,
                around_bytes=holds.around + more,
                outlived_bytes=holds.grown(later),
                behind_bytes=min(holds.grown(far), later.grown(far)),
                apart=holds.apart(later, far),
                spared_bytes=spared.get(path, 0) if path in once else 0,
                kernels=tuple(
                    each._replace(beside=each.beside + more) for each in holds.kernels(later)
                ),
            )
        return whole

    def _moved_forward(self) -> dict[str, int]:
        """Return what layers keep more as TensorFlow rewrites the graph, by their paths.

        It moves terms of softmax' gradients forward, which wait there for their gradients.
        """
        if (run := self._rewritten) is None:
            return {}
        last, layer = next(reversed(self._trace.outputs), ""), partial(self._path_of, renamed=True)
        traced = waiting_for_gradients(self.graph, layer, last, self._is_of_gradients)
        moved = waiting_for_gradients(run, layer, last, self._is_of_gradients)
        return {path: max(0, size - traced.get(path, 0)) for path, size in moved.items()}

    @cached_property
    def _rewritten(self) -> Graph | None:
        """The graph as TensorFlow rewrites it; None if it has loops, or cannot be made out."""
        try:
            return self.graph.rewritten(self._rewriting) if self._rewriting else None
        except Exception:  # noqa: BLE001 (whatever TensorFlow makes of a graph)
            return None

    def _output_bytes(self) -> dict[str, int]:
        return {
            path: sum(size_of(x, self._trace.batch).per_sample for call in calls for x in call)
            for path, calls in self._trace.outputs.items()
        }

    def _convolving(self) -> set[str]:
        pairs = zip(self.graph.operations, self._paths(), strict=True)
        return {path for op, path in pairs if op.type.startswith(_CONVOLUTIONS)}

    def _added_up(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for op, path in zip(self.graph.operations, self._paths(), strict=True):
            found[path] = found.get(path, 0) + added_up_bytes(op, self._trace.batch)
        return found

    def _kept_tensors(self) -> set[Any]:
        """Return the roots of tensors that forward operations make and backward operations read."""
        taken = (x for op in self.graph.operations if self._is_backward(op) for x in op.inputs)
        roots = {root(x).ref() for x in taken if not self._is_backward(x.op)}
        return {
            ref
            for ref in roots
            if not self._is_backward(ref.deref().op) and ref.deref().op.type != "Placeholder"
        }

    def _keep_inputs(self) -> set[str]:
        """Return the layers whose backward operations read what other layers have made."""
        makers = self._makers()
        return {
            path
            for op, path in zip(self.graph.operations, self._paths(), strict=True)
            if self._is_backward(op)
            for source in (root(x).op for x in op.inputs)
            if not self._is_backward(source)
            # Of no layer are the zeros that a loop's gradients begin with.
            and makers.get(source.name, path) != path
            and self.graph.size(source.outputs[0]).per_sample
        }

    def _kept_bytes(self) -> dict[str, int]:
        kept: dict[str, int] = {}
        for ref, path in self._keepers().items():
            kept[path] = kept.get(path, 0) + self.graph.size(ref.deref()).per_sample
        return kept

    def _keepers(self) -> dict[Any, str]:
        """Return what is kept, by reference, with the layer that made it."""
        makers = self._makers()
        return {ref: makers.get(ref.deref().op.name, "") for ref in self._kept}

    def _makers(self) -> dict[str, str]:
        early = {op.name: self._path_of(op) for op in self.graph.operations if self._is_early(op)}
        return makers_of(self.graph.operations, self._trace.layer_of, early, self._is_backward)

    def _flops(self) -> tuple[dict[str, float], dict[str, float]]:
        forward: dict[str, float] = {}
        backward: dict[str, float] = {}
        for op, path in zip(self.graph.operations, self._paths(), strict=True):
            sums = backward if self._is_of_gradients(op) else forward
            sums[path] = sums.get(path, 0.0) + flops_with_loops(op) / self._trace.batch
        return forward, backward

    def _is_of_gradients(self, op: Any) -> bool:
        return is_taped(op) or op.name in self._own

    def _is_early(self, op: Any) -> bool:
        return op.name in self.graph.early

    def _is_backward(self, op: Any) -> bool:
        return self._is_of_gradients(op) and not self._is_early(op)

    def _paths(self) -> list[str]:
        """Return the layer of each operation; empty where there is none."""
        return [self._path_of(op) for op in self.graph.operations]

    def _path_of(self, op: Any, *, renamed: bool = False) -> str:
        """Return the layer of an operation; one that may be `renamed` is known by its scope."""
        known = self._trace.layer_of.get(op.name, "") or self._own.get(op.name, "")
        if self._is_of_gradients(op) or (renamed and not known):
            return _scoped(op.name.removeprefix(TAPE), self._scopes) or known
        return known

    @cached_property
    def _scopes(self) -> dict[str, str]:
        """Return the layer of each scope that its forward operations are in.

        Its gradients are in a scope of the same name below another.
        """
        return {
            name.rpartition("/")[0]: path
            for name, path in self._trace.layer_of.items()
            if "/" in name and name.rpartition("/")[0] != LOOP_SCOPE
        }

    # Memory

    def memory(self, *, at_once: bool) -> RehearsedSteps:
        """Return what the step holds on each kind of device, rehearsed from now on if `at_once`."""
        graph = self.graph
        gradients = frozenset(self._numbers(self._trace.gradients))
        given = (x for calls in self._trace.outputs.values() for call in calls for x in call)
        kept = frozenset(self._numbers(ref.deref() for ref in self._kept))
        marks = TensorKinds(
            graph.results, graph.given, tuple(self._numbers(given)), gradients, kept, self._loaded
        )
        splits = splits_of(graph.operations, graph.batch)
        marks = replace(marks, constants=constants_of(self._trace.graph), splits=splits)
        on_one = cache(graph.with_turns_ahead)

        def exchanging(exchange: Exchange, *, late: bool = False) -> StepMemory:
            return on_card(exchange.operations, marks, exchange.received, late=late)

        def taking_turns() -> StepMemory:
            parts = in_turn(on_one(), gradients, graph.given)
            return on_card(parts.operations, replace(marks, results=parts.sums), parts.received)

        on_a_cpu = {"CPU": partial(self._on_cpu, marks, each_beside if at_once else map)}
        on_cards = {
            "GPU": lambda: on_card(on_one(), marks),
            SENDING: lambda: exchanging(sending(on_one(), gradients), late=True),
            GATHERING: lambda: exchanging(gathering(on_one(), gradients)),
            READING: lambda: exchanging(reading(graph.with_weights_sent(), gradients)),
            IN_TURN: taking_turns,
        }
        if not at_once:
            return RehearsedSteps(on_a_cpu | on_cards)
        _ = self._rewritten  # TensorFlow may rewrite it in this process only
        return RehearsedSteps(_begun(on_a_cpu) | _begun(on_cards))

    def _on_cpu(self, marks: TensorKinds, each_of: EachOf) -> StepMemory:
        """What it holds on a CPU; of the traced graph alone if the other cannot be made out."""
        traced = self.graph.as_on("CPU"), self.graph.seconds
        rehearsed = partial(on_cpu, *traced, each_of=each_of)
        with suppress(Exception):  # whatever TensorFlow makes of a graph, and its sizes
            if (run := self._rewritten) is not None:
                moved, sure = in_runs(run, self.graph, self._is_backward)
                run.moved = {"CPU": moved}
                ranked = replace(marks, ranks=self.graph.ranks_in(run))
                return rehearsed(ranked, cores(), (run.as_on("CPU"), run.seconds), sure=sure)
        return rehearsed(marks, cores())

    def _numbers(self, tensors: Iterable[Any]) -> Iterator[int]:
        return (self.graph.numbers[x.ref()] for x in tensors if x.ref() in self.graph.numbers)


def _begun(rehearsals: Mapping[str, Rehearsal]) -> dict[str, Rehearsal]:
    """Begin with these in a copy of the process; return what waits for each."""

    def all_of_them() -> bytes:
        return msgspec.json.encode({kind: each() for kind, each in rehearsals.items()})

    result = beside(all_of_them)
    found = cache(lambda: msgspec.json.decode(result(), type=dict[str, StepMemory]))

    def one_of_them(kind: str) -> StepMemory:
        return found()[kind]

    return {kind: partial(one_of_them, kind) for kind in rehearsals}


def _scoped(name: str, scopes: dict[str, str]) -> str | None:
    """Return the layer of the innermost scope that contains `name`."""
    scope = name.rpartition("/")[0]
    while scope:
        if scope in scopes:
            return scopes[scope]
        scope = scope.rpartition("/")[0]
    return None
