"""A first plan made for a machine: real digits, a small model, and every device that the machine has put to work."""

from __future__ import annotations

from gpu_studio.plan.card_memory import OUTSIDE_MIB
from gpu_studio.plan.logical import CPU
from gpu_studio.plan.machine import Card, Machine
from gpu_studio.plan.values import Carve, Data, Devices, Distribution, Model, Named, Plan, Training

EPOCHS = 20
"""With the learning rate falling to nothing over them, the digits are learned and the last epochs no longer waver."""
BATCH_SIZE = 64

MOST_SLICES = 4
SMALLEST_SLICE_MIB = 1024
STEP_MIB = 256
"""Slices are whole multiples of this, because round figures are easier to read and to change."""

_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def starter(machine: Machine) -> Plan:
    """The starter plan: mirrored over the cards; over slices of the only card; or without cards over logical CPUs."""
    awake = tuple(card for card in machine.cards if not card.asleep)
    if not machine.cards:
        return _on_cpus(min(max(machine.cpu_cores, 2), MOST_SLICES))
    if len(awake) > 1:
        return _on_cards(machine, awake)
    return _on_one_card(machine, awake[0] if awake else machine.cards[0])


def _on_cpus(count: int) -> Plan:
    devices = Devices(carve=(Carve(CPU, (0,) * count),))
    return _plan(f"digits on {_words(count)} logical CPUs", devices, count)


def _on_cards(machine: Machine, cards: tuple[Card, ...]) -> Plan:
    return _plan(f"digits on {_words(len(cards))} cards", Devices(visible=_visible(machine, cards)), len(cards))


def _on_one_card(machine: Machine, card: Card) -> Plan:
    visible = _visible(machine, (card,))
    count, mib = _slices(card)
    if count < 2:
        # Too little is free to share out: grow from nothing, so that whoever uses the card keeps what they have.
        return _plan("digits on one card", Devices(visible=visible, memory_growth=True), 1)
    devices = Devices(visible=visible, carve=(Carve(card.device, (mib,) * count),))
    return _plan(f"digits on {_words(count)} slices of a card", devices, count)


def _slices(card: Card) -> tuple[int, int]:
    """How many equal slices fit the card's free memory, and the size of each in MiB."""
    room = max(0, (card.free_mib or 0) - OUTSIDE_MIB)
    count = min(MOST_SLICES, room // SMALLEST_SLICE_MIB)
    return count, room // count // STEP_MIB * STEP_MIB if count else 0


def _visible(machine: Machine, cards: tuple[Card, ...]) -> tuple[str, ...]:
    return () if len(cards) == len(machine.cards) else tuple(card.device for card in cards)


def _plan(name: str, devices: Devices, replicas: int) -> Plan:
    return Plan(
        name=name,
        devices=devices,
        model=Model(name="mlp", options={"hidden": [256, 256, 256]}),
        data=Data(name="digits"),
        training=Training(epochs=EPOCHS, batch_size=max(BATCH_SIZE, 8 * replicas), schedule=Named("cosine")),
        distribution=Distribution(strategy="mirrored"),
    )


def _words(count: int) -> str:
    return _NUMBERS.get(count, str(count))
