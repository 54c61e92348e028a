"""Place a Keras model on devices, from the layers that a plan names.

A device is assigned to every layer. Then the variables are moved, or the layer's units are
split over several devices, each with its part of the weights and of the output. At last each
layer's call is put on the layer's device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.placement.known_problems import (
    LAYERS,
    SPLIT_KINDS,
    MisplacedLayers,
    without_unknown,
)
from gpu_studio.plan import Placed, choose_one
from gpu_studio.plan.homes import devices_of_layers, homes_of_layers
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import sentence
from gpu_studio.trainer.model_layers import PlaceableLayer, placeable_layers, replaced_call
from gpu_studio.trainer.placed.devices import LAYER, Joined, Owner, at, device_of, move, slots_of
from gpu_studio.trainer.placed.turns import Turns


@dataclass(frozen=True)
class PlacedModel:
    """A model with a seat for each of its layers.

    `splits` are those whose units several devices share.
    """

    model: Any
    plan: Placed
    seats: tuple[LayerAssignment, ...]
    splits: dict[int, SplitLayer]
    wholes: dict[int, Joined]
    """By the identity of a Keras variable that has been split."""

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that training changes, with a split variable's parts in its place."""
        return [
            part for variable in self.model.trainable_variables for part in self._parts(variable)
        ]

    @property
    def storage(self) -> list[Any]:
        """All variables of the model as they lie on the devices."""
        return [part for variable in self.model.variables for part in self._parts(variable)]

    @property
    def last_home(self) -> str | None:
        """The device of the last layer, and so of the losses."""
        return self.seats[-1].home if self.seats else None

    def owners(self) -> dict[str, Owner]:
        """The device, seat and part of each trainable variable, by TensorFlow's unique id."""
        found: dict[str, Owner] = {}
        for seat in self.seats:
            for variable in seat.layer.trainable_variables:
                for number, part in enumerate(self._parts(variable)):
                    found.setdefault(_key(part), (device_of(part), seat.number, number))
        for variable in self.trainable_variables:
            found.setdefault(_key(variable), (device_of(variable), -1, 0))
        return found

    def state(self, optimizer: Any) -> dict[str, Any]:
        """Weights and optimizer variables under the same names as in every strategy.

        Split variables appear as wholes.
        """
        weights = {
            f"model/{i}/{v.path}": self.wholes.get(id(v), v)
            for i, v in enumerate(self.model.weights)
        }
        slots = [
            v for v in self._joined_slots(optimizer) if getattr(v, "name", "") != "learning_rate"
        ]
        return weights | {f"optimizer/{i}": v for i, v in enumerate(slots)}

    @contextmanager
    def placed_calls(self, turns: Turns | None = None) -> Iterator[None]:
        """While entered, every layer computes on its device, if there are turns in its turn."""
        with ExitStack() as stack:
            for seat in self.seats:
                around = self._around(seat, turns or Turns({}))
                stack.enter_context(replaced_call(seat.layer, around))
            yield

    def _around(
        self, seat: LayerAssignment, turns: Turns
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        if seat.number in self.splits:
            return lambda _call: self.splits[seat.number].call
        return lambda call: _placed_call(seat, call, turns)

    def _parts(self, variable: Any) -> Sequence[Any]:
        whole = self.wholes.get(id(variable))
        return whole.parts if whole else (variable,)

    def _joined_slots(self, optimizer: Any) -> list[Any]:
        """The optimizer's variables.

        The parts of a split one are joined in the place of the first.
        """
        joined: dict[int, Joined | None] = {}
        places = {id(part): index for index, part in enumerate(self.trainable_variables)}
        for slots in slots_of(optimizer, len(places)):
            for whole in self.wholes.values():
                mine = [slots[places[id(part)]] for part in whole.parts if id(part) in places]
                if any(slot is not None for slot in mine):
                    joined |= {id(slot): None for slot in mine} | {
                        id(mine[0]): Joined(tuple(mine), whole.axis)
                    }
        found = [joined.get(id(variable), variable) for variable in optimizer.variables]
        return [variable for variable in found if variable is not None]


def place(model: Any, placed: Placed, known: Sequence[str], default: str) -> PlacedModel:
    """Place `model` as the plan says on the logical devices `known`.

    `default` is for what nothing decides. Raises PlanRefused for unknown layers and devices, and
    for what cannot be split.
    """
    seated = seats(placeable_layers(model), placed, known, default)
    splits = {seat.number: split(seat) for seat in seated if seat.split}
    wholes = {key: joined for layer in splits.values() for key, joined in layer.weights.items()}
    made = PlacedModel(model, placed, tuple(seated), splits, wholes)
    for seat in seated:
        if not seat.split:
            move(seat.layer.weights, seat.home)
    _move_the_rest(made, default)
    return made


def _placed_call(
    seat: LayerAssignment, call: Callable[..., Any], turns: Turns
) -> Callable[..., Any]:
    def placed_call(*args: Any, **kwargs: Any) -> Any:
        with at(seat.home, LAYER, seat.number):
            return turns.call(seat.home, call, args, kwargs)

    return placed_call


def _move_the_rest(made: PlacedModel, default: str) -> None:
    """Move weights that a user's model keeps outside of its layers."""
    seated = {id(variable) for seat in made.seats for variable in seat.layer.weights}
    move([variable for variable in made.model.weights if id(variable) not in seated], default)


def _key(variable: Any) -> str:
    return str(variable.value._unique_id)  # noqa: SLF001 (Keras' id of a variable)


@dataclass(frozen=True, slots=True)
class LayerAssignment:
    """Where a leaf layer is.

    `devices` are several if its units are split; its output is then joined on `home`. `by_plan`
    says whether the plan names the layer.
    """

    number: int
    path: str
    layer: Any
    devices: tuple[str, ...]
    home: str
    by_plan: bool = True

    @property
    def split(self) -> bool:
        """Whether several devices each hold a part of it."""
        return len(self.devices) > 1


def seats(
    layers: Sequence[PlaceableLayer], placed: Placed, known: Sequence[str], default: str
) -> list[LayerAssignment]:
    """Return a seat for each layer, in the order of `layers`; on `default` if nothing is placed.

    Raises PlanRefused for a layer that the model does not have and for a device that is not among
    `known`.
    """
    _check(layers, placed, known)
    feeds = {layer.path: layer.inputs for layer in layers}
    devices = devices_of_layers(feeds, placed.layers, (default,))
    homes = homes_of_layers(feeds, devices)
    return [
        LayerAssignment(
            number,
            each.path,
            each.layer,
            devices[each.path],
            homes[each.path],
            by_plan=each.path in placed.layers,
        )
        for number, each in enumerate(layers)
    ]


def _check(layers: Sequence[PlaceableLayer], placed: Placed, known: Sequence[str]) -> None:
    paths = [layer.path for layer in layers]
    if unknown := [path for path in placed.layers if path not in paths]:
        raise _unknown(unknown, placed, paths)
    for path, devices in placed.layers.items():
        for device in devices:
            if device not in known:
                raise PlanRefused(
                    f"The plan places the layer {path} on {device}, which TensorFlow does not see.",
                    [f"Choose among {', '.join(known)}."],
                )


def _unknown(unknown: Sequence[str], placed: Placed, paths: Sequence[str]) -> PlanRefused:
    """Return the refusal of layers that the model does not have.

    It brings the change that takes them all out.
    """
    first = unknown[0]
    return PlanRefused(
        f"The plan places the layer {first}, which the model does not have.",
        [sentence(choose_one(first, paths))],
        [taken_out(without_unknown(dict(placed.layers), unknown, paths))],
    )


def taken_out(problem: MisplacedLayers) -> SuggestedChange:
    """Return the change of the plan that mends `problem`, in the form of a run's failure."""
    return SuggestedChange(
        text=problem.label,
        field=LAYERS,
        value={name: list(devices) for name, devices in problem.mended},
    )


@dataclass(frozen=True, slots=True)
class SplitLayer:
    """The parts of a split layer, each a layer on its own device.

    Its weights appear as the wholes that the parts make up.
    """

    seat: LayerAssignment
    parts: tuple[Any, ...]
    weights: Mapping[int, Joined]
    """By the identity of the Keras variable that the joined one stands for."""

    # Keras gives it; no such layer heeds it.
    def call(self, inputs: Any, training: Any = None) -> Any:  # noqa: ARG002
        """Compute what the whole layer would compute from `inputs`."""
        outputs = []
        for number, (device, part) in enumerate(zip(self.seat.devices, self.parts, strict=True)):
            with at(device, LAYER, self.seat.number, number):
                outputs.append(part.call(inputs))
        with at(self.seat.home, LAYER, self.seat.number, "join"):
            return joined_outputs(self.seat.layer, outputs)


def split(seat: LayerAssignment) -> SplitLayer:
    """Create the parts of a layer with its values, and free the whole.

    Raises PlanRefused for a layer that cannot be split.
    """
    layer = seat.layer
    _check_split(seat)
    parts = made_parts(layer, seat.devices)
    found = pieces_of(layer, parts)
    for whole, pieces, axis in found:
        let_go(whole, pieces, axis)
    weights = {id(whole): Joined(pieces, axis) for whole, pieces, axis in found}
    return SplitLayer(seat, tuple(parts), weights)


def _check_split(seat: LayerAssignment) -> None:
    name = type(seat.layer).__name__
    if name not in SPLIT_KINDS or not type(seat.layer).__module__.startswith("keras."):
        able = "Dense, Embedding and convolutions (Conv1D, Conv2D, Conv3D and their transposes)"
        raise _refused(seat, f"a {name} cannot be split: only {able} can")
    if why := why_whole(seat.layer, len(seat.devices)):
        raise _refused(seat, why)


def _refused(seat: LayerAssignment, why: str) -> PlanRefused:
    return PlanRefused(
        f"The layer {seat.path} cannot be split over {', '.join(seat.devices)}: {why}.",
        [f'Give it one device: distribution.placed.layers.{seat.path} = "{seat.devices[0]}".'],
    )


# Scripts have the functions below as they stand, see `export.script_text`: these use Keras,
# NumPy and TensorFlow alone, and their lines have 88 columns at most.


def why_whole(layer: Any, count: int) -> str:
    """Return why a layer cannot be split over so many devices; empty if it can."""
    units = getattr(layer, units_of(layer))
    sums = keras.regularizers.L1, keras.regularizers.L2, keras.regularizers.L1L2
    regularizers = [each.regularizer for each in layer.weights if each.regularizer]
    if units < count:
        return f"it has {units} units, fewer than the {count} devices"
    if getattr(layer, "groups", 1) > 1:
        return "its convolution is in groups"
    if any(variable.constraint is not None for variable in layer.weights):
        return "it has a constraint, which is on the whole of a weight"
    if any(type(each) not in sums for each in regularizers):
        return "it has a regularizer that is no sum over the numbers of a weight"
    quantized = getattr(layer, "quantization_mode", None)
    if quantized or getattr(layer, "lora_enabled", False):
        return "it is quantized or has low-rank adapters"
    return ""


def units_of(layer: Any) -> str:
    """Return the option that counts the units of a layer that can be split."""
    kinds = {"Dense": "units", "Embedding": "output_dim"}
    return kinds.get(type(layer).__name__, "filters")


def axes_of(layer: Any) -> dict[str, int]:
    """Return the axis of the units in each weight of a layer that can be split."""
    kind = type(layer).__name__
    if kind == "Embedding":
        return {"embeddings": -1}
    return {"kernel": -2 if kind.endswith("Transpose") else -1, "bias": 0}


def part_sizes(units: int, parts: int) -> list[int]:
    """Return the units of each part: as even as possible, larger parts first."""
    return [units // parts + (number < units % parts) for number in range(parts)]


def made_parts(layer: Any, devices: Sequence[str]) -> list[Any]:
    """Return a layer on each device with its share of a layer's units and values."""
    option, shape = units_of(layer), layer.get_build_config()["input_shape"]
    parts = []
    for number, size in enumerate(part_sizes(getattr(layer, option), len(devices))):
        changed: dict[str, Any] = {option: size, "activity_regularizer": None}
        if hasattr(layer, "activation") and not is_elementwise(layer):
            changed["activation"] = None
        changed["name"] = f"{layer.name}_part{number}"
        part = type(layer).from_config({**layer.get_config(), **changed})
        with tf.device(devices[number]):
            part.build(shape)
        part.trainable = layer.trainable
        parts.append(part)
    for whole, pieces, axis in pieces_of(layer, parts):
        ends = np.cumsum([piece.shape[axis] for piece in pieces])[:-1]
        values = np.split(keras.ops.convert_to_numpy(whole), ends, axis=axis)
        for piece, value in zip(pieces, values, strict=True):
            piece.assign(value)
    return parts


def pieces_of(layer: Any, parts: Sequence[Any]) -> list[tuple[Any, tuple[Any, ...], int]]:
    """Return each weight of a split layer, its pieces in the parts, and their axis."""
    found = []
    for name, axis in axes_of(layer).items():
        whole = getattr(layer, name, None)
        if whole is not None:
            pieces = tuple(getattr(part, name) for part in parts)
            found.append((whole, pieces, axis % len(pieces[0].shape)))
    return found


def is_elementwise(layer: Any) -> bool:
    """Whether the activation of a layer may be applied to each part by itself.

    Others, such as softmax, need the joined output.
    """
    applied = getattr(getattr(layer, "activation", None), "__name__", "linear")
    many = "linear relu relu6 leaky_relu elu selu celu gelu silu swish mish softplus"
    more = "sigmoid hard_sigmoid log_sigmoid hard_silu tanh hard_tanh softsign"
    return applied in f"{many} {more} exponential".split()


def joined_outputs(layer: Any, outputs: Sequence[Any]) -> Any:
    """Return what a split layer gives, from what its parts give."""
    first = getattr(layer, "data_format", None) == "channels_first"
    joined = tf.concat(outputs, axis=1 if first else -1)
    return joined if is_elementwise(layer) else layer.activation(joined)


def let_go(whole: Any, pieces: Sequence[Any], axis: int) -> None:
    """Free the memory of a variable whose values its pieces hold, along this axis.

    It is read and assigned as before, by whoever asks the layer for it.
    """

    def joined(_whole: Any) -> Any:
        with tf.device("CPU:0"):
            return tf.concat([piece.value for piece in pieces], axis)

    def assign(_whole: Any, value: Any) -> None:
        sizes = [piece.shape[axis] for piece in pieces]
        for piece, share in zip(pieces, tf.split(value, sizes, axis), strict=True):
            piece.assign(share)

    with tf.device("CPU:0"):
        # Keras offers no other way.
        whole._initialize(np.zeros((), whole.dtype))  # noqa: SLF001
    kind = type(whole)
    changed = {"value": property(joined), "_direct_assign": assign}
    whole.__class__ = type(kind.__name__, (kind,), changed)
