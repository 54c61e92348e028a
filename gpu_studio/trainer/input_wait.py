"""How long a step waited for data, from moments that the compiled step notes.

A device waits for data while it computes no part of a batch and the next part is not yet ready in
memory. How long a part that is ready takes to the device, and to the head of the queue for a core,
is no wait for data: faster data would not shorten it. A slice shares its card with others: while
one of them computes, the card does not wait. Of several cards the one that waited longest counts,
because a step is over only when all of its parts are trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import tensorflow as tf

HOST: Final = "CPU:0"
_WRITES: Final = ("Assign", "Resource", "If", "StatefulPartitionedCall")
"""Types of the operations that may change variables, by how they begin."""


def after(what: Iterable[Any]) -> Any:
    """Return a zero on the host that is there only when all of `what` has been computed."""
    with tf.device(HOST), tf.control_dependencies([tf.group(*_there(what))]):
        return tf.zeros(())


def moment_after(what: Iterable[Any]) -> Any:
    """Return the time at which all of `what` has been computed, in seconds since 1970."""
    with tf.device(HOST), tf.control_dependencies([tf.group(*_there(what))]):
        return tf.timestamp()


def written_since(known: int) -> list[Any]:
    """Return the operations of the current graph that write, without the first `known`."""
    found = tf.compat.v1.get_default_graph().get_operations()[known:]
    return [each for each in found if each.type.startswith(_WRITES)]


def operations_so_far() -> int:
    """Return how many operations the current graph has."""
    return len(tf.compat.v1.get_default_graph().get_operations())


def waited(moments: np.ndarray, cards: Sequence[object]) -> float:
    """Return the seconds that steps waited for data.

    `moments` has shape (steps, 2 + 2 × parts): when the samples were asked for, when the step
    before had ended; when each part was ready in memory, and when it was computed, which is not
    needed of a single part. `cards` has the physical device of each part.
    """
    begun, parts = moments[:, :2].max(axis=1), len(cards)
    ready = moments[:, 2 : 2 + parts]
    computed = moments[:, 2 + parts :] if parts > 1 else ready
    idle = []
    for card in dict.fromkeys(cards):
        mine = [part for part, its_card in enumerate(cards) if its_card == card]
        idle.append(_idle(begun, ready[:, mine], computed[:, mine]))
    return float(np.max(idle, axis=0).sum())


def exchanged(moments: np.ndarray, parts: int, ended: float) -> float:
    """Return the seconds from each step's own gradients to the end of the step, over all steps.

    `moments` are as in `waited`, of so many `parts`; the last step `ended` then, in seconds since
    1970. It is 0 where nobody noted when the gradients were there.
    """
    computed = moments[:, 2 + parts :]
    if not computed.size:
        return 0.0
    ends = np.append(moments[1:, 0], ended)
    return float(np.maximum(ends - computed.max(axis=1), 0.0).sum())


def _idle(begun: np.ndarray, ready: np.ndarray, computed: np.ndarray) -> np.ndarray:
    """Return the seconds of each step in which one device had nothing to compute, shape (steps,).

    The other arguments have shape (steps, parts).
    """
    order = np.argsort(ready, axis=1)
    ready = np.take_along_axis(ready, order, axis=1)
    computed = np.maximum.accumulate(np.take_along_axis(computed, order, axis=1), axis=1)
    busy_until = np.maximum(np.column_stack((begun, computed[:, :-1])), begun[:, np.newaxis])
    idle: np.ndarray = np.maximum(ready - busy_until, 0.0).sum(axis=1)
    return idle


def _there(what: Iterable[Any]) -> list[Any]:
    return [each for each in what if each is not None]
