"""Collect the state that layers change in each part of a batch, and combine it afterwards.

A part belongs to a replica or is a micro-batch. Every part starts from the same values, and
what its layers assign is held back until all are done; then each variable gets one new value,
by the `aggregation` that it was made with:

        sum                  its value, plus what all parts have added (as a count of samples);
        only_first_replica   the value that the first part left;
        mean, none           the mean of the values that the parts left, weighted by samples.

Random state is not kept: what a part draws follows from the seed, the step and the part's
number alone. Batch normalisation normalises each part by itself, unless the layer is
synchronised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf
from keras.src.backend.common import global_state
from keras.src.backend.tensorflow.rnn import rnn
from keras.src.random import seed_generator
from tensorflow.core.framework import attr_value_pb2

from gpu_studio.contract import Log, Warned
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.telling import beginning, line_that_made

# A layer may draw this often in one step before its random numbers run into the next step's.
DRAWS_PER_STEP = 4096
_TURNS = 2
"""How many turns of a recurrent layer's loop run at once; Keras has 32."""


@dataclass(frozen=True, slots=True)
class BatchPart:
    """A part of a global batch: its number, and its share of the samples.

    The shares of a batch sum to 1. A part for which no sample was left computes one all the same,
    with a share of 0.
    """

    number: Any
    share: Any

    def of_batch(self, term: Any) -> Any:
        """Return the share of a layer's loss for this part in the loss of the whole batch."""
        return of_batch(term, self.share)


class RandomStates:
    """The initial state of every source of random numbers.

    The source that layers without a seed share starts from the plan's seed.
    """

    def __init__(self, variables: Sequence[Any], seed: int) -> None:
        """`variables` are those of a model."""
        # Created here: a layer's first draw would create it while TensorFlow traces a step.
        self._shared = seed_generator.global_seed_generator()
        found = [(each, _seed_in(each)) for each in variables if is_random_state(each)]
        found.append((self._shared.state, seed))
        self._seeds = {id(variable): (variable, start) for variable, start in found}

    @property
    def shared(self) -> Any:
        """The state of the source that layers without a seed share."""
        return self._shared.state

    def share_here(self) -> None:
        """Let this thread draw from the shared source too.

        Keras keeps one source per thread, and each replica has its own thread.
        """
        global_state.set_global_attribute(seed_generator.GLOBAL_SEED_GENERATOR, self._shared)

    def start(self, variable: Any, draw: Any) -> Any:
        """Return the state of a source after `draw` draws.

        None if the variable is no random state.
        """
        if not is_random_state(variable):
            return None
        if id(variable) not in self._seeds:  # a source that its layer has not registered with Keras
            with tf.init_scope():
                self._seeds[id(variable)] = (variable, _seed_in(variable))
        return tf.stack([tf.constant(self._seeds[id(variable)][1], tf.int64), draw])


class Changes(Protocol):
    """Some variables with the values that a step has left in them."""

    @property
    def changed(self) -> list[Any]:
        """The variables."""

    def get_current_value(self, variable: Any) -> Any:
        """The value that was left in one of them."""


class Caught(keras.StatelessScope):  # type: ignore[misc]  # Keras has no types
    """A scope that records what layers assign and the losses that they add.

    In it, layers draw from the number `draw` on.
    """

    def __init__(self, random: RandomStates, draw: Any) -> None:
        super().__init__(collect_losses=True)
        random.share_here()
        self._random, self._draw = random, draw
        self.drew = False
        """Whether a layer has drawn random numbers."""
        self._changed: dict[int, Any] = {}
        self.read_again: dict[int, Any] = {}
        """Other state than weights that was read after it had been assigned here, by its ids."""

    @property
    def changed(self) -> list[Any]:
        """The variables that were assigned, in order of assignment and without random states."""
        return list(self._changed.values())

    def leave(self, variables: Sequence[Any]) -> None:
        """Let the values of these variables be changed here only."""
        for variable in variables:
            self._changed.pop(id(variable), None)

    def again(self) -> Caught:
        """Return a scope that repeats what is done in this one next, from its present state."""
        same = Caught(self._random, self._draw)
        same.state_mapping.update(self.state_mapping)
        return same

    def get_current_value(self, variable: Any) -> Any:
        """The value in this scope; None if it is the variable's own."""
        if id(variable) in self._changed and not variable.trainable:
            self.read_again[id(variable)] = variable
        if id(variable) not in self.state_mapping:
            start = self._random.start(variable, self._draw)
            if start is None:
                return None
            self.state_mapping[id(variable)], self.drew = start, True
        return self.state_mapping[id(variable)]

    def add_update(self, update: tuple[Any, Any]) -> None:
        """Record that a layer assigns a value."""
        variable, value = update
        if not is_random_state(variable):
            self._changed[id(variable)] = variable
        # No gradient goes through what is assigned, as none does where variables are.
        read = _as_if_read(variable, value) if variable.trainable else tf.stop_gradient(value)
        super().add_update((variable, read))


def contribution(variable: Any, caught: Changes, part: BatchPart) -> Any:
    """Return a part's contribution to the new value of a variable.

    `joined` takes the sum over all parts.
    """
    old, left = variable.value, caught.get_current_value(variable)
    left = old if left is None else left
    return change_of(old, left, variable.aggregation, part.number, part.share)


# Scripts have the next functions as they stand, see `export.script_text`: these use TensorFlow
# alone, and their lines have 88 columns at most.


def of_batch(term: Any, share: Any) -> Any:
    """Return what a layer's loss for a part of this share adds to a batch's loss.

    One number is taken for a mean over the samples, as Keras' own are; of several, the
    sum is meant.
    """
    term = tf.cast(term, tf.float32)
    if term.shape.rank == 0:
        return term * share
    return tf.reduce_sum(term) * tf.sign(share)


def change_of(old: Any, left: Any, aggregation: str, number: Any, share: Any) -> Any:
    """Return what a part adds to the change of a variable in which it left this value.

    `number` is the part's, and `share` what it has of the samples. `joined` takes the
    sum over all parts.
    """
    wide = wide_type(old.dtype)
    change = tf.cast(left, wide) - begun_from(old, wide)
    return change * tf.cast(counted_as(aggregation, number, share), wide)


def counted_as(aggregation: str, number: Any, share: Any) -> Any:
    """Return how much the change of a part counts: mostly by its samples."""
    if aggregation == "sum":
        return tf.sign(share)
    if aggregation == "only_first_replica":
        return tf.equal(number, 0)
    return share


def joined(value: Any, total: Any) -> Any:
    """Return a variable's new value, from its value and the sum of all changes."""
    new = begun_from(value, total.dtype) + total
    return tf.cast(new if value.dtype.is_floating else tf.round(new), value.dtype)


def wide_type(kind: Any) -> tf.DType:
    """Return the type in which changes of a variable of this type are added up."""
    own = tf.as_dtype(kind)
    return tf.float64 if own == tf.float64 or not own.is_floating else tf.float32


def begun_from(value: Any, dtype: tf.DType) -> Any:
    """Return the value that changes are counted from.

    That is the variable's value, unless it is infinite, as a running maximum begins.
    """
    value = tf.cast(value, dtype)
    return tf.where(tf.math.is_finite(value), value, tf.zeros_like(value))


def spread(left: Sequence[Any], shares: Sequence[Any]) -> Any:
    """Return the variance of what the parts left, weighted by their samples."""
    values = [tf.cast(each, tf.float32) for each in left]
    pairs = list(zip(values, shares, strict=True))
    mean = tf.add_n([value * share for value, share in pairs])
    return tf.add_n([tf.square(value - mean) * share for value, share in pairs])


def _as_if_read(variable: Any, value: Any) -> Any:
    """Return the value with the gradient of a read of the variable.

    For training, the variable was assigned and then read.
    """

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def read(new: Any, _old: Any) -> tuple[Any, Any]:
        return tf.identity(new), lambda gradient: (None, gradient)

    # `value` is what the scope holds.
    return read(value, tf.convert_to_tensor(variable._value))  # noqa: SLF001


def is_random_state(variable: Any) -> bool:
    """Whether the variable is where a `SeedGenerator` of Keras' has got to."""
    return bool(variable.name == "seed_generator_state")


def _seed_in(state: Any) -> int:
    return int(np.asarray(state._value)[0])  # noqa: SLF001 (`value` is what a scope holds)


def is_apart(layer: keras.layers.Layer, *, together: bool = True) -> bool:
    """Return whether the layer's replicas normalise separately.

    A frozen layer uses the statistics that it has, and does not count; nor does a synchronized one
    where replicas are `together` in each step, as workers of servers never do.
    """
    return (
        isinstance(layer, keras.layers.BatchNormalization)
        and layer.trainable
        and not (together and getattr(layer, "synchronized", False))
    )


def kept_states(model: keras.Model) -> tuple[str, int] | None:
    """Return the first recurrent layer that keeps its states, and of how many samples it does.

    None if each batch begins anew, as without `stateful=True`.
    """
    for layer in _keeping_states(model):
        states = keras.tree.flatten(layer.states)
        if states and states[0] is not None:
            return layer.name, int(states[0].shape[0])
    return None


@contextmanager
def beginning_anew(model: keras.Model) -> Iterator[None]:
    """While entered, no layer keeps states, so that batches may have any number of samples."""
    keeping = _keeping_states(model)
    for layer in keeping:
        layer.stateful = False
    try:
        yield
    finally:
        for layer in keeping:
            layer.stateful = True


def _keeping_states(model: keras.Model) -> list[Any]:
    layers = model._flatten_layers()  # noqa: SLF001 (no public name)
    return [each for each in layers if isinstance(each, keras.layers.RNN) and each.stateful]


def normalising(count: int) -> str:
    """Begin a sentence about so many batch normalisations: it needs what they normalise."""
    if count == 1:
        return "Its batch normalisation normalises"
    return f"Its {count} batch normalisations normalise"


def overflows_apart(optimizer: Any, parts: str) -> Iterator[Warned]:
    """Return a warning if the optimizer scales losses, which the `parts` of a batch share."""
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        yield Warned(
            message=f"Gradients in 16 bits overflow in each of {parts} by itself: steps may be "
            "left out, and the scale halved, where the batch in one piece would not, or would.",
            suggestion="In mixed_bfloat16 nothing overflows, and no loss is scaled.",
        )


def notes_on(model: Any, caught: Caught, parts: int, *, training: bool) -> list[Log | Warned]:
    """Return what is to be known of how layers went on in one of the `parts` of a batch."""
    if not training:
        return [_same_draws()] if caught.drew else []
    layers = [each for each in model._flatten_layers() if not _is_own(each)]  # noqa: SLF001
    known = {id(v) for layer in layers for v in layer._non_trainable_variables}  # noqa: SLF001
    known |= {id(each) for each in model.metrics_variables}
    again = [each.path for key, each in caught.read_again.items() if key not in known]
    return [_read_apart(again)] if again and parts > 1 else []


def _same_draws() -> Log:
    return Log(
        message="Layers draw random numbers in validation and tests, too. They are the same ones "
        "each time, so that epochs can be compared; fit draws others."
    )


def _read_apart(paths: Sequence[str]) -> Warned:
    return Warned(
        message=f"Layers read {' and '.join(paths)} again after they have assigned it in the same "
        "step. Each part of a batch reads what it has made itself, and not what the whole batch "
        "makes of it: that may train otherwise than one device does.",
        suggestion="Read it before it is assigned, or train on one device in whole batches.",
    )


def _is_own(layer: Any) -> bool:
    return not type(layer).__module__.startswith("keras.")


def lists_in(model: Any) -> dict[tuple[str, str], tuple[Any, int]]:
    """Return the lists that layers of the user's own keep, and how long each is.

    They are found by the layer's name and the attribute's; Keras' own are left out.
    """
    plain = vars(keras.layers.Layer())
    return {
        (layer.name, name): (value, len(value))
        for layer in model._flatten_layers()  # noqa: SLF001
        if _is_own(layer)
        for name, value in vars(layer).items()
        if name not in plain and isinstance(value, list | dict | set | deque)
    }


def grown(model: Any, before: Mapping[tuple[str, str], tuple[Any, int]]) -> list[str]:
    """Return which lists, by layer and attribute, have got tensors of the step since `before`."""
    return [
        f"{layer}.{name}"
        for (layer, name), (value, length) in lists_in(model).items()
        if (layer, name) in before
        and before[layer, name][0] is value
        and length > before[layer, name][1]
        and _symbols(value)
    ]


def _symbols(held: Any) -> list[Any]:
    every = held.values() if isinstance(held, dict) else held
    return [each for each in every if isinstance(each, tf.Tensor) and hasattr(each, "graph")]


def refuse_used(model: Any, names: Sequence[str], graph: Any) -> None:
    """Raises UserCodeError if the step in `graph` uses what lists kept of one compiled before."""
    held = {id(each) for list_, _ in lists_in(model).values() for each in _symbols(list_)}
    for outer, inner in zip(graph.external_captures, graph.internal_captures, strict=True):
        if id(outer) not in held:
            continue
        lines = (line_that_made(each) for each in inner.consumers())
        where = next(filter(None, lines), None)
        at = f", in line {where[1]} of {where[0].name}" if where else ""
        look = [f"Look at line {where[1]} of {where[0]}."] if where else []
        raise UserCodeError(
            f"A step uses a tensor that {' or '.join(names)} has kept from another step{at}. A "
            "list in Python is filled when a step is compiled, not when it computes: fit fails "
            "here too.",
            [_IN_A_WEIGHT, *look],
        )


_IN_A_WEIGHT = (
    "Keep what a later step needs in a weight: self.add_weight(…, trainable=False) in build, and "
    "assign to it in call."
)


def warned_of_lists(names: Sequence[str]) -> Warned:
    """Say that lists in Python do not grow from step to step."""
    return Warned(
        message=f"{' and '.join(names)} got a tensor when the step was compiled. That happens "
        "once, not in each step: what it holds is no number, and it does not grow any further.",
        suggestion=_IN_A_WEIGHT,
    )


def few_turns_at_once() -> None:
    """Let the loops of recurrent layers in the current graph run few turns at once.

    Most of a turn needs the state that the one before leaves, so that more gain little. But on the
    way back all that run at once hold gradients of the weights, and what these are computed from,
    when one thread stands still: in some steps, up to a third more than in the others. A loop's
    gradients alone take the lists that it keeps.
    """
    recurrent: set[Any] = set()
    for op in tf.compat.v1.get_default_graph().get_operations():
        if op.type.endswith("While") and _is_recurrent(op, recurrent):
            recurrent.add(op)
            op._set_attr("parallel_iterations", attr_value_pb2.AttrValue(i=_TURNS))  # noqa: SLF001


def _is_recurrent(loop: Any, known: Collection[Any]) -> bool:
    """Whether Keras' code for recurrent layers made a loop, or it takes a list of the `known`."""
    made = any(frame.filename == beginning(rnn)[0] for frame in loop.traceback)
    return made or any(x.op in known for x in loop.inputs if x.dtype == tf.variant)


def taken_off(variables: list[Any]) -> list[tuple[Any, Any]]:
    """Remove the constraints from the variables, and return both.

    The optimizer would have each replica write these variables, which CentralStorage forbids.
    """
    constraints = [
        (variable, variable.constraint) for variable in variables if variable.constraint is not None
    ]
    for variable, _ in constraints:
        variable.constraint = None
    return constraints
