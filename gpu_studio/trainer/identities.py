"""Which card each of TensorFlow's GPUs is: its UUID and PCI address, from CUDA in this process.

TensorFlow states neither once its devices are set up: the description that holds the address comes
only with a second set of devices, which a carved card refuses. But the number in the name of a
physical device is the CUDA ordinal, and CUDA in the same process, under the same variables, says
which card that ordinal is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_studio.trainer.answers.cuda_driver import cuda_driver

_PART = re.compile(r"MIG-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class CardIdentity:
    """A card's UUID and PCI address (`0000:2d:00.0`); None if unknown."""

    uuid: str | None = None
    bus_id: str | None = None


NO_CARD = CardIdentity()


def identities(described: Mapping[str, str]) -> dict[str, CardIdentity]:
    """Return the card of each physical GPU (`/physical_device:GPU:0`).

    The argument gives TensorFlow's name of the card for each of them.
    """
    if not described:
        return {}
    cards, visible = cuda_driver()["cards"], os.environ.get("CUDA_VISIBLE_DEVICES")
    return {name: identity(name, card, cards, visible) for name, card in described.items()}


def identity(
    device: str, description: str, cards: Iterable[Mapping[str, Any]], visible: str | None
) -> CardIdentity:
    """Return the card of the physical GPU `device`, among `cards` in CUDA's numbering.

    CUDA numbers them under CUDA_VISIBLE_DEVICES=`visible`. The identity is unknown if TensorFlow
    and CUDA name the device differently: then their numbering differs.
    """
    ordinal = device.rpartition(":")[2]
    card = next((card for card in cards if str(card["ordinal"]) == ordinal), {})
    if description and card.get("name") and description != card["name"]:
        return NO_CARD
    return CardIdentity(
        _part(visible) or card.get("uuid") or None, card.get("bus_id", "").lower() or None
    )


def _part(visible: str | None) -> str | None:
    """Return the UUID of the MIG instance that CUDA shows.

    CUDA shows only one instance, under the UUID of its card.
    """
    name = (visible or "").strip()
    return name if _PART.fullmatch(name) else None
