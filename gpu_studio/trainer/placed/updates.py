"""Keep the optimizer's slots and run its updates on the devices of their variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.trainer.placed.scopes import UPDATE, at
from gpu_studio.trainer.placed.variables import device_of, move

Owner = tuple[str, int, int]
"""Device, number of the seat, number of the part."""


def slots_of(optimizer: Any, count: int) -> list[list[Any]]:
    """Return the optimizer's lists that have an entry for each of the `count` trainable variables.

    An entry is a variable or None; the lists are in the order of the variables.
    """
    inner = _inner(optimizer)
    lists = [
        list(each) for each in vars(inner).values() if isinstance(each, list) and len(each) == count
    ]
    # No public name.
    trained = {id(variable) for variable in inner._trainable_variables}  # noqa: SLF001
    return [each for each in lists if all(_is_slot(slot, trained) for slot in each)]


def move_slots(optimizer: Any, trainable: Sequence[Any]) -> None:
    """Move each slot to its variable's device: most optimizers do so themselves, but not Adafactor.

    Keras does so itself, except for Adafactor and few others.
    """
    for slots in slots_of(optimizer, len(trainable)):
        for slot, variable in zip(slots, trainable, strict=True):
            move([slot] if slot is not None else [], device_of(variable))


def _is_slot(slot: Any, trained: set[int]) -> bool:
    return slot is None or (isinstance(slot, keras.Variable) and id(slot) not in trained)


def _inner(optimizer: Any) -> Any:
    return getattr(optimizer, "inner_optimizer", optimizer)


class Updates:
    """Runs each update on its variable's device.

    Left alone, Keras' arithmetic for an update runs on the first device, and only its result is
    written where the variable is. It also reads the step counter and the learning rate anew for
    every variable, two transfers each; here they are read once a step and sent once to each device.
    """

    def __init__(self, optimizer: Any, owners: Mapping[str, Owner]) -> None:
        """`owners` are those of the variables, by TensorFlow's unique id."""
        self._optimizer = _inner(optimizer)
        self._owners = owners
        self._copies: dict[tuple[str, str, int], Any] = {}

    @contextmanager
    def placed(self) -> Iterator[None]:
        """While entered, `optimizer.apply` updates every variable on its device."""
        # In the instance's own dictionary: Keras would track an attribute.
        attributes = self._optimizer.__dict__
        attributes["update_step"] = self._placed(self._optimizer.update_step)
        try:
            yield
        finally:
            del attributes["update_step"]
            self._copies.clear()

    def _placed(self, update: Callable[..., None]) -> Callable[..., None]:
        def placed_update(gradient: Any, variable: Any, rate: Any) -> None:
            # As Keras knows its variables.
            device, number, part = self._owners[variable._unique_id]  # noqa: SLF001
            near = self._copy("rate", rate, device)
            with self._shared(device), at(device, UPDATE, number, part):
                update(gradient, variable, near)

        return placed_update

    @contextmanager
    def _shared(self, device: str) -> Iterator[None]:
        """The optimizer with copies of its numbers on `device`.

        They are the step counter and Nadam's running product.
        """
        attributes = self._optimizer.__dict__
        numbers = {
            name: each for name, each in attributes.items() if isinstance(each, keras.Variable)
        }
        attributes |= {name: self._copy(name, each, device) for name, each in numbers.items()}
        try:
            yield
        finally:
            attributes |= numbers

    def _copy(self, name: str, value: Any, device: str) -> Any:
        # By graph, because an optimizer that updates in a conditional does so in another graph.
        graph = id(tf.compat.v1.get_default_graph())
        if (name, "", graph) not in self._copies:
            self._copies[name, "", graph] = tf.convert_to_tensor(value)
        if (name, device, graph) not in self._copies:
            with tf.device(device):
                self._copies[name, device, graph] = tf.identity(self._copies[name, "", graph])
        return self._copies[name, device, graph]
