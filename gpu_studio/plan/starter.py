"""Starter plans for a machine: real digits, a small model, and devices that nobody else uses.

There is the starter plan, and a template for each strategy that runs.
"""

from __future__ import annotations

from gpu_studio.plan.card_memory import beside_slices_mib
from gpu_studio.plan.devices import CPU, Card, Machine, default_devices, logical_devices
from gpu_studio.plan.strategies import MIRRORED, ONE_DEVICE, Strategy, strategy_named
from gpu_studio.plan.values import (
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    ModelSettings,
    Named,
    Plan,
    Training,
)

EPOCHS = 20
"""With a learning rate that falls to 0 over them, the digits are learned and the loss settles."""
BATCH_SIZE = 64

MOST_SLICES = 4
SMALLEST_SLICE_MIB = 1024
STEP_MIB = 256
"""Slices are whole multiples of this, because round figures are easier to read and to change."""

_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def starter(machine: Machine) -> Plan:
    """The starter plan: on the one card with the most memory, if possible a free one.

    Else on logical CPUs. One device is fastest for a model of this size. Its memory grows as
    needed, so other users of the card keep theirs. A card that does not answer is not used, nor one
    asleep while another is awake.
    """
    card = best_card(machine)
    if card is None:
        return on_cpus(machine)
    devices = DeviceSettings(visible=_visible(machine, (card,)), memory_growth=True)
    return _plan(f"digits on one {_kind(card)}", devices, 1, ONE_DEVICE)


def spread(machine: Machine) -> Plan:
    """A plan with several replicas: on free cards, on slices of the best, or on logical CPUs."""
    free = tuple(card for card in machine.cards if card.is_free and not card.instance)
    card = best_card(machine)
    if len(free) > 1:
        return _plan(
            f"digits on {_words(len(free))} cards",
            DeviceSettings(visible=_visible(machine, free)),
            len(free),
        )
    return on_cpus(machine) if card is None else _on_slices(machine, card)


def template(strategy: str, machine: Machine) -> Plan:
    """A plan that trains the digits with `strategy`: on one device, or spread over free ones."""
    chosen = strategy_named(strategy)
    first = spread(machine) if chosen.devices in ("many", "choice") else starter(machine)
    return chosen.template(first, default_devices(logical_devices(first, machine)))


def best_card(machine: Machine) -> Card | None:
    """The card to begin with: the free one with the most memory, else the best of all that answer.

    None if there is no card, or none that answers.
    """
    awake = [card for card in machine.cards if card.answers]
    free = [card for card in awake if card.is_free]
    asleep = [card for card in machine.cards if card.asleep]
    return max(free or awake or asleep, key=_slices_that_fit, default=None)


def _slices_that_fit(card: Card) -> tuple[int, int]:
    return card.free_mib or 0, -card.index


def on_cpus(machine: Machine) -> Plan:
    """Mirrored over logical CPUs, so that everything can be tried without a card."""
    count = min(max(machine.cpu_cores, 2), MOST_SLICES)
    # Cards that are present and do not answer must not be tried.
    visible = (CPU,) if machine.cards else ()
    devices = DeviceSettings(visible=visible, carve=(Carve(CPU, (0,) * count),))
    return _plan(f"digits on {_words(count)} logical CPUs", devices, count)


def _on_slices(machine: Machine, card: Card) -> Plan:
    visible = _visible(machine, (card,))
    count, mib = _slices(card)
    if count < 2:
        # Too little is free to divide: grow from nothing, so that other users keep their memory.
        return _plan(
            f"digits on one {_kind(card)}", DeviceSettings(visible=visible, memory_growth=True), 1
        )
    carved = visible[0] if visible else card.device
    devices = DeviceSettings(visible=visible, carve=(Carve(carved, (mib,) * count),))
    whole = "an instance" if card.instance else "a card"
    return _plan(f"digits on {_words(count)} slices of {whole}", devices, count)


def _slices(card: Card) -> tuple[int, int]:
    """The number of equal slices that fit the card's free memory, and the size of each in MiB."""
    available_mib = max(0, (card.free_mib or 0) - beside_slices_mib(card))
    count = min(MOST_SLICES, available_mib // SMALLEST_SLICE_MIB)
    return count, available_mib // count // STEP_MIB * STEP_MIB if count else 0


def _visible(machine: Machine, cards: tuple[Card, ...]) -> tuple[str, ...]:
    """The cards by name: by UUID while one is lost, because CUDA may not count that one."""
    if len(cards) == len(machine.cards) and not any(card.instance for card in cards):
        return ()
    lost = any(card.lost for card in machine.cards)
    return tuple(card.uuid if lost and card.uuid else card.device for card in cards)


def _plan(name: str, devices: DeviceSettings, replicas: int, strategy: Strategy = MIRRORED) -> Plan:
    return Plan(
        name=name,
        devices=devices,
        model=ModelSettings(name="mlp", options={"hidden": [256, 256, 256]}),
        data=Data(name="digits"),
        training=Training(
            epochs=EPOCHS,
            batch_size=_batch(replicas),
            optimizer="adam",
            schedule=Named("cosine"),
        ),
        distribution=Distribution(strategy.name),
    )


def _batch(replicas: int) -> int:
    """The global batch: the same number of samples for each replica."""
    return -(-max(BATCH_SIZE, 8 * replicas) // replicas) * replicas


def _kind(card: Card) -> str:
    return "MIG instance" if card.instance else "card"


def _words(count: int) -> str:
    return _NUMBERS.get(count, str(count))
