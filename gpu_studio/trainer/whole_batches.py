"""A batch of a `tf.data` pipeline that one replica trains on as it comes.

What the pipeline itself were to do with it would be one more function of each of its iterators, and
each takes 3 ms of every pass, and 0.4 ms for each operation in it: longer than some passes are. So
the step does it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from gpu_studio.trainer.data.streams import NO_ROWS, parts_of
from gpu_studio.trainer.input_wait import HOST

_A_FEW_AXES = 2
_AS_IT_COMES = (tf.float32, tf.int32, tf.string)


class WholeBatch(NamedTuple):
    """A batch as the pipeline gives it, and whether it is the last; when it was ready, or 0."""

    given: Any
    ready: Any


def whole_batches(data: tf.data.Dataset, *, timed: bool) -> tf.data.Dataset:
    """Return `data`, pairs of a batch and whether it is the last, as `WholeBatch`es.

    They are `timed`, or the moment is 0.
    """
    moments = tf.data.Dataset.from_tensors(tf.zeros((), tf.float64)).repeat()
    if timed:  # of a pair's members the second is asked for when the first is there
        moments = moments.map(_now)
    return tf.data.Dataset.zip(WholeBatch(data, moments))


@tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
def _now(_nothing: Any) -> Any:
    return tf.timestamp()


def can_be_whole(data: tf.data.Dataset) -> bool:
    """Whether it is known of all that `data` give how many axes they have."""
    specs = tf.nest.flatten(data.element_spec)
    return all(isinstance(each, tf.TensorSpec) and each.shape.rank is not None for each in specs)


def has_much_to_cast(data: tf.data.Dataset) -> bool:
    """Whether much of `data` comes in a type that no step takes, as NumPy's own is.

    A pipeline casts it while the step before is computed.
    """
    element, _ = data.element_spec
    x, *others = element if isinstance(element, tuple) else (element,)
    large = [each for each in tf.nest.flatten(others) if each.shape.rank > _A_FEW_AXES]
    cast = [each.dtype not in _AS_IT_COMES for each in large]
    return any(cast) or any(each.dtype == tf.float64 for each in tf.nest.flatten(x))


def as_part(batch: Any) -> Any:
    """Return a batch as a part of a step, see `batches.stream_parts`: as it is, unless whole."""
    if not isinstance(batch, WholeBatch):
        return batch
    with tf.device(HOST):
        element, last = batch.given
        given = parts_of(*element) if isinstance(element, tuple) else parts_of(element)
        size = rows_of(given)
        told = [batch.ready, tf.cast(size, tf.float64), tf.cast(last, tf.float64)]
        return *weighed(given, size), tf.stack(told)


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
