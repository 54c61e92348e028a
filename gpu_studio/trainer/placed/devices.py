"""Put the operations and variables of a placed model on devices, and name the operations.

`tf.device` around a layer's `call` places its forward pass; the gradients are colocated with
it. What lies between the layers (casts, `x + y`, masks, the loss) follows its inputs, so that
nothing is sent to another device without need. The name of an operation says which layer it
belongs to. The optimizer's slots and updates go where the variables are, and the parts of a
split variable are presented as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.trainer.step_recording import logical_name

HOST = "/device:CPU:0"
LAYER, UPDATE = "placed", "update"


@contextmanager
def at(device: str, kind: str, number: int, part: int | str = 0) -> Iterator[None]:
    """Put operations on `device`, under a name that says which layer they belong to."""
    with tf.device(device), tf.name_scope(f"{kind}.{number}.{part}"):
        yield


@contextmanager
def following_inputs() -> Iterator[None]:
    """Place each remaining operation where its first input is.

    Operations without inputs stay on the host.
    """
    # The old form of tf.device accepts a function, but only while a graph is built, as here.
    with tf.compat.v1.device(_Follower()):
        yield


class _Follower:
    """Decides where an operation goes.

    A resource is known by the handle that the graph captured.
    """

    def __init__(self) -> None:
        self._handles: dict[Any, str] = {}

    def __call__(self, operation: Any) -> str:
        if operation.device:
            return str(operation.device)
        return next((device for x in operation.inputs if (device := self._device(x))), HOST)

    def _device(self, tensor: Any) -> str:
        if tensor.dtype != tf.resource or tensor.op.type != "Placeholder":
            return str(tensor.device)
        key = tensor.ref()
        if key not in self._handles:
            self._handles[key] = _device_of_handle(tensor)
        return self._handles[key]


def _device_of_handle(tensor: Any) -> str:
    while not hasattr(tensor, "numpy") and tensor.op.type == "Placeholder":
        outside = next((outer for outer, inner in tensor.graph.captures if inner is tensor), None)
        if outside is None:
            return ""
        tensor = outside
    return str(tensor.device)


PLUMBING = frozenset(
    {"_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"}
    | {"Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond", "ControlTrigger"}
    | {"Const", "Identity", "IdentityN", "NoOp"}
)
"""Operations that compute nothing: they carry values between devices, functions and loops."""

_MARK = re.compile(rf"(?:^|/)({LAYER}|{UPDATE})\.(\d+)\.(\d+|join)(?:_\d+)?(?=/)")
# The scopes of the gradients requested here, and of a GradientTape's.
_BACKWARD = re.compile(r"(?:^|/)(?:gradients|gradient_tape)(?:_\d+)?/")


@dataclass(frozen=True, slots=True)
class Mark:
    """The operation's seat, the part of a split layer (or `join`), and the pass."""

    seat: int
    part: str
    way: str


def mark_of(name: str) -> Mark | None:
    """Return the mark in the name of an operation; None if it belongs to no layer."""
    found = _MARK.search(name)
    if found is None:
        return None
    kind, seat, part = found.groups()
    return Mark(
        int(seat),
        part,
        "update" if kind == UPDATE else "backward" if _BACKWARD.search(name) else "forward",
    )


@dataclass(frozen=True, slots=True)
class Joined:
    """Variables that are parts of one along `axis`.

    They are read, written and checkpointed as one variable.
    """

    parts: tuple[Any, ...]
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        shape = list(self.parts[0].shape)
        shape[self.axis] = sum(int(part.shape[self.axis]) for part in self.parts)
        return tuple(shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The whole, in host memory."""
        whole = np.concatenate(
            [keras.ops.convert_to_numpy(part) for part in self.parts], axis=self.axis
        )
        return whole if dtype is None else whole.astype(dtype)

    def assign(self, value: np.ndarray) -> None:
        """Give each part its share of `value`."""
        for part, share in zip(
            self.parts,
            cut(value, [part.shape[self.axis] for part in self.parts], self.axis),
            strict=True,
        ):
            part.assign(share)


def cut(value: np.ndarray, sizes: Sequence[int], axis: int) -> list[np.ndarray]:
    """Cut `value` into pieces of these sizes along `axis`."""
    return np.split(value, np.cumsum(sizes)[:-1], axis=axis)


Owner = tuple[str, int, int]
"""Device, number of the seat, number of the part."""


class Updates:
    """Runs each update on its variable's device.

    Left alone, Keras' arithmetic for an update runs on the first device, and only its result is
    written where the variable is. It also reads the step counter and the learning rate anew for
    every variable, two transfers each; here they are read once a step and sent once to each device.
    """

    def __init__(self, optimizer: Any, owners: Mapping[str, Owner]) -> None:
        """`owners` are those of the variables, by TensorFlow's unique id."""
        self._optimizer = inner_of(optimizer)
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
            # Keras knows its variables by this id.
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


# Scripts have the functions below as they stand, see `export.script_text`.


def device_of(variable: Any) -> str:
    """Return the logical device that holds a Keras variable, such as `CPU:1`."""
    return logical_name(variable.value.device)


def move(variables: Iterable[Any], device: str) -> None:
    """Recreate the storage of Keras variables on a device, with their present values.

    Wherever a model was built or loaded, its variables lie on the first device:
    `load_model` cannot put them elsewhere.
    """
    for variable in variables:
        if device_of(variable) != device:
            value = keras.ops.convert_to_numpy(variable)
            with tf.device(device):
                # Keras offers no other way to give a variable new storage.
                variable._initialize(value)  # noqa: SLF001


def slots_of(optimizer: Any, count: int) -> list[list[Any]]:
    """Return the optimizer's lists with an entry for each of so many variables.

    An entry is a variable or None; the lists are in the order of those that it trains.
    """
    inner = inner_of(optimizer)
    every = [each for each in vars(inner).values() if isinstance(each, list)]
    lists = [list(each) for each in every if len(each) == count]
    # No public name.
    trained = {id(variable) for variable in inner._trainable_variables}  # noqa: SLF001
    return [each for each in lists if all(is_slot(slot, trained) for slot in each)]


def is_slot(slot: Any, trained: Container[int]) -> bool:
    """Whether this is what an optimizer keeps beside a variable, be it nothing."""
    kept = isinstance(slot, keras.Variable) and id(slot) not in trained
    return slot is None or kept


def move_slots(optimizer: Any, trainable: Sequence[Any]) -> None:
    """Move what an optimizer keeps beside each variable to the device of that.

    Keras does so itself, except for Adafactor and few others.
    """
    for slots in slots_of(optimizer, len(trainable)):
        for slot, variable in zip(slots, trainable, strict=True):
            move([slot] if slot is not None else [], device_of(variable))


def inner_of(optimizer: Any) -> Any:
    """Return the optimizer that updates, where another one scales its loss."""
    return getattr(optimizer, "inner_optimizer", optimizer)
