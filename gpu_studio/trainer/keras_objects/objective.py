"""What a model learns by: for each of its outputs a loss, its weight in the sum, and metrics.

A model with one output is the case of one head, without a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.plan import Named, OutputTraining, Training, choose_one, listed, path_to, reference
from gpu_studio.plan.keras_objects import COMPILED
from gpu_studio.plan.targets import in_words
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.data.trees import Path, flat, leaves
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.as_compiled import compiled_model, ends_with_loss, guard_of
from gpu_studio.trainer.keras_objects.compiled import (
    SampleLoss,
    given_loss,
    make_loss,
    make_metrics,
    no_loss,
)
from gpu_studio.trainer.keras_objects.forms import OutputForm
from gpu_studio.trainer.keras_objects.given import (
    CompiledOutput,
    GivenMetric,
    Place,
    examples,
    given_metric,
    losses_as_compiled,
    metrics_as_compiled,
)
from gpu_studio.trainer.keras_objects.named import sentence
from gpu_studio.trainer.keras_objects.optimizers import not_compiled
from gpu_studio.trainer.model_ends import End, met, outputs_of


@dataclass(frozen=True, slots=True)
class Head:
    """One output and what it learns.

    `output` and `target` are its places among the model's outputs and among the targets, laid out
    in Keras' order. `weight` is that of its loss in the sum. `example` is (targets, outputs) of a
    sample, as its `metrics` take them. `name` is that of the output; empty if there is one only.
    `weighed` is the place of its samples' weights among all weights; None if there are none. Where
    `fit` does not name the output in the results, `result` is there the name of the mean loss.
    `by_samples` says that this mean is over samples, as in a `fit` that runs eagerly. One that does
    not `learn` is measured only.
    """

    loss: SampleLoss
    metrics: Sequence[Any] = ()
    example: tuple[Any, Any] = ((), ())
    name: str = ""
    output: int = 0
    target: int = 0
    weight: float = 1.0
    result: str = ""
    weighed: int | None = None
    by_samples: bool = False
    learns: bool = True


@dataclass(frozen=True, slots=True)
class Judged:
    """A part of a batch as a head sees it: `losses` and `counted` have one number a sample.

    `counted` is None where all counts, see `SampleLoss.judged`; `weights` are the samples' own, or
    None.
    """

    head: Head
    targets: Any
    outputs: Any
    losses: Any
    counted: Any
    weights: Any = None


@dataclass(frozen=True, slots=True)
class Objective:
    """All that the outputs of a model learn by.

    `class_weight` is how much a sample of each class counts in training, for classes that count
    otherwise than once.
    """

    heads: tuple[Head, ...] = field(default=())
    class_weight: Mapping[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The losses by name, for a reader."""
        return ", ".join(
            f"{head.name}: {head.loss.name}" if head.name else head.loss.name
            for head in self.heads
            if head.learns
        )

    def __call__(self, targets: Any, outputs: Any, sample_weight: Any = ()) -> Any:
        """The loss of each sample, float32 (batch,): the weighted sum over the outputs."""
        return self.total([each.losses for each in self.judged(targets, outputs, sample_weight)])

    def judged(
        self,
        targets: Any,
        outputs: Any,
        sample_weight: Any,
        near: Callable[[Any], AbstractContextManager[Any]] = lambda _output: nullcontext(),
    ) -> list[Judged]:
        """Return what each head makes of a part; `near` gives the scope of an output's loss."""
        made, found = keras.tree.flatten(outputs), []
        for head in self.heads:
            output, (target, mine) = made[head.output], self.of_head(head, targets, sample_weight)
            with near(output):
                judged = head.loss.judged(target, output, mine)
            found.append(Judged(head, target, output, *judged, mine))
        return found

    def of_head(self, head: Head, targets: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return a head's target, and its weights or None."""
        weights, weighed = keras.tree.flatten(sample_weight), head.weighed
        weighed = 0 if self.class_weight else weighed
        mine = weights[weighed] if weights and weighed is not None else None
        return keras.tree.flatten(targets)[head.target], mine

    def weighted(self, targets: Any, sample_weight: Any) -> Any:
        """Return the weights of samples, steps or pixels: the data's, or those of their classes."""
        if not self.class_weight:
            return sample_weight
        (ids,) = keras.tree.flatten(targets)
        if len(ids.shape) > 1:
            ids = tf.argmax(ids, axis=-1) if ids.shape[-1] != 1 else tf.squeeze(ids, axis=-1)
        ids = tf.cast(tf.round(tf.cast(ids, tf.float32)), tf.int32)
        last = max(self.class_weight) + 1
        table = tf.constant([self.class_weight.get(each, 1.0) for each in range(last + 1)])
        return tf.gather(table, tf.clip_by_value(ids, 0, last))

    def cautions(self, parts: int, *, placed: bool) -> Iterator[str]:
        """What depends on the `parts` that a batch comes in, replicas' or micro-batches.

        Raises PlanRefused for what cannot be right in them.
        """
        if parts < 2:
            return
        what = "micro-batches" if placed else "replicas"
        for head in self.heads:
            for metric in head.metrics:
                if isinstance(metric, GivenMetric):
                    yield from metric.cautions(parts, what)
            if said := _no_sum_of_parts(head.loss):
                if placed:
                    raise _another_loss(said, parts)
                yield (
                    f"{said}. Each of the {parts} replicas computes it for its own part, and the "
                    "run trains on their mean: that is another loss than on one device."
                )

    def trained(self, loss: Any, judged: Sequence[Judged], weight: Any) -> Any:
        """Return what a step makes small: a part's `loss`, as often as `fit` counts it.

        A loss without a reduction is shown as the mean of its numbers, and its gradient is that of
        their sum. `weight` is that of each sample in the batch: one by their number, or 0.
        """
        apart = [each for each in judged if each.head.loss.apart]
        if not apart:
            return loss
        counts = [each.head.loss.numbers(each.targets, each.outputs) for each in apart]
        return loss * tf.math.divide_no_nan(tf.reduce_max(counts), tf.reduce_max(weight))

    def total(self, losses: Sequence[Any]) -> Any:
        """Return the weighted sum of the heads' losses; 0 if there are none."""
        terms = [
            loss if head.weight == 1 else head.weight * loss
            for head, loss in zip(self.heads, losses, strict=True)
            if head.learns
        ]
        return terms[0] if len(terms) == 1 else tf.add_n(terms) if terms else tf.zeros(())


@dataclass(frozen=True, slots=True)
class Learner:
    """An output and the target that it is to learn, before there are losses and metrics.

    `data` have this target only; `training` says what it learns by, `field` where in the plan. One
    that does not `learn` is measured only. `alone` says that the model has no other output.
    """

    end: End
    target: int
    weighed: int | None
    data: Dataset
    training: Training
    field: str
    weight: float
    form: OutputForm
    given: CompiledOutput
    class_weight: Mapping[int, float]
    learns: bool = True
    alone: bool = True


class _Compiled:
    """What the outputs of a model were compiled with, by their places."""

    def __init__(self, training: Training, dataset: Dataset, model: keras.Model) -> None:
        made = compiled_model(model)
        self.guard, self._is = guard_of(model), made is not None
        self._eagerly = bool(getattr(made, "run_eagerly", False))
        named = [training.loss, *training.metrics]
        for each in training.outputs.values():
            named += [*([each.loss] if each.loss else []), *(each.metrics or ())]
        takes = self._is or any(reference(each.name) for each in named)
        self.batches = examples(dataset, model) if takes else []
        losses = losses_as_compiled(model, dataset) if self._is else []
        metrics = metrics_as_compiled(model, dataset) if self._is else []
        self._losses = {each.place.output: each for each in losses}
        self._metrics = metrics
        if training.loss.name == COMPILED and not losses:
            raise not_compiled("training.loss.name", "a loss", "auto")
        if any(each.name == COMPILED for each in training.metrics) and not metrics:
            raise not_compiled("training.metrics", "metrics", "auto")

    def leaves_out(self, end: End, loss: Named) -> bool:
        """Whether the output learns nothing, as the others alone were compiled with losses."""
        as_compiled = bool(self._losses) and loss.name in ("auto", COMPILED)
        return as_compiled and end.place not in self._losses

    def measures(self, end: End, training: Training) -> bool:
        """Whether an output that learns nothing has metrics of its own."""
        own = training.outputs.get(end.name, OutputTraining()).metrics
        named = training.metrics if own is None else own
        as_compiled = any(each.name in ("auto", COMPILED) for each in named)
        mine = (each for each in self._metrics if each.place.output == end.place)
        return any(mine) if as_compiled else bool(own)

    def of(self, place: Place, training: Training) -> CompiledOutput:
        """What is known of the output at `place`, which is to learn by `training`."""
        as_compiled = training.loss.name in ("auto", COMPILED)
        loss = self._losses.get(place.output) if as_compiled else None
        mine = tuple(each for each in self._metrics if each.place.output == place.output)
        metrics = mine if self._is else None
        return CompiledOutput(place.of(self.batches), self.guard, self._eagerly, loss, metrics)


def learners_of(training: Training, dataset: Dataset, model: keras.Model) -> list[Learner]:
    """Return what learns: each output of the model that has a target and a loss.

    Ask it of the whole model: once its layers are split, only the program can run it. Raises
    PlanRefused for a loss by which an output cannot learn its target, for an output without a
    target, and for a plan that names an output which the model does not have.
    """
    outputs = outputs_of(model)
    _refuse_unknown(training, outputs)
    compiled = _Compiled(training, dataset, model)

    def is_left_out(end: End) -> bool:
        named = training.outputs.get(end.name, OutputTraining()).loss or training.loss
        return named.name == "none" or compiled.leaves_out(end, named)

    found = met(ends_with_loss(model, outputs, len(dataset.targets)), dataset.target)
    if isinstance(found, str):
        raise PlanRefused(f"The model {found} in {dataset.name}.", ["Give a target for each."])
    places = {path: place for place, (path, _) in enumerate(dataset.targets)}
    weights = _weights_of(dataset, outputs)
    learn = [pair for pair in found if not is_left_out(pair[0])]
    met_ends = [end for end, _ in learn]
    wanted = [end for end in outputs if not is_left_out(end)] if places else []
    if aimless := [end for end in wanted if end not in met_ends]:
        raise _no_target(dataset, aimless[0])
    if not learn:
        _refuse_aimless(model, dataset)
    class_weight = class_weights(training, dataset, len(outputs))

    def learner(end: End, path: Path) -> Learner:
        target = path, places[path], weights.get(end.place)
        made = _learner(training, dataset, model, end, target, compiled)
        learns, alone = end in met_ends, len(outputs) == 1
        return replace(made, class_weight=class_weight, learns=learns, alone=alone)

    used = [pair for pair in found if pair in learn or compiled.measures(pair[0], training)]
    return [learner(*pair) for pair in sorted(used, key=lambda pair: pair[0].place)]


def class_weights(training: Training, dataset: Dataset, outputs: int = 1) -> dict[int, float]:
    """The plan's weights of classes by their numbers. Raises PlanRefused as `fit` does."""
    given = training.class_weight
    if not given:
        return {}
    why = ""
    if outputs > 1 or len(dataset.targets) != 1:
        why = "is for a model with a single output"
    elif flat(dataset.train.weights):
        why = f"and the weights that {dataset.name} has for its samples exclude each other"
    elif not (target := dataset.of_target(dataset.targets[0][0]).target).names_classes:
        why = f"needs one class a sample, step or pixel: {dataset.name} gives {in_words(target)}"
    if why:
        raise PlanRefused(f"training.class_weight {why}.", ["Leave training.class_weight out."])
    return {int(number): float(weight) for number, weight in given.items()}


def _weights_of(dataset: Dataset, outputs: Sequence[End]) -> dict[int, int]:
    """Return the place of each output's weights, by its own place: one array is for all outputs."""
    given = dataset.train.weights
    places = {path: place for place, (path, _) in enumerate(leaves(given))}
    if len(places) == 1:
        return dict.fromkeys((end.place for end in outputs), 0)
    found = met(outputs, given)
    if isinstance(found, str):
        raise PlanRefused(
            f"The model {found} among the sample weights of {dataset.name}.".replace(" y/", " "),
            ["Give one array of weights for all outputs, or one for each, in the form of y."],
        )
    return {end.place: places[path] for end, path in found}


def _learner(
    training: Training,
    dataset: Dataset,
    model: keras.Model,
    end: End,
    met_at: tuple[Path, int, int | None],
    compiled: _Compiled,
) -> Learner:
    path, target, weighed = met_at
    own = training.outputs.get(end.name, OutputTraining())
    data = dataset.of_target(path)
    named = replace(
        training,
        loss=training.loss if own.loss is None else own.loss,
        metrics=training.metrics if own.metrics is None else own.metrics,
    )
    apart = own.loss is not None or own.metrics is not None
    field = path_to("training.outputs", end.name) if apart else "training"
    form = OutputForm.of(data, model, named.loss, end.place, field)
    given = compiled.of(Place(target, end.place), named)
    weight = given.loss.weight if given.loss and own.loss_weight == 1 else own.loss_weight
    return Learner(end, target, weighed, data, named, field, weight, form, given, {})


def make_objective(learners: Sequence[Learner]) -> Objective:
    """Make the losses and metrics of all outputs. Raises PlanRefused and UserCodeError.

    They are those that the plan names, see `compiled`, or what the model was compiled with.
    """
    return Objective(tuple(map(_head, learners)), learners[0].class_weight if learners else {})


def _head(learner: Learner) -> Head:
    given, loss = learner.given, _loss_of(learner)
    return Head(
        loss,
        _metrics_of(learner),
        learner.form.example(learner.data),
        name="" if learner.alone else learner.end.name,
        result=given.loss.result if given.loss and not learner.alone else "",
        output=learner.end.place,
        target=learner.target,
        weight=learner.weight,
        weighed=learner.weighed,
        by_samples=given.eagerly or loss.apart,
        learns=learner.learns,
    )


def counts_as_compiled(learner: Learner) -> bool:
    """Whether something of what the model was compiled with counts, be it its optimizer alone."""
    training, of_model = learner.training, learner.given.metrics is not None
    names = (training.optimizer, training.loss.name, *(each.name for each in training.metrics))
    return of_model and any(name in ("auto", COMPILED) for name in names)


def _loss_of(learner: Learner) -> SampleLoss:
    given, found = learner.given, learner.given.loss
    if not learner.learns:
        return no_loss(learner.form)
    if found is not None:
        return given_loss(found.loss, found.loss.name, learner.form, given.guard, given.batches)
    at = learner.form, learner.field, given.batches
    return make_loss(learner.training, learner.data, *at)


def _metrics_of(learner: Learner) -> list[Any]:
    given, compiled = learner.given, None
    if given.metrics is not None:
        compiled = [
            given_metric(each.metric, given.guard, given.batches, each.name, weighted=each.weighted)
            for each in given.metrics
        ]
    at = learner.form, learner.field, given.batches, compiled
    return make_metrics(learner.training, learner.data, *at)


def _no_sum_of_parts(loss: SampleLoss) -> str:
    """Say why parts of a batch do not add up to its loss, to begin a sentence; "" if they do."""
    if loss.of_batches:
        return f"The loss {loss.name} is one of a whole batch"
    mixes = f"The loss {loss.name} of a sample depends on the others of its batch"
    return mixes if loss.is_mixing() else ""


def _another_loss(said: str, parts: int) -> PlanRefused:
    return PlanRefused(
        f"{said}, and {parts} micro-batches would each have one of their own: that is another "
        "loss.",
        ["Set distribution.placed.micro_batches to 1.", "Or choose a loss with a number a sample."],
    )


def _refuse_unknown(training: Training, outputs: Sequence[End]) -> None:
    names = [end.name for end in outputs]
    for name in training.outputs:
        if name not in names:
            advice = f"Take training.outputs.{name} out of the plan."
            raise PlanRefused(
                f"The plan says what the output {name} learns by, but the model's outputs are "
                f"{listed(names)}.",
                [sentence(choose_one(name, names)), advice],
            )


def _no_target(dataset: Dataset, end: End) -> PlanRefused:
    return PlanRefused(
        f"The model's output {end.name} has no target in {dataset.name}.",
        [
            f"Give one by that name: y/{end.name}.",
            f'If it is to learn nothing, write training.outputs.{end.name}.loss = "none".',
        ],
    )


def _refuse_aimless(model: keras.Model, dataset: Dataset) -> None:
    """Raises PlanRefused if there is neither a target nor a loss that a layer adds."""
    samples = keras.tree.map_structure(keras.ops.convert_to_tensor, dataset.train.seen(slice(1)))
    with keras.StatelessScope(collect_losses=True) as scope:
        model(samples, training=False)
    if not scope.losses:
        raise PlanRefused(
            f"There is nothing to learn: {dataset.name} has no targets for the model, and no layer "
            "of it adds a loss.",
            ["Return targets with the samples: (x, y).", "Or let a layer call self.add_loss(…)."],
        )
