"""Build a plan's model, optimizer, loss and metrics for a question, as a run builds them.

Of the data, only the shapes need be known.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio import plan as plans
from gpu_studio.placement.model_graph import GraphLayer, ModelGraph
from gpu_studio.placement.plan_facts import ModelFacts, ModelNote
from gpu_studio.trainer import keras_objects, precision
from gpu_studio.trainer.answers.step_costs import LayerCosts, costs_of
from gpu_studio.trainer.answers.step_trace import trace_step
from gpu_studio.trainer.data import Dataset, Split
from gpu_studio.trainer.meters import Meters
from gpu_studio.trainer.model_layers import PlaceableLayer, placeable_layers
from gpu_studio.trainer.models import build_model
from gpu_studio.trainer.models.notes import notes_on
from gpu_studio.trainer.normalisation import is_apart
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.sole_output import output_shape

_SEED = 0
_STEPS = 1_000_000
"""Steps that the learning rate is planned over: no schedule is asked for here."""


def set_precision(plan: plans.Plan) -> str:
    """Set Keras' precision policy for this plan, then hide the cards.

    A question must not create a CUDA context on any of them.
    """
    cards = bool(tf.config.list_physical_devices("GPU"))
    names = plan.distribution.devices or (("GPU:0",) if cards else ("CPU:0",))
    policy = precision.set_precision(plan.training.mixed_precision, names)
    tf.config.set_visible_devices([], "GPU")
    return policy


def stand_in(data: dict[str, Any]) -> Dataset:
    """Return a dataset of one sample, with the shape that `data` states.

    If the sample consists of tokens, its token is the largest one.
    """
    largest = data.get("largest_token") or 0
    x = np.full((1, *data["x_shape"]), largest, data["x_dtype"])
    split = Split(x, np.zeros((1, *data["y_shape"]), data["y_dtype"]))
    return Dataset(data["name"], split, None, None, data["task"], data["classes"])


def model_of(plan: plans.Plan, dataset: Dataset) -> Any:
    """Return the Keras model of a plan with absolute paths. Raises ModelError and Keras' errors."""
    return build_model(plan.model, dataset, Path(), _SEED)


def notes_of(
    plan: plans.Plan, model: Any, dataset: Dataset, data: dict[str, Any]
) -> tuple[ModelNote, ...]:
    """Return what deserves a warning about the plan's model on the data that `data` describes."""
    return notes_on(
        plan.model, model, dataset, (data.get("lowest") or 0.0, data.get("highest") or 0.0)
    )


def facts_of(
    training: plans.Training, dataset: Dataset, model: Any, *, loaded: bool = False
) -> ModelFacts:
    """Return the model's layers, its optimizer's slots and what a step holds. Raises PlanRefused.

    `loaded` says whether the weights come from a file.
    """
    optimizer = keras_objects.make_optimizer(training, _STEPS, _STEPS)
    layers = placeable_layers(model)
    slots, shared = _slots(optimizer, model, layers)
    form = keras_objects.OutputForm.of(dataset, model)
    meters = Meters(keras_objects.make_metrics(training, dataset, form), _example(dataset, model))
    loss = keras_objects.make_loss(training, dataset, form)
    program = Program(tf.distribute.get_strategy(), model, optimizer, loss, meters, _SEED)
    costs = costs_of(trace_step(program, dataset, layers), loaded=loaded)
    weights = {id(variable) for variable in model.weights}
    return ModelFacts(
        graph=_graph(model, dataset, layers, costs.layers),
        slots=slots,
        shared_slots=shared,
        state_bytes=sum(_bytes(v) for v in model.variables if id(v) not in weights),
        steps=costs.steps,
    )


def _slots(optimizer: Any, model: Any, layers: list[PlaceableLayer]) -> tuple[dict[str, int], int]:
    """Return the optimizer's bytes by layer, and of those that belong to no layer."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    added = inner.add_variable_from_reference
    owned: list[tuple[Any, Any]] = []

    def noting(*arguments: Any, **options: Any) -> Any:
        slot = added(*arguments, **options)
        owned.append((arguments[0] if arguments else options["reference_variable"], slot))
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


def _graph(
    model: Any, dataset: Dataset, layers: list[PlaceableLayer], costs: dict[str, LayerCosts]
) -> ModelGraph:
    return ModelGraph(
        name=model.name,
        layers=tuple(_layer(each, costs.get(each.path, LayerCosts())) for each in layers),
        input_shape=dataset.sample_shape,
        output_shape=output_shape(model),
        input_bytes=int(dataset.train.seen(slice(1)).nbytes),
    )


def _layer(placeable: PlaceableLayer, costs: LayerCosts) -> GraphLayer:
    weights, trainable = placeable.layer.weights, placeable.layer.trainable_weights
    return GraphLayer(
        name=placeable.path,
        kind=type(placeable.layer).__name__,
        inputs=placeable.inputs,
        output_shape=costs.output_shape,
        parameters=sum(math.prod(v.shape) for v in weights),
        trainable=sum(math.prod(v.shape) for v in trainable),
        weight_bytes=sum(map(_bytes, weights)),
        trainable_bytes=sum(map(_bytes, trainable)),
        output_bytes=costs.output_bytes,
        kept_bytes=costs.kept_bytes,
        flops_forward=costs.flops_forward,
        flops_backward=costs.flops_backward,
        normalises_apart=is_apart(placeable.layer),
    )


def _bytes(variable: Any) -> int:
    elements = math.prod(variable.shape)
    return int(elements * variable.value.dtype.size)


def _example(dataset: Dataset, model: Any) -> tuple[Any, Any]:
    outputs = np.zeros((1, *output_shape(model)), np.float32)
    return tf.constant(dataset.train.wanted(slice(1))), tf.constant(outputs)
