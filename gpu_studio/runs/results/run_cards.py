"""The cards that a run used, among those recorded beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpu_studio.contract import Devices, LogicalDevice
from gpu_studio.contract.samples import CardFacts
from gpu_studio.hardware.identity import Identity, same


@dataclass(frozen=True, slots=True)
class RunCard:
    """A card or MIG instance. `key` is its key in samples.

    `places` are its logical devices' numbers.
    """

    key: str
    places: tuple[int, ...]
    devices: tuple[str, ...]

    @property
    def label(self) -> str:
        """Its logical devices in short: `GPU:2`, `GPU:0–3`, `GPU:0, 2`."""
        kind, _, first = self.devices[0].partition(":")
        numbers = [int(name.partition(":")[2]) for name in self.devices]
        if len(numbers) == 1:
            return self.devices[0]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return f"{kind}:{first}–{numbers[-1]}"
        return f"{kind}:{', '.join(map(str, numbers))}"


def run_cards(devices: Devices | None, known: Mapping[str, CardFacts]) -> tuple[RunCard, ...]:
    """The recorded cards that the run's logical GPUs were carved from, in their order.

    They are matched by UUID or PCI address, never by position: a device whose card is unknown has
    none here.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    logical = devices.logical if devices else ()
    for place, (device, key) in enumerate(zip(logical, _keys(logical, known), strict=True)):
        if key is not None:
            found.setdefault(key, []).append((place, device.name))
    return tuple(RunCard(key, *zip(*mine, strict=True)) for key, mine in found.items())


def cards_at_work(devices: Devices | None, known: Mapping[str, CardFacts]) -> tuple[RunCard, ...]:
    """Those of them that the run trained on."""
    if devices is None:
        return ()
    return tuple(
        card for card in run_cards(devices, known) if not devices.at_work.isdisjoint(card.devices)
    )


def card_numbers(
    devices: Devices | None, known: Mapping[str, CardFacts], listed: Sequence[CardFacts]
) -> dict[str, int]:
    """The number of each card that the run's logical GPUs were carved from, by its name in the run.

    It is the index among the cards `listed` by the driver; a MIG instance has its card's. A card
    that was not recorded, or that is no longer listed, is left out.
    """
    numbers = {part.card: place for place, card in enumerate(listed) for part in card.instances}
    numbers |= {card.card: place for place, card in enumerate(listed)}
    logical = devices.logical if devices else ()
    keys = zip(logical, _keys(logical, known), strict=True)
    return {
        device.physical: numbers[key] for device, key in keys if key is not None and key in numbers
    }


def trains_on_cards(devices: Devices | None) -> bool:
    """Whether the run trains on a GPU."""
    return devices is not None and any(name.startswith("GPU") for name in devices.at_work)


def card_name(device: str, devices: Devices | None, known: Mapping[str, CardFacts]) -> str | None:
    """The card that a logical GPU of the run was carved from: its product name and address.

    None if that is not known.
    """
    logical = devices.logical if devices else ()
    for each, key in zip(logical, _keys(logical, known), strict=True):
        if each.name == device:
            address = each.bus_id or each.uuid or ""
            name = known[key].name if key is not None else ""
            return " · ".join(filter(None, (name, address))) or None
    return None


def uses_cards(devices: Devices | None) -> bool:
    """Whether TensorFlow sees a GPU in this run."""
    return devices is not None and any(device.name.startswith("GPU") for device in devices.logical)


def _keys(
    logical: Sequence[LogicalDevice], known: Mapping[str, CardFacts]
) -> tuple[str | None, ...]:
    """The key of each device's card; None where that was not recorded."""
    return _matched(
        tuple((device.uuid or "", device.bus_id or "") for device in logical),
        tuple((card.card, card.uuid, card.bus_id) for card in known.values()),
    )


@lru_cache(maxsize=256)
def _matched(
    wanted: tuple[tuple[str, str], ...], known: tuple[tuple[str, str, str], ...]
) -> tuple[str | None, ...]:
    """The same by what is compared of them: a live run asks several times in each frame."""
    return tuple(_key(Identity(*names), known) for names in wanted)


def _key(wanted: Identity, known: Iterable[tuple[str, str, str]]) -> str | None:
    alike = [
        (bool(uuid), key) for key, uuid, bus_id in known if same(wanted, Identity(uuid, bus_id))
    ]
    # A card that was lost at first is recorded under its address, and later under its UUID.
    return max(alike)[1] if alike else None
