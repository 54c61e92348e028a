"""The cards that a run trained on, among those that were recorded beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.hardware.identity import Identity, same
from gpu_studio.hardware.samples import CardFacts
from gpu_studio.runs.events import Devices, LogicalDevice


@dataclass(frozen=True, slots=True)
class RunCard:
    """A card, or a MIG instance. `key` names it in the samples; `places` are the numbers of its logical devices."""

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
    """The recorded cards that the run's logical GPUs were carved from, in the order of those.

    They are joined by UUID or PCI address, and never by position: a device whose card is not known has none here.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    identities = [(Identity(card.uuid, card.bus_id), card) for card in known.values()]
    for place, device in enumerate(devices.logical if devices else ()):
        key = _key(device, identities)
        if key is not None:
            found.setdefault(key, []).append((place, device.name))
    return tuple(RunCard(key, *zip(*mine, strict=True)) for key, mine in found.items())


def card_numbers(
    devices: Devices | None, known: Mapping[str, CardFacts], listed: Sequence[CardFacts]
) -> dict[str, int]:
    """The number of each card that the run's logical GPUs were carved from, by what the run calls the card.

    It is its place among the cards `listed` by the driver; a MIG instance has that of its card. One that was not
    recorded, or that is not listed any more, has none here.
    """
    numbers = {part.card: place for place, card in enumerate(listed) for part in card.instances}
    numbers |= {card.card: place for place, card in enumerate(listed)}
    identities = [(Identity(card.uuid, card.bus_id), card) for card in known.values()]
    keys = {device.physical: _key(device, identities) for device in (devices.logical if devices else ())}
    return {physical: numbers[key] for physical, key in keys.items() if key is not None and key in numbers}


def uses_cards(devices: Devices | None) -> bool:
    """Whether TensorFlow sees a GPU in this run."""
    return devices is not None and any(device.name.startswith("GPU") for device in devices.logical)


def _key(device: LogicalDevice, known: Iterable[tuple[Identity, CardFacts]]) -> str | None:
    wanted = Identity(device.uuid or "", device.bus_id or "")
    alike = [card for identity, card in known if same(wanted, identity)]
    # A card that was lost at first is told of under its address, and later under its UUID, with the figures.
    return max(alike, key=lambda card: (bool(card.uuid), card.card)).card if alike else None
