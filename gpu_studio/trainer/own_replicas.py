"""A model's own training step in one of several replicas, so that it trains as on one device.

Keras divides the losses that it reduces itself by the number of replicas, and its optimizers add
up the replicas' gradients. That is the gradient of the whole batch only where all parts are equal,
and a mean that the step takes itself would count once for each replica. Here all means stay as
they are, and gradients are added up by their part's share of the samples: for parts of equal size
the same as Keras', exact for others, and right for means that Keras does not know of. A sum over
the samples that a Keras loss takes is divided by that share, and a mean over what a mask leaves or
by the samples' weights is that of the whole batch; so is a loss that is a number for each sample,
of which TensorFlow's gradient is that of the sum. Of the step's own sums nobody knows.
A step that asks for the number of replicas itself gets what Keras does, without a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from keras.src.backend.common.stateless_scope import get_stateless_scope
from keras.src.losses import loss as keras_losses
from keras.src.trainers.trainer import Trainer as KerasTrainer

from gpu_studio.trainer.communication import between_replicas
from gpu_studio.trainer.layer_state import BatchPart, Caught, RandomStates
from gpu_studio.trainer.models.own_training import weights_as_sources

_SCOPE = "stateless_scope"


class _Changed:
    """Some variables with the values that a step has left in them."""

    def __init__(self, changed: list[Any], values: list[Any]) -> None:
        self.changed = changed
        self._values = {id(v): value for v, value in zip(changed, values, strict=True)}

    def get_current_value(self, variable: Any) -> Any:
        """The value that the step has left."""
        return self._values[id(variable)]


class ReplicaStep(Caught):
    """A scope that records what the step assigns in a replica; what optimizers do passes through.

    `held` are the values that variables have in it from the start, by the variables' ids.
    `gradients` are the last that an optimizer was given.
    """

    def __init__(
        self, random: RandomStates, draw: Any, part: BatchPart, held: Mapping[int, Any]
    ) -> None:
        super().__init__(random, draw)
        self.part = part
        self.state_mapping.update(held)
        self.gradients: list[Any] = []

    def get_current_value(self, variable: Any) -> Any:
        """The value in this scope: what was assigned, or the variable's own."""
        value = super().get_current_value(variable)
        # Keras asks this for regularizers, and takes None for no value.
        return variable._value if value is None else value  # noqa: SLF001

    @classmethod
    def here(cls) -> ReplicaStep | None:
        """The scope that this thread is in, if it is one of these."""
        scope = get_stateless_scope()
        return scope if isinstance(scope, cls) else None

    @property
    def trainable(self) -> _Changed:
        """What was assigned to trainable variables, which then have their own values again."""
        variables = [each for each in self.changed if each.trainable]
        taken = _Changed(variables, [self.get_current_value(each) for each in variables])
        self.forget(variables)
        return taken

    def forget(self, variables: Sequence[Any]) -> None:
        """Let these have their own values again."""
        for variable in variables:
            self._changed.pop(id(variable), None)
            self.state_mapping.pop(id(variable), None)


@contextmanager
def outside() -> Iterator[None]:
    """Leave the scope that this thread is in, for a while: variables are read and written."""
    scope = get_stateless_scope()
    global_state.set_global_attribute(_SCOPE, None)
    try:
        yield
    finally:
        global_state.set_global_attribute(_SCOPE, scope)


@contextmanager
def as_replica(model: Any, *, by_shares: bool) -> Iterator[None]:
    """While entered, a step of the model can be traced in a `ReplicaStep`.

    With `by_shares`, what Keras reduces in it is the mean over the part's samples.
    """
    with ExitStack() as stack:
        stack.enter_context(weights_as_sources())
        if not by_shares:
            yield
            return
        for name in ("scale_loss_for_distribution", "unscale_loss_for_distribution"):
            stack.enter_context(_replaced(keras_losses, name, lambda _: lambda value: value))
        meet = _summing(model)
        stack.enter_context(_replaced(keras_losses, "apply_mask", _masked_by_all(meet)))
        stack.enter_context(_replaced(keras_losses, "reduce_values", _reduced_by_share(meet)))
        stack.enter_context(_replaced(KerasTrainer, "_aggregate_additional_loss", _added_by_share))
        stack.enter_context(_replaced(tf.GradientTape, "gradient", _begun_by_share))
        stack.enter_context(_replaced(keras.metrics.Mean, "update_state", _counted_by_share))
        stack.enter_context(_replaced(keras.metrics.Sum, "update_state", _counted_once))
        yield


@contextmanager
def _replaced(owner: Any, name: str, around: Callable[[Any], Any]) -> Iterator[None]:
    original = vars(owner)[name]
    setattr(owner, name, around(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


# Scripts have the next functions as they stand, see `export.script_text`: these use TensorFlow
# alone, and their lines have 88 columns at most.


def counting_alike(mask: Any, dtype: Any, share: Any, add_up: Any) -> Any:
    """Return a mask of a part, weighted so that what is left counts alike in all parts.

    Means over the parts count by their `share` of the samples. `add_up` gives the sum
    of a number over the parts.
    """
    left = share * add_up(tf.reduce_sum(tf.cast(mask, tf.float32)))
    every = tf.cast(tf.size(mask), tf.float32)
    return tf.cast(mask, dtype) * tf.cast(tf.math.divide_no_nan(every, left), dtype)


def divisor_of(values: Any, sample_weight: Any, reduction: Any, share: Any, add_up: Any) -> Any:
    """Return what the sum of a part's losses is divided by, as `counting_alike` has it.

    None where Keras' own reduction of the part is right.
    """
    if values.shape.rank == 0:
        return None
    if reduction == "mean_with_sample_weight" and sample_weight is not None:
        return share * add_up(tf.reduce_sum(tf.cast(sample_weight, tf.float32)))
    return share if reduction == "sum" else None


def part_of_sum(found: Any, divisor: Any) -> Any:
    """Return a part's sum, so that by the parts' shares it gives the whole batch's."""
    return tf.math.divide_no_nan(found, tf.cast(divisor, found.dtype))


def weight_in_mean(value: Any, sample_weight: Any, share: Any) -> Any:
    """Return how much a mean counts what it is given for a part.

    One number, such as a batch's loss, counts by the part's share of the samples.
    """
    return share if sample_weight is None and value.shape.rank == 0 else sample_weight


def weight_in_sum(value: Any, sample_weight: Any, share: Any) -> Any:
    """Return how much a sum counts what it is given for a part.

    A number that no sample changes, such as 1 for a batch, counts once for all parts.
    """
    plain = sample_weight is None and isinstance(value, (int, float))
    return share if plain else sample_weight


def seed_of_sum(target: Any, sources: Any, share: Any) -> Any:
    """Return where gradients of a part's losses begin, so that they are the batch's.

    Of several numbers TensorFlow takes the gradient of the sum. None where its own way
    is right: of one number, and by anything but variables.
    """
    by_variables = all(hasattr(each, "assign") for each in tf.nest.flatten(sources))
    if not by_variables or not isinstance(target, tf.Tensor) or target.shape.rank == 0:
        return None
    return part_of_sum(tf.ones_like(target), share)


def _summing(model: Any) -> Callable[[Any], Any]:
    """Return what adds a number up over the replicas with samples, in the midst of their steps.

    There the next replica begins, and layers of the model forget which losses are this one's.
    """

    def met(value: Any) -> Any:
        step = ReplicaStep.here()
        if step is not None:
            value *= tf.cast(tf.sign(step.part.share), value.dtype)
        layers = model._flatten_layers()  # noqa: SLF001 (no public name)
        added = [(each._loss_ids, set(each._loss_ids)) for each in layers]  # noqa: SLF001
        with outside(), between_replicas():
            context = tf.distribute.get_replica_context()
            total = context.all_reduce(tf.distribute.ReduceOp.SUM, value)
        for ids, mine in added:
            ids.clear()
            ids.update(mine)
        return total

    return met


def _masked_by_all(meet: Callable[[Any], Any]) -> Callable[..., Any]:
    def around(apply: Callable[..., Any]) -> Callable[..., Any]:
        def masked(sample_weight: Any, mask: Any, dtype: Any, reduction: Any) -> Any:
            step = ReplicaStep.here()
            means = reduction in ("mean", "sum_over_batch_size")
            if mask is not None and means and step is not None:
                mask, reduction = counting_alike(mask, dtype, step.part.share, meet), "sum"
            return apply(sample_weight, mask, dtype=dtype, reduction=reduction)

        return masked

    return around


def _reduced_by_share(meet: Callable[[Any], Any]) -> Callable[..., Any]:
    def around(reduce: Callable[..., Any]) -> Callable[..., Any]:
        def reduced(values: Any, sample_weight: Any = None, reduction: Any = "mean") -> Any:
            step, divisor = ReplicaStep.here(), None
            if step is not None:
                divisor = divisor_of(values, sample_weight, reduction, step.part.share, meet)
            if divisor is None:
                return reduce(values, sample_weight, reduction)
            return part_of_sum(reduce(values, sample_weight, "sum"), divisor)

        return reduced

    return around


def _added_by_share(total: Callable[..., Any]) -> Callable[..., Any]:
    """Of several numbers that a layer adds to the loss, the sum is meant; of one, a mean."""

    def added(self: Any, loss: Any) -> Any:
        found, step = total(self, loss), ReplicaStep.here()
        if step is None or loss.shape.rank == 0:
            return found
        return part_of_sum(found, step.part.share)

    return added


def _begun_by_share(gradient: Callable[..., Any]) -> Callable[..., Any]:
    def begun(
        self: Any, target: Any, sources: Any, output_gradients: Any = None, **named: Any
    ) -> Any:
        step = ReplicaStep.here()
        if step is not None and output_gradients is None:
            output_gradients = seed_of_sum(target, sources, step.part.share)
        return gradient(self, target, sources, output_gradients, **named)

    return begun


def _counted_by_share(update: Callable[..., Any]) -> Callable[..., Any]:
    def counted(self: Any, values: Any, sample_weight: Any = None) -> Any:
        step = ReplicaStep.here()
        if step is not None:
            values = keras.ops.convert_to_tensor(values)
            sample_weight = weight_in_mean(values, sample_weight, step.part.share)
        return update(self, values, sample_weight)

    return counted


def _counted_once(update: Callable[..., Any]) -> Callable[..., Any]:
    def counted(self: Any, values: Any, sample_weight: Any = None) -> Any:
        step = ReplicaStep.here()
        if step is not None:
            sample_weight = weight_in_sum(values, sample_weight, step.part.share)
        return update(self, values, sample_weight)

    return counted


@contextmanager
def noting_results(
    metrics: Sequence[Any], found: dict[int, tuple[Any, Any, Any]]
) -> Iterator[None]:
    """While entered, note which metric gave which tensor as its result.

    `found` gets, by the tensor's id, the tensor, the metric, and the key where it gave several.
    """
    try:
        for metric in metrics:
            metric.__dict__["result"] = _noting(metric, metric.result, found)
        yield
    finally:
        for metric in metrics:
            metric.__dict__.pop("result", None)


def _noting(metric: Any, result: Callable[[], Any], found: dict[int, Any]) -> Callable[[], Any]:
    def noted() -> Any:
        given = result()
        for key, value in given.items() if isinstance(given, dict) else ((None, given),):
            found.setdefault(id(value), (value, metric, key))
        return given

    return noted
