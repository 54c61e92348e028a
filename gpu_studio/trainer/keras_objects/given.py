"""Losses and metrics that are taken as they are given: a compiled model's, and the user's own.

What `compile` was given is resolved by Keras' own code, for a few samples: strings by the shapes of
targets and outputs, lists and dicts by the outputs' places and names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.utils import naming

from gpu_studio.plan import listed
from gpu_studio.trainer.batch_parts import Added, counting_of, of_part, one_number
from gpu_studio.trainer.curves import logged
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError, PlanRefused, UserCodeError
from gpu_studio.trainer.keras_objects.as_compiled import (
    Guard,
    by_name,
    compiled_loss,
    compiled_metrics,
    ends_with_loss,
    guard_of,
)
from gpu_studio.trainer.model_ends import outputs_of
from gpu_studio.trainer.user_code.telling import kind_in_words

Batches = Sequence[tuple[Any, Any]]
"""(targets, outputs) of a few samples each."""
ROWS = (3, 2)
"""Two batches of so many samples show what a loss or a metric makes of a batch."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which of the flattened targets meets which of the flattened outputs."""

    target: int
    output: int

    def of(self, batches: Batches) -> list[tuple[Any, Any]]:
        """The one target and the one output of each of these batches."""
        flat = keras.tree.flatten
        return [(flat(y)[self.target], flat(outputs)[self.output]) for y, outputs in batches]


@dataclass(frozen=True, slots=True)
class CompiledLoss:
    """A keras.losses.Loss of an output, by Keras' name of it, with its weight in the sum.

    `result` is the name of its mean in the results of `fit`, where that does not name the output.
    """

    place: Place
    loss: Any
    weight: float
    name: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class CompiledMetric:
    """A keras.metrics.Metric of an output, its name in the results, and whether weights count."""

    place: Place
    metric: Any
    name: str
    weighted: bool


@dataclass(frozen=True, slots=True)
class CompiledOutput:
    """What an output was compiled with, if its model was, and small `batches` that it takes.

    `metrics` is None where the model was not compiled, `eagerly` what it says of `run_eagerly`.
    """

    batches: Batches
    guard: Guard
    eagerly: bool
    loss: CompiledLoss | None = None
    metrics: tuple[CompiledMetric, ...] | None = None


def examples(dataset: Dataset, model: Any) -> list[tuple[Any, Any]]:
    """Two small batches: true targets, and numbers between 0 and 1 in the shape of the outputs.

    A batch has fewer samples than `ROWS` where there are not so many.
    """
    random, split = np.random.default_rng(0), dataset.train
    found, first = [], 0
    for samples in ROWS:
        rows = np.arange(first, first + samples) % len(split)
        wanted = split.wanted(rows)
        known = max((each.shape for each in keras.tree.flatten(wanted)), key=len, default=())
        made = [random.uniform(0.05, 0.95, _sizes(x, samples, known)) for x in model.outputs]
        outputs = [tf.constant(each, tf.float32) for each in made]
        packed = keras.tree.pack_sequence_as(_structure(model), outputs)
        found.append((keras.tree.map_structure(tf.constant, wanted), packed))
        first += samples
    return found


def _structure(model: keras.Model) -> Any:
    structure = getattr(model, "_outputs_struct", None)
    return model.outputs[0] if structure is None else structure


def _sizes(output: Any, rows: int, known: Sequence[int]) -> tuple[int, ...]:
    """The shape of an output for so many samples; axes that it leaves open are the targets'."""
    axes = list(output.shape[1:])
    rest = [*known[1:], *[1] * len(axes)]
    return (rows, *(axis or size for axis, size in zip(axes, rest, strict=False)))


def losses_as_compiled(model: keras.Model, dataset: Dataset) -> list[CompiledLoss]:
    """The losses that the model was compiled with, each for its output; [] without any.

    Raises UserCodeError for losses that do not meet the outputs and the targets, in Keras' words,
    and PlanRefused where there are no targets.
    """
    made = compiled_loss(model)
    if made is None:
        return []
    if not dataset.targets:
        raise PlanRefused(
            f"{dataset.name} gives no targets, and the model is compiled with a loss, which needs "
            "some.",
            ["Return (x, y).", "If the samples themselves are the targets, return (x, x)."],
        )
    targets, outputs = examples(dataset, model)[0]
    packed = _beside(model, targets, made.output_names or ())
    fresh = type(made)(
        made._user_loss,  # noqa: SLF001 - as below: Keras has no other way to them
        made._user_loss_weights,  # noqa: SLF001
        output_names=made.output_names,
    )
    given = made._user_loss, made._user_loss_weights  # noqa: SLF001
    with _naming_strangers(model, "a loss", given):
        guard_of(model)(lambda: fresh.build(packed, outputs))
    kept = list(fresh._flat_losses)  # noqa: SLF001
    met = _Met(targets, outputs)
    fresh._flat_losses = [each._replace(loss=met) for each in kept]  # noqa: SLF001
    guard_of(model)(lambda: fresh.call(packed, outputs))
    return [
        CompiledLoss(
            place,
            each.loss,
            float(1 if (w := each.loss_weights) is None else w),
            each.name,
            "" if made.output_names or not _is_numbered(each) else f"{each.name}_loss",
        )
        for place, each in zip(met.places, kept, strict=True)
    ]


def _beside(model: keras.Model, targets: Any, names: Sequence[str]) -> Any:
    """Return the targets where their outputs are, in a list by `names`; None for one without."""
    targets, in_order = by_name(model, targets), isinstance(_structure(model), list | tuple)
    if in_order and isinstance(targets, dict) and set(targets) == set(names):
        return [targets[name] for name in names]
    given, ends = keras.tree.flatten(targets), list(range(len(model.outputs)))
    if len(ends) == 1 and not keras.tree.is_nested(targets):  # of an output in a dictionary, too
        return keras.tree.pack_sequence_as(_structure(model), given)
    at = ends_with_loss(model, ends, len(given))
    found = [given[at.index(end)] if end in at else None for end in ends]
    return targets if len(at) == len(ends) else found


def _is_numbered(found: Any) -> bool:
    """Whether Keras knows an output by its place alone."""
    return bool(found.path) and isinstance(found.path[-1], int)


def metrics_as_compiled(model: keras.Model, dataset: Dataset) -> list[CompiledMetric]:
    """The metrics that the model was compiled with, each for its output; [] without any.

    Each has the name that it has in the results of `fit`, but for that of its output. Raises
    UserCodeError for metrics that do not meet the outputs and the targets, in Keras' words.
    """
    made = compiled_metrics(model)
    if made is None:
        return []
    targets, outputs = examples(dataset, model)[0]
    packed = by_name(model, targets)
    fresh = type(made)(
        made._user_metrics,  # noqa: SLF001
        made._user_weighted_metrics,  # noqa: SLF001
        output_names=made.output_names,
    )
    given = made._user_metrics, made._user_weighted_metrics  # noqa: SLF001
    with _naming_strangers(model, "metrics", given):
        guard_of(model)(lambda: fresh.build(packed, outputs))
    kinds = ((fresh._flat_metrics, False), (fresh._flat_weighted_metrics, True))  # noqa: SLF001
    kept = [(own, weighted) for lists, weighted in kinds for own in lists if own is not None]
    met = _Met(targets, outputs)
    fresh._flat_metrics = [each and met for each in kinds[0][0]]  # noqa: SLF001
    fresh._flat_weighted_metrics = [each and met for each in kinds[1][0]]  # noqa: SLF001
    fresh.update_state(packed, outputs)
    found: list[CompiledMetric] = []
    for place, (own, weighted) in zip(met.places, kept, strict=True):
        for metric in own.metrics:
            taken = [each.name for each in found if each.place.output == place.output]
            name = _result_name(metric.name, taken, weighted=weighted)
            found.append(CompiledMetric(place, metric, name, weighted))
    return found


@contextmanager
def _naming_strangers(model: keras.Model, what: str, given: Sequence[Any]) -> Iterator[None]:
    """Where Keras refuses what was `given` to compile by name: say which name no output has."""
    try:
        yield
    except UserCodeError as error:
        known = [end.name for end in outputs_of(model)]
        asked = (name for each in given if isinstance(each, dict) for name in each)
        stranger = next((name for name in asked if name not in known), None)
        if stranger is None:
            raise
        mend = f"Name the model's own outputs in compile(…): {listed(known, 'or')}."
        raise ModelError(
            f"The model is compiled with {what} for {stranger}, but its outputs are called "
            f"{listed(known)}.",
            [mend, *_made_in(model)],
        ) from error


def _made_in(model: keras.Model) -> list[str]:
    """Return a sentence that says where the function begins that made the model."""
    function: Any = getattr(guard_of(model), "__self__", None)
    if not hasattr(function, "file"):
        return []
    return [f"{function.name} begins in line {function.line} of {function.file}."]


def _result_name(name: str, taken: Sequence[str], *, weighted: bool) -> str:
    """The name that Keras gives a metric in the results, where `taken` ones are there before it."""
    if weighted and name in taken:
        name = f"weighted_{name}"
    numbered = (f"{name}_{number}" for number in count(1))
    return name if name not in taken else next(each for each in numbered if each not in taken)


class _Met:
    """Stands for a loss or a metric, and notes which target and which output it is given."""

    def __init__(self, targets: Any, outputs: Any) -> None:
        self._targets, self._outputs = map(keras.tree.flatten, (targets, outputs))
        self.places: list[Place] = []

    def __call__(self, target: Any, output: Any, *_weight: Any, **_more: Any) -> Any:
        self.places.append(Place(_index(target, self._targets), _index(output, self._outputs)))
        return tf.zeros(())

    update_state = __call__


def _index(tensor: Any, among: Sequence[Any]) -> int:
    return next(place for place, each in enumerate(among) if each is tensor)


def in_two(targets: Any, outputs: Any) -> Batches:
    """Return a batch in two pieces of different lengths, if it is long enough."""
    cut = -(-len(outputs) // 3)
    return (targets[:cut], outputs[:cut]), (targets[cut:], outputs[cut:])


class GivenMetric:
    """A metric that is given targets and outputs as they are, with the samples' weights or none.

    It answers as a keras.metrics.Metric does. Where the state after two batches is not the sum of
    what each adds (a maximum, a running value), it is `sequential`: then it is kept in the metric's
    own variables, from batch to batch, which one replica alone can do. What is one number for a
    batch, whatever its size, counts `by_share`: a part of a batch counts by its share in it. That
    is so of a mean that counts each batch once, and of states as `batch_parts` says. It is that of
    the batch if it `splits`, as a mean over samples does; else it `is_mean` of its parts, or not.
    """

    def __init__(self, metric: Any, name: str, guard: Guard, *, weighted: bool = False) -> None:
        self.metric, self.name, self._guard, self.weighted = metric, name, guard, weighted
        self.sequential, self.splits, self.is_mean = False, True, True
        self.by_share: Sequence[bool] = ()
        self.example: Any = 0.0
        """What it gives for the batches that were looked at."""
        self._batches: Batches = ()
        self._once = False  # a mean that counts each batch once
        self._doing = f"in the metric {name}"

    @property
    def gives_several(self) -> bool:
        """Whether it gives more than one number."""
        return isinstance(self.example, dict) or np.size(self.example) > 1

    @property
    def variables(self) -> list[Any]:
        """The variables that hold its state."""
        return list(self.metric.variables)

    def look_at(self, batches: Batches) -> None:
        """Learn from two batches, each (targets, outputs), how the metric counts.

        Raises UserCodeError for what goes wrong in it, and PlanRefused if it gives no numbers.
        """
        self._update(*batches[0], None)
        self.metric.reset_state()
        start = [tf.constant(np.asarray(each)) for each in self.variables]
        one, other = (self._after(start, *each, None) for each in batches)
        both = self._after(one, *batches[1], None)
        self.sequential = not all(
            np.allclose(whole, first + second - begun, rtol=1e-4, atol=1e-5)
            for whole, first, second, begun in zip(both, one, other, start, strict=True)
        )
        self._once = isinstance(self.metric, keras.metrics.Mean) and all(
            float(each[-1]) == float(start[-1]) + 1 for each in (one, other)
        )
        self.by_share, self._batches = [self._once] * len(start), batches
        self.example = self.stateless_result(both)
        for result in logged({self.name: self.example}).values():
            if np.asarray(result).dtype.kind not in "biuf" or not np.size(result):
                raise PlanRefused(
                    f"The metric {self.name} gives {kind_in_words(result)} without numbers.",
                    ["Let its result be a number, an array or a dictionary of numbers."],
                )

    def cautions(self, parts: int, what: str) -> Iterator[str]:
        """What depends on the `parts` that a batch comes in. Raises PlanRefused as it must be."""
        if self.sequential:
            raise PlanRefused(
                f"The metric {self.name} is no sum over the samples: it must see one batch after "
                f"another, and here {parts} {what} each see a part of a batch.",
                ["Train on one device, in whole batches.", f"Or leave {self.name} out."],
            )
        self.look_at_parts()
        if not self.splits:
            yield one_number(self.name, parts, what, is_mean=self.is_mean)

    def look_at_parts(self) -> None:
        """Learn how it counts in several parts of a batch, from batches that it has looked at.

        Where it does not take both of them as one batch, such as by their shapes, it is shown one
        of them in two pieces. What does not take these either is a plain sum, and not known.
        """
        for pieces in (self._batches, in_two(*self._batches[0])):
            try:
                added = self._added_by(*pieces)
            except Exception:  # noqa: BLE001, S112 - a user's own code can raise anything
                continue
            rows = [len(outputs) for _, outputs in pieces]
            found = counting_of(added, (rows[0], rows[1]))
            if self._once:
                self.splits = found.by_share[0] and found.splits
            else:
                self.by_share, self.splits = found.by_share, found.splits
                self.is_mean = found.is_mean
            return
        self.splits, self.is_mean = False, self._once

    def _added_by(self, first: tuple[Any, Any], second: tuple[Any, Any]) -> list[Added]:
        """What two batches add to each state, and what they add as one."""
        start = [tf.constant(np.asarray(each)) for each in self.variables]
        both = [tf.concat(each, axis=0) for each in zip(first, second, strict=True)]
        pairs = first, second, (both[0], both[1])
        after = [self._after(start, targets, outputs, None) for targets, outputs in pairs]
        return [
            (np.asarray(one - old), np.asarray(other - old), np.asarray(whole - old))
            for old, one, other, whole in zip(start, *after, strict=True)
        ]

    def added(
        self,
        start: Sequence[Any],
        targets: Any,
        outputs: Any,
        weights: Any,
        share: Any,
        number: Any = 0,
    ) -> list[Any]:
        """What part `number` adds to the state `start`: nothing where its share is 0."""
        weights = weights if self.weighted else None
        if self.sequential:
            before = [tf.identity(each.value) for each in self.variables]
            self._update(targets, outputs, weights)
            return [
                tf.identity(v.value) - old for v, old in zip(self.variables, before, strict=True)
            ]
        after = self._after(start, targets, outputs, weights)
        by_share = self.by_share if weights is None else [False] * len(start)
        return [
            tf.where(
                share > 0, of_part(new - old, old.dtype, share, number) if once else new - old, 0
            )
            for new, old, once in zip(after, start, by_share, strict=True)
        ]

    def stateless_result(self, state: Sequence[Any]) -> Any:
        """The value of the metric in this state: a number, an array, or a dictionary of these."""
        return self._guard(lambda: self.metric.stateless_result(state))

    def begin(self, state: Sequence[Any]) -> None:
        """Go on from this state."""
        if self.sequential:
            for variable, value in zip(self.variables, state, strict=True):
                variable.assign(value)

    def _update(self, targets: Any, outputs: Any, weights: Any) -> None:
        more = {} if weights is None else {"sample_weight": weights}
        self._guard(lambda: self.metric.update_state(targets, outputs, **more), self._doing)

    def _after(self, start: Sequence[Any], targets: Any, outputs: Any, weights: Any) -> list[Any]:
        more = {} if weights is None else {"sample_weight": weights}
        after = self._guard(
            lambda: self.metric.stateless_update_state(list(start), targets, outputs, **more),
            self._doing,
        )
        return [tf.cast(new, old.dtype) for new, old in zip(after, start, strict=True)]


def given_metric(
    made: Any,
    guard: Guard,
    batches: Batches,
    name: str = "",
    *,
    weighted: bool = False,
) -> GivenMetric:
    """A Keras metric, or a function of targets and outputs, that is taken as it is.

    `batches` show how it counts, see `GivenMetric.look_at`. Without a `name`, it has the one that
    Keras gives it, without running numbers.
    """
    name = name or _name_of(made)
    is_metric = isinstance(made, keras.metrics.Metric)
    metric = made if is_metric else keras.metrics.MeanMetricWrapper(made, name=name)
    found = GivenMetric(metric, name, guard, weighted=weighted)
    found.look_at(batches)
    return found


def _name_of(made: Any) -> str:
    name = str(naming.get_object_name(made))
    kind = str(naming.to_snake_case(type(made).__name__))
    return kind if name.removeprefix(f"{kind}_").isdecimal() else name
