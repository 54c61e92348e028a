"""The turns in which cards take micro-batches, so that each holds few of them at once.

A card takes up a micro-batch after the one before it, and only when an earlier one has gone back
from here: late stages, whose micro-batches soon go back, hold fewer than early ones. This is the
bound of 1F1B (Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU
Clusters Using Megatron-LM", arXiv:2104.04473, section 2.2). What is waited for is on the card
itself, which computes one thing after the other anyhow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from keras.src import backend

from gpu_studio.placement.stage_memory import arrived_at_once
from gpu_studio.trainer.placed.devices import HOST
from gpu_studio.trainer.step_recording import logical_name


@dataclass(slots=True)
class _Visit:
    """What a micro-batch makes while it is on a device, until it goes on to another."""

    device: str
    waits: list[Any]
    made: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Passage:
    """A micro-batch on its way through the devices, and the gradients that it leaves on each.

    `senders` are the devices from which the calls of layers take what they take, by its number.
    """

    visits: list[_Visit] = field(default_factory=list)
    entered: dict[tuple[Any, str], Any] = field(default_factory=dict)
    senders: dict[tuple[Any, int], set[str]] = field(default_factory=dict)
    left: dict[str, list[Any]] = field(default_factory=dict)


class Turns:
    """Lets what the layers of a micro-batch take from elsewhere wait until it is its turn.

    All is done while TensorFlow traces a step: what waits for what are edges of its graph.
    """

    def __init__(self, at_once: Mapping[str, int]) -> None:
        """`at_once` are the micro-batches that a device may hold; others hold all that come."""
        self._at_once = at_once
        self._passages: list[_Passage] = []
        self._forward = False

    def begin(self) -> None:
        """Begin the forward pass of the next micro-batch."""
        self._passages.append(_Passage())
        self._forward = True

    def turn_back(self) -> None:
        """End it: layers that are called again in the backward pass wait for nothing.

        What they give back is sent in its turn, as that of others.
        """
        self._forward = False

    def end(self, gradients: list[Any]) -> None:
        """The micro-batch is done when these gradients of variables are there."""
        for each in gradients:
            if each is not None:
                self._leave(self._passages[-1], each)

    def call(self, device: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a layer on `device`, so that it computes only when it is its turn."""
        if not self._forward:
            args, kwargs = self._taken_again(device, call, (args, kwargs))
            return call(*args, **kwargs)
        passage = self._passages[-1]
        if not passage.visits or passage.visits[-1].device != device:
            passage.visits.append(_Visit(device, self._before(device, len(passage.visits))))
        visit = passage.visits[-1]
        # Also what a layer draws at random waits, which has no inputs.
        with tf.control_dependencies(visit.waits):
            if device in self._at_once:
                args, kwargs = self._all_entered(passage, device, call, (args, kwargs))
            made = call(*args, **kwargs)
        visit.made += [each for each in tf.nest.flatten(made) if _is_here(each)]
        return made

    def _all_entered(
        self, passage: _Passage, device: str, call: Callable[..., Any], taken: Any
    ) -> Any:
        flat = tf.nest.flatten(taken)
        for number, value in enumerate(flat):
            if _is_here(value):
                sender = logical_name(value.device)
                passage.senders.setdefault((call, number), set()).add(sender)
                if sender != device:
                    flat[number] = self._entered(passage, value, device, sender)
        return tf.nest.pack_sequence_as(taken, flat)

    def _taken_again(self, device: str, call: Callable[..., Any], taken: Any) -> Any:
        """What a layer takes that is called again: a copy on its device, whoever has sent it.

        Of one that took it from several devices it is not known whose call this is.
        """
        if device not in self._at_once or not self._passages:
            return taken
        passage, flat = self._passages[-1], tf.nest.flatten(taken)
        for number, value in enumerate(flat):
            sender, *others = passage.senders.get((call, number), {device})
            if _is_here(value) and sender != device and not others:
                flat[number] = self._entered(passage, value, device, sender)
        return tf.nest.pack_sequence_as(taken, flat)

    def _entered(self, passage: _Passage, value: Any, device: str, sender: str) -> Any:
        key = value.ref(), device
        if key not in passage.entered:
            sent = self._sent(value, device) if self._forward else value
            entered = self._noting(passage, sent, sender)
            backend.set_keras_mask(entered, backend.get_keras_mask(value))
            passage.entered[key] = entered
        return passage.entered[key]

    def _sent(self, value: Any, device: str) -> Any:
        """Return `value`, sent to `device` only when there is memory for it."""
        passage = len(self._passages) - 1 - arrived_at_once(self._at_once[device])
        freed = self._passages[passage].left.get(device, []) if passage >= 0 else []
        if not freed:
            return value
        # The batch, which nothing has put on a device, is on the host.
        with tf.control_dependencies([tf.group(*freed)]), tf.device(value.device or HOST):
            return tf.identity(value)

    def _sent_back(self, gradient: Any, device: str) -> Any:
        """Return `gradient`, sent to `device` only when that is done with the one before."""
        before = self._passages[-2].left.get(device, []) if len(self._passages) > 1 else []
        if device not in self._at_once or not before:
            return gradient
        with tf.device(gradient.device), tf.control_dependencies([tf.group(*before)]):
            return tf.identity(gradient)

    def _before(self, device: str, visit: int) -> list[Any]:
        """What a micro-batch waits for: the one before it is through, and an earlier one back."""
        number, at_once = len(self._passages) - 1, self._at_once.get(device, 0)
        waits = []
        if at_once and number:
            waits += self._passages[number - 1].visits[visit].made
        if at_once and number >= at_once:
            waits += self._passages[number - at_once].left.get(device, [])
        return [tf.group(*waits)] if waits else []

    def _noting(self, passage: _Passage, value: Any, sender: str) -> Any:
        """Return `value`; when its gradient goes back, the micro-batch leaves the device."""
        if not value.dtype.is_floating:
            return tf.identity(value)

        @tf.custom_gradient  # type: ignore[untyped-decorator]  # TensorFlow has no types
        def entering(given: Any) -> tuple[Any, Any]:
            def back(gradient: Any) -> Any:
                sent = self._sent_back(gradient, sender)
                self._leave(passage, sent)
                return sent

            return tf.identity(given), back

        return entering(value)

    def _leave(self, passage: _Passage, gradient: Any) -> None:
        passage.left.setdefault(logical_name(gradient.device), []).append(gradient)


def _is_here(value: Any) -> bool:
    """Whether it is a tensor of the graph that is being traced."""
    return isinstance(value, tf.Tensor) and value.graph is tf.compat.v1.get_default_graph()
