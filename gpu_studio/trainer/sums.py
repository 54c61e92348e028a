"""Sums over all replicas: of several values at once, and of rows that each of them brings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def joins_processes(strategy: Any) -> bool:
    """Whether the strategy's replicas are in several processes."""
    joins: bool = strategy.extended._in_multi_worker_mode()  # noqa: SLF001
    return joins


def in_one_piece(strategy: Any, total: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """Sum each of these values of replicas by `total`, all of one type in one piece.

    Between processes each piece costs a way there and back, however small it is.
    """
    first = [strategy.experimental_local_results(value)[0] for value in values]
    found: dict[int, Any] = {}
    for kind in dict.fromkeys(each.dtype for each in first):
        places = [place for place, each in enumerate(first) if each.dtype == kind]
        packed = strategy.run(_packed, [values[place] for place in places])
        sizes = [math.prod(first[place].shape) for place in places]
        parts = tf.split(total(packed), sizes)
        for place, part in zip(places, parts, strict=True):
            found[place] = tf.reshape(part, first[place].shape)
    return [found[place] for place in range(len(values))]


def _packed(*values: Any) -> Any:
    return tf.concat([tf.reshape(value, [-1]) for value in values], axis=0)


# Scripts have this function as it stands, see `export.script_text`.
def rows_once(gradient: Any, parts: int) -> Any:
    """Return a gradient in which rows that all parts of a batch bring alike are one.

    Keras' adaptive optimizers square each row by itself, also where one occurs twice.
    Rows that rise and are the same in each part are looked up for no sample, as a
    transformer looks up its positions: without parts they would occur once.
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    values, rows = gradient.values, gradient.indices
    each = tf.shape(rows)[0] // parts
    whole = each * parts
    first, by_part = rows[:each], tf.reshape(rows[:whole], (parts, each))
    alike = tf.reduce_all(by_part == first) & tf.reduce_all(first[1:] > first[:-1])
    shape = tf.concat([[parts, each], tf.shape(values)[1:]], axis=0)
    values, rows = tf.cond(
        alike & (whole == tf.shape(rows)[0]),
        lambda: (tf.reduce_sum(tf.reshape(values[:whole], shape), axis=0), first),
        lambda: (values, rows),
    )
    return tf.IndexedSlices(values, rows, gradient.dense_shape)
