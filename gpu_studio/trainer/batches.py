"""Which samples each replica gets at each step: an endless stream that can start anywhere.

The order of an epoch is a function of (seed, epoch) alone, so a resumed run sees the same batches.
A global batch is cut into parts as even as possible, one for each replica. An endless stream of
parts, taken in turn by the replicas, avoids `tf.distribute`'s handling of partial batches, which is
slow and, under CentralStorage, wrong.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.plan.data import BRIGHTEST
from gpu_studio.trainer.data import Split
from gpu_studio.trainer.data.in_files import FilesAsArray
from gpu_studio.trainer.data.python_streams import PythonStream
from gpu_studio.trainer.data.streams import DatasetStream
from gpu_studio.trainer.data.trees import flat, mapped
from gpu_studio.trainer.input_wait import moment_after
from gpu_studio.trainer.whole_batches import (
    can_be_whole,
    mapped_lightly,
    rows_of,
    weighed,
    whole_batches,
    with_last,
    without_last,
)

PREFETCHED = 8
WHOLE_BYTES = 1 << 28
"""Of a split that takes no more than that as a model sees it, TensorFlow holds a copy."""
Given = Callable[[Any], tuple[Any, Any, Any]]

# Every iterator, kept until the process ends. Under a strategy, TensorFlow puts an autotuner
# into each. Its thread sleeps for up to a minute, and destroying the iterator waits for it.
_KEPT: list[Any] = []


@dataclass(frozen=True, slots=True)
class Cut:
    """How to cut `samples`: batches of `batch` samples per step, shared by `replicas`.

    `own` says which replicas are this process's, first and past the last; None says that all are.
    Epochs come `shuffled`, or in the order of the data.
    """

    samples: int
    batch: int
    replicas: int
    own: tuple[int, int] | None = None
    shuffled: bool = True

    @property
    def part(self) -> int:
        """How many samples a replica has of a whole batch, or one less; at least one."""
        return max(1, self.batch // self.replicas)

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

    def own_parts(self, offset: int = 0) -> np.ndarray:
        """The rows of `parts` of this process's own replicas."""
        rows = self.parts(offset)
        if self.own is None:
            return rows
        first, last = self.own
        return rows.reshape(-1, self.replicas, 3)[:, first:last].reshape(-1, 3)

    @property
    def own_replicas(self) -> range:
        """The numbers of this process's replicas."""
        return range(*(self.own or (0, self.replicas)))

    def order_of(self, epoch: Any, seed: int) -> Any:
        """The order of an epoch, by (seed, epoch) alone: a permutation of 0 … samples − 1."""
        places = tf.range(self.samples, dtype=tf.int64)
        if not self.shuffled:
            return places
        seeds = tf.stack([tf.constant(seed, tf.int64), tf.cast(epoch, tf.int64)])
        return tf.random.experimental.stateless_shuffle(places, seed=seeds)


def training_stream(
    split: Split, cut: Cut, seed: int, epoch: int, offset: int, *, timed: bool = False
) -> tf.data.Dataset:
    """Yield parts without end, from sample `offset` of epoch `epoch` (counted from 0) on.

    An element is (x, y, sample weights, weight) with as many rows as the part has samples. The
    first three are structures of tensors, `()` where there is none. The `weight` of a step sums to
    1: it is that of each sample in a mean over the global batch. With `timed`, a fifth says when
    the part was ready in memory, in seconds since 1970.
    """
    first, later = cut.own_parts(offset), cut.own_parts()

    @_as_it_stands
    def one_for_each_part(number: Any) -> tf.data.Dataset:
        order = tf.data.Dataset.from_tensors(cut.order_of(number, seed))
        rows = tf.where(number == epoch, len(first), len(later))
        return order.repeat(tf.cast(rows, tf.int64))

    # The samples are gathered beside the epochs, not inside: inside, TensorFlow would trace and
    # prepare all of it once for each kind of epoch, which takes 0.1 s of every start.
    # `range` and not `counter`, which traces a function to count.
    epochs = tf.data.Dataset.range(epoch, tf.int64.max)
    orders = epochs.flat_map(one_for_each_part)
    parts = tf.data.Dataset.from_tensor_slices(later).repeat()
    if offset:
        parts = tf.data.Dataset.from_tensor_slices(first).concatenate(parts)
    gather = _gathering(_given_of(split), lambda order, start, stop: order[start:stop], timed=timed)
    return _endless(tf.data.Dataset.zip((orders, parts)).map(gather))


def stream_parts(
    stream: PythonStream | DatasetStream,
    batch: int,
    replicas: int,
    skipped: int = 0,
    own: tuple[int, int] | None = None,
    *,
    whole: bool = False,
    timed: bool = True,
) -> tf.data.Dataset:
    """Yield the parts of one pass over a stream, without its first `skipped` global batches.

    Its batches are cut as `Cut` cuts them, whatever their size; `own` is as there. Samples that
    come one by one are put together to batches of `batch`. A part is what `training_stream` yields,
    but what it says of itself has shape (3,): when it was ready, how many samples the global batch
    has, and 1 if that is the last of the pass. With `whole`, batches of a pipeline may come as
    `WholeBatch`es instead, `timed` or not.
    """
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    if isinstance(stream, PythonStream):
        options.autotune.enabled = False  # which would take 20 ms of each pass, to tune nothing
        parts = _python_parts(stream, batch, replicas, own)
    else:
        data = _global_batches(stream, batch, skipped)
        if whole and replicas == 1 and can_be_whole(data):
            parts = whole_batches(data, timed=timed)
        else:
            parts = _dataset_parts(stream, data, Cut(batch, batch, replicas, own))
    if stream.in_turn and not isinstance(stream, PythonStream):
        options.experimental_optimization.inject_prefetch = False
        return parts.with_options(options)
    return parts.prefetch(max(PREFETCHED, 2 * replicas)).with_options(options)


def _python_parts(
    stream: PythonStream, batch: int, replicas: int, own: tuple[int, int] | None
) -> tf.data.Dataset:
    def parts() -> Iterator[Any]:
        for given, last in stream.batches(batch):
            many = len(flat(given)[0])
            for start, stop, size in Cut(many, many, replicas, own).own_parts().tolist():
                rows = mapped(operator.itemgetter(slice(start, stop)), given)
                weight = np.full(stop - start, 1.0 / size if size else 0.0, np.float32)
                yield *rows, weight, np.array([time.time(), many, last])

    signature = *stream.spec, tf.TensorSpec([None]), tf.TensorSpec([3], tf.float64)
    return tf.data.Dataset.from_generator(parts, output_signature=signature)


def _dataset_parts(stream: DatasetStream, data: tf.data.Dataset, cut_as: Cut) -> tf.data.Dataset:
    replicas, own = cut_as.replicas, cut_as.own_replicas

    def whole(element: Any, last: Any) -> tuple[Any, ...]:
        given = _parts_of(stream, element)
        size = rows_of(given)
        made = weighed(given, size)
        return *made, _batch_facts(made, size, last)

    @_as_it_stands
    def cut(element: Any, last: Any) -> tf.data.Dataset:
        given = _parts_of(stream, element)
        size = rows_of(given)
        share, extra = size // replicas, size % replicas

        @_as_it_stands
        def part(replica: Any) -> tuple[Any, ...]:
            length = share + tf.cast(replica < extra, tf.int64)
            start = tf.where(length > 0, replica * share + tf.minimum(replica, extra), 0)
            stop = start + tf.maximum(length, 1)
            weight = tf.where(length > 0, 1.0 / tf.cast(size, tf.float32), 0.0)
            rows = tf.nest.map_structure(lambda each: each[start:stop], given)
            made = *rows, tf.fill([stop - start], weight)
            return *made, _batch_facts(made, size, last)

        return tf.data.Dataset.range(own.start, own.stop).map(part)

    return mapped_lightly(data, whole) if replicas == 1 else data.flat_map(cut)


def _global_batches(stream: DatasetStream, batch: int, skipped: int) -> tf.data.Dataset:
    """Yield each global batch of a stream, and 1 with the last of the pass, else 0."""
    data = stream.elements(skipped if stream.batched else skipped * batch)
    data = data if stream.batched else data.batch(batch)
    data = data.take(stream.due) if stream.due and not stream.in_turn else data
    ends_unseen = stream.steps(batch) is None and not stream.endless
    if ends_unseen and not can_be_whole(data):
        data = data.map(_as_it_stands(stream.parts))
    return with_last(data) if ends_unseen else without_last(data)


def _parts_of(stream: Any, element: Any) -> Any:
    return stream.parts(*element) if isinstance(element, tuple) else stream.parts(element)


def _batch_facts(made: Any, size: Any, last: Any) -> Any:
    """Return when a part was ready, the size of its batch, and whether that is the last."""
    return tf.stack([moment_after(made), tf.cast(size, tf.float64), tf.cast(last, tf.float64)])


def evaluation_stream(split: Split, cut: Cut) -> tf.data.Dataset:
    """Parts of the whole split in its own order, over and over."""
    gather = _gathering(_given_of(split), tf.range)
    return _endless(tf.data.Dataset.from_tensor_slices(cut.own_parts()).map(gather).repeat())


def _gathering(given: Given, places: Callable[..., Any], *, timed: bool = False) -> Any:
    """Return the function that makes a part of what is known of it, the last a row of `Cut.parts`.

    `places` says where in the split its samples are, by what came before the row, start and stop.
    """

    @_as_it_stands
    def gather(*known: Any) -> tuple[Any, ...]:
        *before, part = known
        rows = places(*before, part[0], part[1])
        weight = tf.math.divide_no_nan(1.0, tf.cast(part[2], tf.float32))
        made = *given(rows), tf.fill(tf.shape(rows), weight)
        return (*made, moment_after(made)) if timed else made

    return gather


def _given_of(split: Split) -> Given:
    """Return the function that maps places in the split to samples, targets and weights."""
    if any(isinstance(each, FilesAsArray) for each in split.arrays):
        return _given_from_files(split)
    held = not split.streamed and split.seen_bytes <= WHOLE_BYTES
    return _given_by_tensorflow(split) if held else _given_by_numpy(split)


def _given_from_files(split: Split) -> Given:
    """Read what is in files within the graph, and gather the rest by NumPy."""
    first = split.given(slice(1))
    some, arrays = tf.nest.flatten(first), split.arrays
    in_files = {n: each for n, each in enumerate(arrays) if isinstance(each, FilesAsArray)}
    kept = [number for number in range(len(arrays)) if number not in in_files]
    kinds = [tf.as_dtype(each.dtype) for each in some]
    rows = None if split.rows is None else tf.constant(split.rows, tf.int64)

    def read(number: int, at: Any) -> Any:
        found = in_files[number].in_graph(at)
        if split.is_scaled(number):
            return tf.cast(found, tf.float32) / tf.constant(BRIGHTEST, tf.float32)
        return tf.cast(found, kinds[number])

    def given(places: Any) -> Any:
        at = tf.cast(places, tf.int64)
        at = at if rows is None else tf.gather(rows, at)
        found = {number: read(number, at) for number in in_files}
        if kept:
            made = tf.numpy_function(
                lambda chosen: [split.leaf(number, chosen) for number in kept],
                [at],
                [kinds[number] for number in kept],
            )
            found |= zip(kept, made, strict=True)
        shaped = [
            tf.ensure_shape(found[number], (None, *each.shape[1:]))
            for number, each in enumerate(some)
        ]
        return tf.nest.pack_sequence_as(first, shaped)

    return given


def _given_by_tensorflow(split: Split) -> Given:
    """Gather from TensorFlow's own copy, in the model's types.

    This is three times as fast as NumPy where a batch is small.
    """
    with tf.device("CPU:0"):
        whole = tf.nest.map_structure(tf.constant, split.given(slice(None)))
    return lambda places: tf.nest.map_structure(lambda each: tf.gather(each, places), whole)


def _given_by_numpy(split: Split) -> Given:
    """Gather from the split's own arrays, which may be mapped from a file.

    TensorFlow holds no copy except of the batches under way.
    """
    first = split.given(slice(1))
    shapes = [(None, *each.shape[1:]) for each in tf.nest.flatten(first)]
    kinds = [tf.as_dtype(each.dtype) for each in tf.nest.flatten(first)]

    def given(places: Any) -> Any:
        made = tf.numpy_function(lambda rows: tf.nest.flatten(split.given(rows)), [places], kinds)
        shaped = [tf.ensure_shape(each, shape) for each, shape in zip(made, shapes, strict=True)]
        return tf.nest.pack_sequence_as(first, shaped)

    return given


def _as_it_stands(function: Callable[..., Any]) -> Any:
    """Keep AutoGraph away from the function.

    It writes what it converts to files, and leaves them behind.
    """
    return tf.autograph.experimental.do_not_convert(function)


def _endless(data: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # There is nothing to tune or to rewrite here, and looking for it takes 15 ms of each iterator.
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    endless = data.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    return endless.prefetch(PREFETCHED).with_options(options)


def let_go(held: list[Any]) -> None:
    """Empty a list that alone holds an iterator which has ended.

    Whoever waits for TensorFlow to take it apart is a thread of its own.
    """
    _KEPT[:] = [each for each in _KEPT if not any(each is one for one in held)]
    threading.Thread(target=held.clear, daemon=True).start()


def is_default(strategy: Any) -> bool:
    """Whether it is TensorFlow's default one: no strategy at all."""
    return strategy is tf.distribute.get_strategy()


def distribute(strategy: Any, stream: tf.data.Dataset) -> Any:
    """An iterator over the stream: each `next` gives every replica its part."""
    if not is_default(strategy):
        stream = strategy.distribute_datasets_from_function(lambda _context, local=stream: local)
    _KEPT.append(iter(stream))
    return _KEPT[-1]
