"""Which samples each replica gets at each step: an endless stream that can start anywhere.

The order of an epoch is a function of (seed, epoch) alone, so a resumed run sees the same batches.
A global batch is cut into parts as even as possible, one for each replica. An endless stream of
parts, taken in turn by the replicas, avoids `tf.distribute`'s handling of partial batches, which is
slow and, under CentralStorage, wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.trainer.data import Split
from gpu_studio.trainer.input_wait import moment_after

PREFETCHED = 8
WHOLE_BYTES = 1 << 28
"""Of a split that takes no more than that as a model sees it, TensorFlow holds a copy."""
Given = Callable[[Any], tuple[Any, Any]]

# Every iterator, kept until the process ends. Under a strategy, TensorFlow puts an autotuner
# into each. Its thread sleeps for up to a minute, and destroying the iterator waits for it.
_KEPT: list[Any] = []


@dataclass(frozen=True, slots=True)
class Cut:
    """How to cut `samples`: batches of `batch` samples per step, shared by `replicas`."""

    samples: int
    batch: int
    replicas: int

    def steps(self, offset: int = 0) -> int:
        """Return the steps left in an epoch whose first `offset` samples are done."""
        return -(-(self.samples - offset) // self.batch)

    def parts(self, offset: int = 0) -> np.ndarray:
        """One row a replica and step, in that order.

        Start, stop (places in the epoch's order), size of the batch.

        The rows of a step differ by at most one sample. A replica for which none is left gets one
        sample with size 0, which weighs nothing: an empty batch would turn the statistics of batch
        normalisation into NaN.
        """
        starts = np.arange(offset, self.samples, self.batch, dtype=np.int64)
        sizes = np.minimum(self.batch, self.samples - starts)
        replica = np.arange(self.replicas, dtype=np.int64)
        share, extra = sizes[:, None] // self.replicas, sizes[:, None] % self.replicas
        first = starts[:, None] + replica * share + np.minimum(replica, extra)
        length = share + (replica < extra)
        idle = length == 0
        first = np.where(idle, starts[:, None], first)
        size = np.where(idle, 0, sizes[:, None])
        rows = np.stack([first, first + np.maximum(length, 1), size], axis=-1)
        return rows.reshape(-1, 3)


def order_of(epoch: Any, samples: int, seed: int) -> Any:
    """The order of an epoch, by (seed, epoch) alone: a permutation of 0 … samples − 1."""
    seeds = tf.stack([tf.constant(seed, tf.int64), tf.cast(epoch, tf.int64)])
    return tf.random.experimental.stateless_shuffle(tf.range(samples, dtype=tf.int64), seed=seeds)


def training_stream(
    split: Split, cut: Cut, seed: int, epoch: int, offset: int, *, timed: bool = False
) -> tf.data.Dataset:
    """Yield parts without end, from sample `offset` of epoch `epoch` (counted from 0) on.

    An element is (x, y, weight) with as many rows as the part has samples; the weights of a step
    sum to 1. With `timed`, a fourth says when the part was ready in memory, in seconds since 1970.
    """
    given = _given_of(split)

    def parts_of(number: Any, parts: np.ndarray) -> tf.data.Dataset:
        order = order_of(number, cut.samples, seed)
        return _gathered(parts, given, lambda start, stop: order[start:stop], timed=timed)

    first = tf.data.Dataset.from_tensors(tf.constant(epoch, tf.int64))
    first = first.flat_map(_as_it_stands(lambda e: parts_of(e, cut.parts(offset))))
    later = tf.data.Dataset.counter(start=epoch + 1).flat_map(
        _as_it_stands(lambda e: parts_of(e, cut.parts()))
    )
    return _endless(first.concatenate(later))


def evaluation_stream(split: Split, cut: Cut) -> tf.data.Dataset:
    """Parts of the whole split in its own order, over and over."""
    given = _given_of(split)
    return _endless(
        _gathered(cut.parts(), given, lambda start, stop: tf.range(start, stop)).repeat()
    )


def _gathered(
    parts: np.ndarray, given: Given, places: Any, *, timed: bool = False
) -> tf.data.Dataset:
    @_as_it_stands
    def gather(part: Any) -> tuple[Any, ...]:
        rows = places(part[0], part[1])
        weight = tf.math.divide_no_nan(1.0, tf.cast(part[2], tf.float32))
        made = *given(rows), tf.fill(tf.shape(rows), weight)
        return (*made, moment_after(made)) if timed else made

    return tf.data.Dataset.from_tensor_slices(parts).map(gather)


def _given_of(split: Split) -> Given:
    """Return the function that maps places in the split to samples and targets."""
    return (
        _given_by_tensorflow(split) if split.seen_bytes <= WHOLE_BYTES else _given_by_numpy(split)
    )


def _given_by_tensorflow(split: Split) -> Given:
    """Gather from TensorFlow's own copy, in the model's types.

    This is three times as fast as NumPy where a batch is small.
    """
    with tf.device("CPU:0"):
        x, y = tf.constant(split.seen(slice(None))), tf.constant(split.wanted(slice(None)))
    return lambda places: (tf.gather(x, places), tf.gather(y, places))


def _given_by_numpy(split: Split) -> Given:
    """Gather from the split's own arrays, which may be mapped from a file.

    TensorFlow holds no copy except of the batches under way.
    """
    kinds = (split.seen_type, split.wanted_type)

    def given(places: Any) -> tuple[Any, Any]:
        x, y = tf.numpy_function(
            lambda rows: (split.seen(rows), split.wanted(rows)), [places], kinds
        )
        return tf.ensure_shape(x, (None, *split.x.shape[1:])), tf.ensure_shape(
            y, (None, *split.y.shape[1:])
        )

    return given


def _as_it_stands(function: Callable[..., Any]) -> Any:
    """Keep AutoGraph away from the function.

    It writes what it converts to files, and leaves them behind.
    """
    return tf.autograph.experimental.do_not_convert(function)


def _endless(data: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.autotune.enabled = False  # there is nothing to tune here
    endless = data.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    return endless.prefetch(PREFETCHED).with_options(options)


def distribute(strategy: Any, stream: tf.data.Dataset) -> Any:
    """An iterator over the stream: each `next` gives every replica its part."""
    if strategy is not tf.distribute.get_strategy():  # the default one: no strategy at all
        stream = strategy.distribute_datasets_from_function(lambda _context, local=stream: local)
    _KEPT.append(iter(stream))
    return _KEPT[-1]
