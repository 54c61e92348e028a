"""A batch of a `tf.data` pipeline that one replica trains on as it comes.

What the pipeline itself were to do with it would be one more function of each of its iterators.
TensorFlow places and optimizes each anew, which takes 3 ms of every pass, and 0.4 ms for each
operation: longer than some passes are. So the step does it; and what only the pipeline can do is
done by functions that an iterator takes as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from gpu_studio.trainer.data.streams import NO_ROWS, parts_of
from gpu_studio.trainer.input_wait import HOST

_ON_ONE_DEVICE = {"experimental_ints_on_device": True}
"""Pipelines run a function of this attribute as it was traced, on the host as all of theirs: see
`FunctionMetadata::Create` and `CapturedFunction::Instantiate` in TensorFlow's captured_function.cc.
"""


class WholeBatch(NamedTuple):
    """A batch as the pipeline gives it, and whether it is the last; when it was ready, or 0."""

    given: Any
    ready: Any


class Held(NamedTuple):
    """A batch that was read before its step, as it came, in place of the stream."""

    batch: Any


def whole_batches(data: tf.data.Dataset, *, timed: bool) -> tf.data.Dataset:
    """Return `data`, pairs of a batch and whether it is the last, as `WholeBatch`es.

    They are `timed`, or the moment is 0.
    """
    moments = tf.data.Dataset.from_tensors(tf.zeros((), tf.float64)).repeat()
    if timed:  # of a pair's members the second is asked for when the first is there
        moments = mapped_lightly(moments, _now)
    return tf.data.Dataset.zip(WholeBatch(data, moments))


def _now(nothing: Any) -> Any:
    del nothing
    return tf.timestamp()


def without_last(data: tf.data.Dataset) -> tf.data.Dataset:
    """Pair each element with False: who reads it knows how many there are."""
    return tf.data.Dataset.zip((data, tf.data.Dataset.from_tensors(False).repeat()))


def with_last(data: tf.data.Dataset) -> tf.data.Dataset:
    """Pair each element, of tensors, with whether it is the last, by looking one element ahead."""

    def nothing(spec: Any) -> Any:
        return tf.zeros([size or 0 for size in spec.shape], spec.dtype)

    nobody = tf.nest.map_structure(nothing, data.element_spec)
    ended = without_last(data).concatenate(tf.data.Dataset.from_tensors((nobody, True)))
    state, many = tuple(tf.nest.flatten(data.element_spec)), len(tf.nest.flatten(nobody))

    def shifted(*given: Any) -> tuple[Any, Any]:
        before, now, over = given[:many], given[many:-1], given[-1]
        return now, (tf.nest.pack_sequence_as(nobody, before), over)

    first = {"initial_state": tf.nest.flatten(nobody)}
    return _made_by(tf.raw_ops.ScanDataset, shifted, ended, state, **first).skip(1)


def mapped_lightly(data: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    """Return `data.map(function)`, for a function that captures nothing."""
    kind = data.element_spec

    def of_a_row(*given: Any) -> Any:
        element = tf.nest.pack_sequence_as(kind, given)
        return function(*element) if isinstance(kind, tuple) else function(element)

    return _made_by(tf.raw_ops.MapDataset, of_a_row, data)


def _made_by(
    operation: Any,
    function: Callable[..., Any],
    data: tf.data.Dataset,
    state: tuple[Any, ...] = (),
    **further: Any,
) -> tf.data.Dataset:
    """Return what an operation of `tf.data` makes of `data` by a function that is cheap to take.

    The function gets the tensors of an element in a row, behind those of a `state`, if there is
    one, which it then returns with what it makes. It captures nothing.
    """
    once = tf.function(function, autograph=False, experimental_attributes=_ON_ONE_DEVICE)
    taken = once.get_concrete_function(*state, *tf.nest.flatten(data.element_spec))
    came = taken.structured_outputs[1] if state else taken.structured_outputs
    made = tf.nest.map_structure(lambda each: tf.TensorSpec(each.shape, each.dtype), came)
    variant = operation(
        input_dataset=tf.data.experimental.to_variant(data),
        other_arguments=[],
        f=taken,
        output_types=[each.dtype for each in tf.nest.flatten(made)],
        output_shapes=[each.shape for each in tf.nest.flatten(made)],
        preserve_cardinality=True,
        **further,
    )
    return tf.data.experimental.from_variant(variant, made)


def can_be_whole(data: tf.data.Dataset) -> bool:
    """Whether it is known of all that `data` give how many axes they have."""
    specs = tf.nest.flatten(data.element_spec)
    return all(isinstance(each, tf.TensorSpec) and each.shape.rank is not None for each in specs)


def as_part(batch: Any) -> Any:
    """Return a batch as a part of a step, see `batches.stream_parts`: as it is, unless whole."""
    if not isinstance(batch, WholeBatch):
        return batch
    with tf.device(HOST):
        element, last = batch.given
        given = parts_of(*element) if isinstance(element, tuple) else parts_of(element)
        size = rows_of(given)
        facts = [batch.ready, tf.cast(size, tf.float64), tf.cast(last, tf.float64)]
        return *weighed(given, size), tf.stack(facts)


def weighed(given: Any, size: Any) -> tuple[Any, ...]:
    """Return a whole batch of so many samples with their weights, each of which counts alike."""
    return *given, tf.fill([size], 1.0 / tf.cast(size, tf.float32))


def rows_of(given: Any) -> Any:
    """Return how many samples a batch has: where it has none, a step fails."""
    size = tf.shape(tf.nest.flatten(given)[0], out_type=tf.int64)[0]
    # Not tf.debugging's: that branches, and each iterator would take 20 ms longer to make.
    held = tf.raw_ops.Assert(condition=size > 0, data=[NO_ROWS])
    with tf.control_dependencies([held]):
        return tf.identity(size)
