"""A model's own training step in one of several replicas, so that it trains as on one device.

Keras divides the losses that it reduces itself by the number of replicas, and its optimizers add
up the replicas' gradients. That is the gradient of the whole batch only where all parts are equal,
and a mean that the step takes itself would count once for each replica. Here all means stay as
they are, and gradients are added up by their part's share of the samples: for parts of equal size
the same as Keras', exact for others, and right for means that Keras does not know of. A sum over
the samples that a Keras loss takes is divided by that share; of the step's own sums nobody knows.
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
def as_replica(*, by_shares: bool) -> Iterator[None]:
    """While entered, a step can be traced in a `ReplicaStep`.

    With `by_shares`, what Keras reduces in it is the mean over the part's samples.
    """
    with ExitStack() as stack:
        stack.enter_context(weights_as_sources())
        if not by_shares:
            yield
            return
        for name in ("scale_loss_for_distribution", "unscale_loss_for_distribution"):
            stack.enter_context(_replaced(keras_losses, name, lambda _: lambda value: value))
        stack.enter_context(_replaced(keras_losses, "reduce_values", _reduced_by_share))
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


def _reduced_by_share(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(values: Any, sample_weight: Any = None, reduction: str = "mean") -> Any:
        found = reduce(values, sample_weight, reduction)
        step = ReplicaStep.here()
        if reduction == "sum" and step is not None:
            return tf.math.divide_no_nan(found, tf.cast(step.part.share, found.dtype))
        return found

    return reduced


def _counted_by_share(update: Callable[..., Any]) -> Callable[..., Any]:
    """One number, such as a batch's loss, counts for as much as its part has of the samples."""

    def counted(self: Any, values: Any, sample_weight: Any = None) -> Any:
        step = ReplicaStep.here()
        if sample_weight is None and step is not None:
            values = keras.ops.convert_to_tensor(values)
            if len(values.shape) == 0:
                sample_weight = step.part.share
        return update(self, values, sample_weight)

    return counted


def _counted_once(update: Callable[..., Any]) -> Callable[..., Any]:
    """A number that no sample changes, such as 1 for a batch, is added once for all parts."""

    def counted(self: Any, values: Any, sample_weight: Any = None) -> Any:
        step = ReplicaStep.here()
        if sample_weight is None and step is not None and isinstance(values, int | float):
            sample_weight = step.part.share
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
