"""The loops over the steps of a call: TensorFlow runs them without coming back to Python.

They are traced without AutoGraph, which leaves a file in the folder of temporary files for each
function that it converts; a killed process would not remove it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from gpu_studio.trainer.input_wait import (
    HOST,
    after,
    moment_after,
    operations_so_far,
    written_since,
)
from gpu_studio.trainer.meters import Deltas, added_up

Read = Callable[[], tuple[Any, list[Any], list[Any]]]
"""Gives the next batch, when each part of it was ready in memory, and what it says of itself.

That is how many samples it has, and whether it is the last of its pass.
"""


class LeftOut(NamedTuple):
    """Whether a loop has ended before a batch that it does not train, and that batch."""

    is_there: Any
    batch: Any


Left = LeftOut | tuple[()]
"""Empty where a loop leaves no batch out."""


class Trained(NamedTuple):
    """What a training step returns: the loss, and what the metrics get.

    `computed` is the moment when each part was computed, and `left` what the loop leaves out.
    """

    loss: Any
    added: Deltas
    computed: list[Any]
    left: Left = ()


def training_loop(
    first: Any,
    count: Any,
    read: Read,
    train: Callable[[Any, Any, Left], Trained],
    nothing: Deltas,
    left: Left = (),
) -> tuple[Any, Deltas, Any, Left]:
    """Train `count` steps, the first of which is step `first` of the run, or fewer.

    It ends early behind the last batch of a pass, and before a batch that is left out. `train` gets
    a batch, the number of its step, and what was left out before: nothing, as `left` is. Returns
    losses, what the metrics get (`nothing`, and more), what each step notes, and what is left out.
    """
    losses = tf.TensorArray(tf.float32, size=count)
    with tf.device(HOST):
        noted = tf.TensorArray(tf.float64, size=count)
        going_on = tf.constant(False)
    zero = tf.zeros(())
    start = (0, going_on, losses, nothing, noted, zero, after([zero]), left)
    made = tf.while_loop(_goes_on(count), _training_step(first, read, train), start)
    steps = tf.range(made[0])
    with tf.device(HOST):
        facts = made[4].gather(steps)
    return made[2].gather(steps), made[3], facts, made[-1]


def _training_step(
    first: Any, read: Read, train: Callable[[Any, Any, Left], Trained]
) -> Callable[..., Any]:
    """Return the body of `training_loop`, which gets and returns what that starts with."""

    def step(*reached: Any) -> tuple[Any, ...]:
        index, _, losses, deltas, noted, before, ended, left = reached
        # Noted first: TensorFlow keeps such operations in the order in which they were made.
        begun = [moment_after([ended]), asked := moment_after([before])]
        with tf.control_dependencies([asked]):
            batch, ready, facts = read()
        known = operations_so_far()
        done = train(batch, first + tf.cast(index, tf.int64), left)
        with tf.device(HOST):
            noted = noted.write(index, tf.stack([*facts, *begun, *ready, *done.computed]))
        losses, deltas = losses.write(index, done.loss), added_up(deltas, done.added)
        trained = tf.reduce_sum(done.loss)
        index, over = index + 1, facts[1] > 0
        if isinstance(done.left, LeftOut):  # a step that was none is written over, or not looked at
            index -= tf.cast(done.left.is_there, tf.int32)
            over = tf.logical_or(over, done.left.is_there)
        ended = after(written_since(known))
        return index, over, losses, deltas, noted, trained, ended, done.left

    return step


def evaluation_loop(
    first: Any,
    count: Any,
    read: Read,
    evaluate: Callable[[Any, Any], tuple[Any, Deltas]],
    nothing: Deltas,
) -> tuple[Any, Deltas, Any]:
    """Evaluate `count` batches, the first of which is batch `first` of its split, or fewer.

    Returns losses, what the metrics get, and what each batch says of itself.
    """

    def step(index: Any, over: Any, losses: Any, deltas: Deltas, noted: Any) -> tuple[Any, ...]:
        # Counted down from -1, where there are no training steps.
        number = -1 - first - tf.cast(index, tf.int64)
        batch, _, facts = read()
        loss, added = evaluate(batch, number)
        with tf.device(HOST):
            noted, over = noted.write(index, tf.stack(facts)), facts[1] > 0
        return index + 1, over, losses.write(index, loss), added_up(deltas, added), noted

    with tf.device(HOST):
        noted, going_on = tf.TensorArray(tf.float64, size=count), tf.constant(False)
    losses = tf.TensorArray(tf.float32, size=count)
    start = (0, going_on, losses, nothing, noted)
    done, _, losses, deltas, noted = tf.while_loop(_goes_on(count), step, start)
    steps = tf.range(done)
    with tf.device(HOST):
        facts = noted.gather(steps)
    return losses.gather(steps), deltas, facts


def _goes_on(count: Any) -> Callable[..., Any]:
    """Return the condition of a loop of `count` steps, or fewer where a pass is over before."""
    return lambda index, over, *_: tf.logical_and(index < count, tf.logical_not(over))
