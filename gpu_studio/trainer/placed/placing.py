"""Place a Keras model on devices.

Its variables are moved or split, and each layer's call is put on the layer's device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from gpu_studio.plan import Placed
from gpu_studio.trainer.model_layers import placeable_layers
from gpu_studio.trainer.placed.assignment import LayerAssignment, seats
from gpu_studio.trainer.placed.scopes import LAYER, at
from gpu_studio.trainer.placed.splitting import SplitLayer, split
from gpu_studio.trainer.placed.updates import Owner, slots_of
from gpu_studio.trainer.placed.variables import Joined, device_of, move
from gpu_studio.trainer.traced_layers import replaced_call


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
    def trainable(self) -> list[Any]:
        """The variables that training changes, with a split variable's parts in its place."""
        return [
            part for variable in self.model.trainable_variables for part in self._parts(variable)
        ]

    @property
    def storage(self) -> list[Any]:
        """All variables of the model as they lie on the devices."""
        return [part for variable in self.model.variables for part in self._parts(variable)]

    def owners(self) -> dict[str, Owner]:
        """The device, seat and part of each trainable variable, by TensorFlow's unique id."""
        found: dict[str, Owner] = {}
        for seat in self.seats:
            for variable in seat.layer.trainable_variables:
                for number, part in enumerate(self._parts(variable)):
                    found.setdefault(_key(part), (device_of(part), seat.number, number))
        for variable in self.trainable:
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
    def placed_calls(self) -> Iterator[None]:
        """While entered, every layer computes on its device, however the model calls it."""
        with ExitStack() as stack:
            for seat in self.seats:
                stack.enter_context(replaced_call(seat.layer, self._around(seat)))
            yield

    def _around(self, seat: LayerAssignment) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        if seat.number in self.splits:
            return lambda _call: self.splits[seat.number].call
        return lambda call: _placed_call(seat, call)

    def _parts(self, variable: Any) -> Sequence[Any]:
        whole = self.wholes.get(id(variable))
        return whole.parts if whole else (variable,)

    def _joined_slots(self, optimizer: Any) -> list[Any]:
        """The optimizer's variables.

        The parts of a split one are joined in the place of the first.
        """
        joined: dict[int, Joined | None] = {}
        places = {id(part): index for index, part in enumerate(self.trainable)}
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


def _placed_call(seat: LayerAssignment, call: Callable[..., Any]) -> Callable[..., Any]:
    def placed_call(*args: Any, **kwargs: Any) -> Any:
        with at(seat.home, LAYER, seat.number):
            return call(*args, **kwargs)

    return placed_call


def _move_the_rest(made: PlacedModel, default: str) -> None:
    """Move weights that a user's model keeps outside of its layers."""
    seated = {id(variable) for seat in made.seats for variable in seat.layer.weights}
    move([variable for variable in made.model.weights if id(variable) not in seated], default)


def _key(variable: Any) -> str:
    return str(variable.value._unique_id)  # noqa: SLF001 (as Keras knows its variables)
