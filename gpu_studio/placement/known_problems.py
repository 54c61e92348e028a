"""Problems that keep a plan from training and that only its data and model can show.

They are listed together with the problems that the plan's own rules find. One of them is a
layer that cannot have its units split over several devices, judged by its kind and shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_studio.placement.plan_facts import ArrayFacts, GraphLayer, PlanFacts, paired
from gpu_studio.placement.start_problems import problems_at_start
from gpu_studio.plan import (
    Machine,
    Named,
    OutputTraining,
    Placed,
    Plan,
    Problem,
    Remedy,
    Training,
    changing,
    kind_of,
    listed,
    nearest,
    path_to,
    reference,
    strategy_of,
)
from gpu_studio.plan.strategies.parameter_server import own_steps_refused

PLACED = "distribution.placed"
LAYERS = f"{PLACED}.layers"
_FEW = 3
"""This many layers are named; the others are counted."""

Places = tuple[tuple[str, tuple[str, ...]], ...]
Mended = tuple[str, Mapping[str, Any]]
"""What a button says, and the fields of the training that it sets."""


@dataclass(frozen=True, slots=True)
class Refusal(Problem):
    """TensorFlow, Keras or the user's code refused the part `field`; `received` is their sentence.

    `details` is the traceback; empty if there is none to show. `mended` are what the plan's
    training can learn with instead.
    """

    details: str = ""
    mended: tuple[Mended, ...] = field(default=(), hash=False)

    @property
    def mends(self) -> tuple[Remedy, ...]:
        """The edits that mend it."""
        return tuple(changing(label, "training", **changed) for label, changed in self.mended)

    def __str__(self) -> str:
        return " ".join(each for each in (f"{self.field}: {self.received}", self.advice) if each)


@dataclass(frozen=True, slots=True)
class MisplacedLayers(Problem):
    """Layers that cannot run as placed.

    `mended` is the placement without them, `label` its button.
    """

    label: str
    mended: Places

    @property
    def mend(self) -> Remedy:
        """The edit that makes the placement trainable."""
        return changing(self.label, PLACED, layers=dict(self.mended))


def known_problems(
    plan: Plan,
    facts: PlanFacts,
    others: Sequence[Problem] = (),
    machine: Machine | None = None,
) -> tuple[Problem, ...]:
    """Every problem of `plan` that its data and model show, on this machine if it is known.

    None if they could not be examined just now. A refusal of a part in which the `others` found the
    mistake already would only repeat them, and is left out.
    """
    fields = {each.field for each in others}
    spoilt = {field.partition(".")[0] for field in fields}
    refused = (each for each in _refusals(plan, facts) if each.field not in spoilt)
    started = problems_at_start(plan, facts, machine)
    return (
        *refused,
        *misplaced(plan, facts),
        *(each for each in started if each.field not in fields),
    )


def _refusals(plan: Plan, facts: PlanFacts) -> Iterator[Refusal]:
    model = facts.model
    if facts.data_error and not facts.of_the_moment:
        yield Refusal("data", facts.data_error, " ".join(facts.advice), facts.details)
    error = model.model_error or model.training_error if model else ""
    if model and error and not model.of_the_moment:
        part = "model" if model.model_error else "training"
        mended = tuple(_mended(plan.training, facts)) if part == "training" else ()
        yield Refusal(part, error, " ".join(model.advice), model.details, mended)
    if model and model.own_steps and strategy_of(plan).places_layers:
        said = f"The model has its own {model.own_steps[0]}, and only Keras' own can be placed."
        advice = "Choose another strategy: what a step of its own computes belongs to no layer."
        yield Refusal("distribution.strategy", said, advice)
    if model and model.own_steps and strategy_of(plan).serves:
        yield Refusal("distribution.strategy", *own_steps_refused(model.own_steps[0]))


def _mended(training: Training, facts: PlanFacts) -> Iterator[Mended]:
    """Ways in which each output learns its target, where the plan names what cannot be."""
    data, ends = facts.data, facts.model.outputs if facts.model else ()
    if data is None or not ends:
        return
    yield from _without_unknown_outputs(training, [end.name for end in ends])
    if training.class_weight and len(ends) > 1:
        yield "Leave the class weights out", {"class_weight": {}}
    for given, end in paired(data.targets, ends):
        if end is not None:
            yield from _learning(training, given, end, alone=len(ends) == 1)


def _without_unknown_outputs(training: Training, names: Sequence[str]) -> Iterator[Mended]:
    for name in training.outputs:
        if name in names:
            continue
        left = [each for each in names if each not in training.outputs]
        if close := nearest(name, left):
            renamed = {close if key == name else key: own for key, own in training.outputs.items()}
            yield f"Use {close}", {"outputs": renamed}
        kept = {key: own for key, own in training.outputs.items() if key != name}
        yield f"Take {name} out", {"outputs": kept}


def _learning(
    training: Training, given: ArrayFacts | None, end: ArrayFacts, *, alone: bool
) -> Iterator[Mended]:
    """What else this output may learn by, if not by what the plan says."""
    own = training.outputs.get(end.name, OutputTraining())
    named = (own.loss or training.loss).name
    if named == "none" or reference(named):
        return

    if given is None:
        if not alone:
            yield _with_loss(training, end.name, "none", alone=alone)
    elif kind_of(given.target, end.shape, named) is None:
        usual = ("auto", "mean_squared_error")
        fitting = (loss for loss in usual if kind_of(given.target, end.shape, loss))
        if loss := next(fitting, ""):
            yield _with_loss(training, end.name, loss, alone=alone)


def _with_loss(training: Training, output: str, loss: str, *, alone: bool) -> Mended:
    if alone and output not in training.outputs:
        return f"Use {loss}", {"loss": Named(loss)}
    own = replace(training.outputs.get(output, OutputTraining()), loss=Named(loss))
    label = f"Let {output} learn nothing" if loss == "none" else f"Use {loss} for {output}"
    return label, {"outputs": {**training.outputs, output: own}}


def misplaced(plan: Plan, facts: PlanFacts) -> Iterator[MisplacedLayers]:
    """One problem for all layers that the model lacks, and one for each that cannot be split."""
    if not strategy_of(plan).places_layers or facts.graph is None:
        return
    places = dict((plan.distribution.placed or Placed()).layers)
    layers = {layer.name: layer for layer in facts.graph.layers}
    if unknown := [name for name in places if name not in layers]:
        yield without_unknown(places, unknown, list(layers))
    for name, devices in places.items():
        why = why_not_split(layers[name], devices) if name in layers and len(devices) > 1 else ""
        if why:
            said, label = f"split over {len(devices)} devices", f"Keep it on {devices[0]}"
            yield MisplacedLayers(
                path_to(LAYERS, name),
                said,
                f"{why} Give it one device.",
                label,
                _only_first(places, name),
            )


def without_unknown(
    places: dict[str, tuple[str, ...]], unknown: Sequence[str], layers: Sequence[str]
) -> MisplacedLayers:
    """The problem that `places` names `unknown` layers; the model's are `layers`."""
    kept = tuple((name, devices) for name, devices in places.items() if name not in unknown)
    if len(unknown) > 1:
        named = [*unknown[:_FEW], *([f"{len(unknown) - _FEW} more"] if len(unknown) > _FEW else [])]
        said = f"given for {listed(named)}, which the model does not have"
        return MisplacedLayers(LAYERS, said, "take them out", "Take them out", kept)
    close = nearest(unknown[0], layers)
    advice = f"did you mean {close}? Otherwise take it out" if close else "take it out"
    return MisplacedLayers(
        path_to(LAYERS, unknown[0]), "not a layer of the model", advice, "Take it out", kept
    )


def _only_first(places: dict[str, tuple[str, ...]], name: str) -> Places:
    return tuple(
        (each, devices[:1] if each == name else devices) for each, devices in places.items()
    )


SPLIT_KINDS = frozenset(
    {"Dense", "Embedding"}
    | {f"Conv{rank}D{suffix}" for rank in (1, 2, 3) for suffix in ("", "Transpose")}
)
"""Each unit of these needs only its own weights. The trainer's own rule also checks the options: it
refuses grouped convolutions, constraints, and regularizers that are not sums over a weight."""


def why_not_split(layer: GraphLayer, devices: Sequence[str]) -> str:
    """Why the units of `layer` cannot be split over this many devices, in a sentence.

    Empty if they can.
    """
    if layer.kind not in SPLIT_KINDS:
        return f"The layer {layer.name} cannot be split: a {layer.kind} has no units of its own."
    units = units_of(layer)
    if units is not None and units < len(devices):
        return f"The layer {layer.name} has {units} units, fewer than {len(devices)} devices."
    return ""


def units_of(layer: GraphLayer) -> int | None:
    """The number of units of a layer; None for kinds without them.

    Channels are the last output axis.
    """
    if layer.kind not in SPLIT_KINDS or not layer.output_shape:
        return None
    return layer.output_shape[-1]
