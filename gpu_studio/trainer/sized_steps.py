"""Training steps that know how many samples a batch has, where that makes recurrent layers faster.

`fit` traces a step for batches of any size. Then TensorFlow computes shapes anew in each turn of a
recurrent layer's loop: in a GRU of 8 units they are a quarter of its operations. Here the steps of
a call are traced for batches of one size, and a batch of another ends the loop. It is trained by a
step for any size, as all are elsewhere.

Both compute the same, but TensorFlow's optimizer may join other operations: losses agree to the
last digits of single precision. So the plan and the data alone decide which is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import keras
import tensorflow as tf

from gpu_studio.plan import Training
from gpu_studio.trainer.batches import is_default
from gpu_studio.trainer.data import Split
from gpu_studio.trainer.meters import Call, Deltas
from gpu_studio.trainer.model_layers import loops_of_keras
from gpu_studio.trainer.program import PARTED, Program
from gpu_studio.trainer.step_loops import Left, LeftOut, Trained, training_loop
from gpu_studio.trainer.whole_batches import Held
from gpu_studio.trainer.xla import By, XlaProgram, runs_on

WORTH_TRACING: Final = 500
"""So many steps save more than the half to two seconds that tracing a second step takes."""
LONG_PASS: Final = 8
"""The batches of a pass at least, if the last is smaller: to leave one out takes two calls more."""


def undivided(
    given: Sequence[Any],
    by: By,
    replicas: Sequence[str],
    split: Split,
    training: Training,
    steps: int,
) -> Program:
    """Return the program of a model that each of these replicas holds as a whole.

    `given` is what `Program` gets, strategy and model first, `by` is whether XLA compiles the
    steps; `steps` are those of an epoch, 0 if only the data know.
    """
    if by:
        return XlaProgram(*given, compiled=by)
    strategy, model = given[:2]
    alone = is_default(strategy) and runs_on(replicas, None).kind == "CPU"
    size = size_of_steps(model, split, training, steps) if alone else None
    return Program(*given) if size is None else SizedProgram(*given, size=size)


def size_of_steps(model: Any, split: Split, training: Training, steps: int) -> int | None:
    """Return how many samples the steps of a run know a batch to have.

    None where they know none: for a model without recurrent layers, or with layers of its author's,
    and for a run or a pass that is too short. `steps` are those of an epoch, 0 if only the data
    know.
    """
    if steps * training.trained_epochs < WORTH_TRACING or not _gains(model):
        return None
    size, stream = training.batch_size, split.stream
    if stream is None:
        long = len(split) % size == 0 or len(split) > (LONG_PASS - 1) * size
        return size if long else None
    known = all(each.shape.rank is not None for each in tf.nest.flatten(stream.spec))
    alike = known and len(set(stream.rows)) < 2  # no rows where samples come one by one
    long = (stream.steps(size) or LONG_PASS) >= LONG_PASS
    return stream.batch or size if alike and long else None


def _gains(model: Any) -> bool:
    """Whether a model has loops, in layers of Keras' own: others might ask for a batch's size."""
    layers = list(model._flatten_layers())  # noqa: SLF001 (no public name)
    return loops_of_keras(layers) and not any(isinstance(x, keras.layers.Lambda) for x in layers)


class SizedProgram(Program):
    """A program for one device whose steps know how many samples a batch has."""

    def __init__(self, *given: Any, size: int) -> None:
        """All but `size`, of the batches, is as of `Program`."""
        self._size = size
        super().__init__(*given)

    def begin_with(self, optimizer: Any) -> None:
        """As of `Program`."""
        super().begin_with(optimizer)
        self._train_sized = tf.function(self._train_steps_of_size, autograph=False)
        self._kind: Any = None

    def _call(self, stream: Any, first_step: int, count: int) -> Call:
        call, left = self._run(self._train_sized, stream, first_step, count)
        while isinstance(left, LeftOut) and left.is_there:
            held, kind = Held(left.batch), Held(self._kind)
            call = call.followed_by(self._call_with(held, kind, first_step + len(call.losses)))
            done = len(call.losses)
            if done == count or call.over:
                break
            more, left = self._run(self._train_sized, stream, first_step + done, count - done)
            call = call.followed_by(more)
        return call

    # Traced by TensorFlow.

    def _train_steps_of_size(
        self, stream: Any, first: Any, count: Any
    ) -> tuple[Any, Deltas, Any, Left]:
        def read() -> tuple[Any, list[Any], list[Any]]:
            part = self._next(stream)
            return part, *self._with_facts(part)[1:]

        kinds = tf.function(self._next, autograph=False).get_concrete_function(stream)
        self._kind = tf.nest.map_structure(_spec, kinds.structured_outputs)
        nothing = LeftOut(tf.constant(False), _no_rows(self._kind, tf.minimum(count, 0)))
        deltas = self.meters.nothing()
        return training_loop(first, count, read, self._trained_if_whole, deltas, nothing)

    def _trained_if_whole(self, part: Any, step: Any, left: Left) -> Trained:
        assert isinstance(left, LeftOut)
        samples, before = part[:PARTED], left.batch
        whole = tf.shape(tf.nest.flatten(samples)[0])[0] == self._size

        def train() -> tuple[Any, Deltas, Any]:
            return *self._train_step(_sized(samples, self._size, step), step)[:2], before

        def leave() -> tuple[Any, Deltas, Any]:
            return tf.zeros(()), self.meters.nothing(), part

        loss, added, batch = tf.cond(whole, train, leave)
        return Trained(loss, added, [], LeftOut(tf.logical_not(whole), batch))


def _spec(made: Any) -> Any:
    return tf.TensorSpec(made.shape, made.dtype)


def _no_rows(kinds: Any, none: Any) -> Any:
    """Return tensors of these kinds without rows; `none` is 0, which nobody knows while tracing."""

    def empty(kind: Any) -> Any:
        return tf.zeros([none if size is None else size for size in kind.shape], kind.dtype)

    return tf.nest.map_structure(empty, kinds)


def _sized(samples: Any, size: int, step: Any) -> Any:
    """Return tensors of which tracing knows that they have so many rows.

    TensorFlow's optimizer does not know it. It would take it for the size of the tensor before,
    too, and so of all batches: what it learns in one branch it believes in the other. Hence a slice
    from a place that is always 0.
    """
    begin = tf.reshape(tf.minimum(step, 0), [1])

    def known(each: Any) -> Any:
        rows = tf.strided_slice(each, begin, [0], [1], end_mask=1)
        rows.set_shape([size, *each.shape[1:]])
        return rows

    return tf.nest.map_structure(known, samples)
