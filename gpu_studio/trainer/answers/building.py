"""Build a plan's model for a question as a run builds it, and gather the facts about it.

Of the data, only the shapes need be known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from gpu_studio import plan as plans
from gpu_studio.placement.plan_facts import (
    ArrayFacts,
    GraphLayer,
    Learnt,
    ModelFacts,
    ModelGraph,
    ModelNote,
)
from gpu_studio.plan import Target
from gpu_studio.trainer import devices, keras_objects, practice
from gpu_studio.trainer.answers.rewritten_graph import Rewriting, rewritten
from gpu_studio.trainer.answers.step_costs import LayerCosts
from gpu_studio.trainer.answers.step_trace import costs_of
from gpu_studio.trainer.answers.traced_step import trace_step
from gpu_studio.trainer.data import Dataset, Split
from gpu_studio.trainer.data.trees import built, flat, is_nested, mapped
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.inner_metrics import InnerMetrics
from gpu_studio.trainer.keras_objects.as_compiled import forget_compiled
from gpu_studio.trainer.layer_state import is_apart
from gpu_studio.trainer.meters import Meters
from gpu_studio.trainer.model_ends import End, inputs_of, outputs_of
from gpu_studio.trainer.model_layers import (
    PlaceableLayer,
    output_shape,
    placeable_layers,
)
from gpu_studio.trainer.models import build_model
from gpu_studio.trainer.models.building import freeze_for_most, made_frozen
from gpu_studio.trainer.models.own_models import notes_on
from gpu_studio.trainer.models.own_training import optimizers_of, own_in_steps
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.replica_updates import is_conditional
from gpu_studio.trainer.target_words import oddities_of
from gpu_studio.trainer.xla import xla_facts

_SEED = 0
_STEPS = 1_000_000
"""Steps that the learning rate is planned over: no schedule is asked for here."""


def set_precision(plan: plans.Plan) -> str:
    """Set Keras' precision policy for this plan, then hide the cards.

    A question must not create a CUDA context on any of them.
    """
    practice.load()
    devices.count_host_memory()
    cards = bool(tf.config.list_physical_devices("GPU"))
    names = plan.distribution.devices or (("GPU:0",) if cards else ("CPU:0",))
    own = plan.model.python is not None
    policy = devices.set_precision(plan.training.mixed_precision, names, own=own)
    tf.config.set_visible_devices([], "GPU")
    return policy


_AS_SEEN: dict[str, Any] = {"scale": "none", "measured": False}
"""Of a split whose types are those that a model sees already."""


def stand_in(data: dict[str, Any]) -> Dataset:
    """Return a dataset of one sample, with the shape that `data` states.

    If the sample consists of tokens, its token is the largest one.
    """
    arrays = [each for part in ("inputs", "targets", "weights") for each in data.get(part) or ()]
    if arrays and (len(arrays) != 2 or any(each["path"] for each in arrays)):
        return _nested_stand_in(data)
    largest = data.get("largest_token") or 0
    x = _full(data["x_shape"], data["x_dtype"], largest)
    shape, measured = tuple(data["y_shape"]), str(data["y_dtype"]).startswith("float")
    signed = data.get("largest_token") is None
    split = Split(x, np.zeros((1, *shape), data["y_dtype"]), signed=signed, **_AS_SEEN)
    ids = data["classes"] if data.get("ids") is None else data["ids"]
    known = Target(shape, measured, ids, bool(data.get("one_hot")))
    target = _between(known, next(iter(data.get("targets") or ({},))))
    return Dataset(data["name"], split, None, None, target)


def _between(target: Target, described: dict[str, Any]) -> Target:
    """Return the target with the numbers that it was seen to be between, and what it lacks."""
    low, high = described.get("between") or (0.0, 0.0)
    return replace(target, lowest=low, highest=high, missing=described.get("missing"))


def _full(shape: Sequence[int], dtype: str, value: Any) -> Any:
    """Return one sample that holds the value everywhere, in words where it is made of texts."""
    return np.full((1, *shape), value, "U1" if dtype == "string" else dtype)


def _nested_stand_in(data: dict[str, Any]) -> Dataset:
    largest = data.get("largest_token") or 0

    def one(described: dict[str, Any], value: Any = 0) -> Any:
        return _full(described["shape"], described["dtype"], value)

    def tree(part: str, made: Callable[[dict[str, Any]], Any]) -> Any:
        return built((each["path"], made(each)) for each in data.get(part) or ())

    split = Split(
        tree("inputs", lambda each: one(each, largest)),
        tree("targets", one),
        weights=tree("weights", one),
        **_AS_SEEN,
    )
    target = tree(
        "targets",
        lambda each: _between(
            Target(
                tuple(each["shape"]),
                each["dtype"].startswith("float"),
                each.get("ids"),
                bool(each.get("one_hot")),
            ),
            each,
        ),
    )
    return Dataset(data["name"], split, None, None, target)


def model_of(plan: plans.Plan, dataset: Dataset) -> Any:
    """Return the Keras model of a plan with absolute paths. Raises ModelError and Keras' errors.

    It is in the phase that trains the most weights, and so takes the most memory.
    """
    model = build_model(plan.model, dataset, Path(), _SEED)
    freeze_for_most(model, plan)
    return model


def from_file(model: plans.ModelSettings) -> bool:
    """Return whether the model's weights are read from a file."""
    return bool(model.file or model.weights)


def notes_of(
    plan: plans.Plan, model: Any, dataset: Dataset, data: dict[str, Any]
) -> tuple[ModelNote, ...]:
    """Return what deserves a warning about the plan's model on the data that `data` describes."""
    seen = data.get("lowest") or 0.0, data.get("highest") or 0.0
    return notes_on(plan, model, dataset, seen, whole=False)


def _nobody() -> None:
    return


def facts_of(
    training: plans.Training,
    dataset: Dataset,
    model: Any,
    *,
    loaded: bool = False,
    rewriting: Rewriting | None = rewritten,
    rehearsed: bool = True,
    at_once: bool = False,
    traced: Callable[[], object] = _nobody,
) -> ModelFacts:
    """Return the model's layers, its optimizer's slots and what a step holds. Raises PlanRefused.

    `loaded` says whether the weights come from a file; `rewriting`, `rehearsed` and `at_once` as in
    `costs_of`; `dict(steps)` has all steps. `traced` is called when the user's code has done all.
    """
    layers = placeable_layers(model)
    if own := own_in_steps(model):
        return _of_own_steps(_graph(model, dataset, layers, {}), model, own)
    optimizer = keras_objects.make_optimizer(training, _STEPS, _STEPS, model)
    slots, shared = _slots(optimizer, model, layers)
    learners = _learners_of(training, dataset, model)
    program = _program(model, optimizer, keras_objects.make_objective(learners))
    trace = trace_step(program, dataset, layers)
    traced()
    how = {"loaded": loaded, "rehearsed": rehearsed, "at_once": at_once}
    costs, heads = costs_of(trace, rewriting=rewriting, **how), program.loss.heads
    learnt = _each_learnt(learners, heads)
    return replace(
        _of_no_step(model),
        graph=_graph(model, dataset, layers, costs.layers),
        learnt=next(iter(learnt.values())) if len(learnt) == len(model.outputs) == 1 else None,
        learners=learnt,
        measures=tuple(program.measures),
        conditional=is_conditional(optimizer),
        slots=slots,
        shared_slots=shared,
        steps=costs.steps,
        notes=_odd(dataset, learners, heads),
    )


def _of_no_step(model: Any) -> ModelFacts:
    """What is known of a model without a step of it."""
    return ModelFacts(
        inputs=tuple(map(_end, inputs_of(model))),
        outputs=tuple(map(_end, outputs_of(model))),
        state_bytes=_state_bytes(model),
        xla=xla_facts(model),
    )


def _learners_of(
    training: plans.Training, dataset: Dataset, model: Any
) -> list[keras_objects.Learner]:
    with keras_objects.without_samples():
        return keras_objects.learners_of(training, dataset, model)


def _program(model: Any, optimizer: Any, loss: Any) -> Program:
    meters = Meters(loss.heads, InnerMetrics(model))
    return Program(tf.distribute.get_strategy(), model, optimizer, loss, meters, _SEED)


def _state_bytes(model: Any) -> int:
    """Return the bytes of the model's variables that are no weights."""
    weights = {id(variable) for variable in model.weights}
    return sum(_bytes(v) for v in model.variables if id(v) not in weights)


def _of_own_steps(graph: ModelGraph, model: Any, own: Iterable[str]) -> ModelFacts:
    """Facts without what its steps hold, which is not known: they may do anything."""
    conditional = any(map(is_conditional, optimizers_of(model).values()))
    return ModelFacts(graph, own_steps=tuple(own), conditional=conditional, xla=xla_facts(model))


def _odd(
    dataset: Dataset,
    learners: Sequence[keras_objects.Learner],
    heads: Sequence[keras_objects.Head],
) -> tuple[ModelNote, ...]:
    found = oddities_of(dataset, learners, heads)
    return tuple(ModelNote(each.name, each.text, f"{each.why} {each.advice}") for each in found)


def _each_learnt(
    learners: Sequence[keras_objects.Learner], heads: Sequence[keras_objects.Head]
) -> dict[str, Learnt]:
    both = zip(learners, heads, strict=True)
    return {learner.end.name: _learnt(learner, head) for learner, head in both if head.learns}


def _learnt(learner: keras_objects.Learner, head: keras_objects.Head) -> Learnt:
    return Learnt(
        learner.form.kind,
        learner.form.logits,
        head.loss.name,
        tuple(metric.name for metric in head.metrics),
        masked=getattr(learner.end.tensor, "_keras_mask", None) is not None,
        compiled=keras_objects.counts_as_compiled(learner),
        lossless=learner.given.metrics is not None and learner.given.loss is None,
        several=any(getattr(metric, "gives_several", False) for metric in head.metrics),
    )


def _end(end: End) -> ArrayFacts:
    return ArrayFacts(end.path, end.shape, str(end.tensor.dtype), name=end.name)


def facts_untrained(dataset: Dataset, model: Any) -> ModelFacts:
    """Return the facts of a model whose training is refused, as if it was not compiled.

    What a step would hold is not among them: that takes longer than all else.
    Only what goes in and comes out, where it cannot be trained whatever the plan says.
    """
    forget_compiled(model)
    whole = mapped(lambda target: replace(target, missing=None), dataset.target)
    dataset = replace(dataset, target=whole)
    try:
        return facts_of(plans.Training(), dataset, model, rehearsed=False)
    except TrainerError:  # as where an output has no target
        inputs, outputs = (tuple(map(_end, ends(model))) for ends in (inputs_of, outputs_of))
        return ModelFacts(inputs=inputs, outputs=outputs)


def _slots(optimizer: Any, model: Any, layers: list[PlaceableLayer]) -> tuple[dict[str, int], int]:
    """Return the optimizer's bytes by layer, and of those that belong to no layer."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    added = inner.add_variable_from_reference
    owned: list[tuple[Any, Any]] = []

    def noting(*arguments: Any, **options: Any) -> Any:
        reference = arguments[0] if arguments else options["reference_variable"]
        with tf.variable_creator_scope(partial(_without_value, reference)):
            slot = added(*arguments, **options)
        owned.append((reference, slot))
        return slot

    # Only here does Keras know which weight a slot belongs to.
    inner.add_variable_from_reference = noting
    try:
        optimizer.build(model.trainable_variables)
    finally:
        del inner.add_variable_from_reference
    owner = {id(v): each.path for each in layers for v in each.layer.weights}
    slots: dict[str, int] = {}
    for reference, slot in owned:
        path = owner.get(id(reference), "")
        slots[path] = slots.get(path, 0) + _bytes(slot)
    slots.pop("", None)
    return slots, sum(_bytes(v) for v in optimizer.variables) - sum(slots.values())


def _without_value(like: Any, _make: Any, **options: Any) -> Any:
    """Return a slot that takes no memory, with which a large model may not fit on this machine."""
    named = {name: options.get(name) for name in ("name", "dtype", "trainable", "aggregation")}
    return UninitializedVariable(shape=like.shape, **named)


def _graph(
    model: Any, dataset: Dataset, layers: list[PlaceableLayer], costs: dict[str, LayerCosts]
) -> ModelGraph:
    return ModelGraph(
        name=model.name,
        layers=tuple(_layer(each, costs.get(each.path, LayerCosts()), model) for each in layers),
        input_shape=() if is_nested(dataset.train.x) else dataset.sample_shape,
        output_shape=output_shape(model) if len(getattr(model, "outputs", None) or ()) == 1 else (),
        input_bytes=sum(int(each.nbytes) for each in flat(dataset.train.seen(slice(1)))),
    )


def _layer(placeable: PlaceableLayer, costs: LayerCosts, model: Any) -> GraphLayer:
    # Asked of the whole model: a layer may be trainable within a model that is not.
    trained = {id(variable) for variable in model.trainable_weights}
    weights, own = placeable.layer.weights, placeable.layer.trainable_weights
    trainable = [variable for variable in weights if id(variable) in trained]
    frozen = not placeable.layer.trainable or bool(own and not trainable)
    known = {each.name: getattr(costs, each.name) for each in fields(costs)}
    known["meets"] = tuple(each for each in costs.meets if {*each} <= {*placeable.inputs})
    return GraphLayer(
        name=placeable.path,
        kind=type(placeable.layer).__name__,
        inputs=placeable.inputs,
        parameters=sum(math.prod(v.shape) for v in weights),
        trainable=sum(math.prod(v.shape) for v in trainable),
        weight_bytes=sum(map(_bytes, weights)),
        trainable_bytes=sum(map(_bytes, trainable)),
        normalises_apart=is_apart(placeable.layer),
        frozen=frozen,
        made_frozen=made_frozen(model, placeable.path, now=frozen),
        **known,
    )


def _bytes(variable: Any) -> int:
    elements = math.prod(variable.shape)
    return int(elements * variable.value.dtype.size)
