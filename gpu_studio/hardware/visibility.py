"""What CUDA_VISIBLE_DEVICES leaves of the cards: a scheduler sets it so that a job keeps to its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

VARIABLE = "CUDA_VISIBLE_DEVICES"

Facts = dict[str, Any]


def left_visible(cards: Sequence[Facts], value: str | None) -> list[Facts]:
    """The cards that CUDA will show, in its order; `value` is the variable's, None if it is not set.

    As CUDA reads it: numbers or (beginnings of) UUIDs, up to the first that is no card's; a card named twice shows
    none at all. `cards` are in PCI bus order, which is how numbers count with CUDA_DEVICE_ORDER=PCI_BUS_ID.
    """
    if value is None:
        return list(cards)
    shown: list[Facts] = []
    for name in value.split(","):
        card = _card(cards, name.strip())
        if card is None:
            return shown
        if card in shown:
            return []
        shown.append(card)
    return shown


def why_hidden(cards: Sequence[Facts], value: str) -> str:
    """Why no card is left, in words."""
    them = "the card" if len(cards) == 1 else f"all {len(cards)} cards"
    return f'{VARIABLE}="{value[:80]}" hides {them} of this machine from CUDA'


def _card(cards: Sequence[Facts], name: str) -> Facts | None:
    if name.isascii() and name.isdecimal():
        index = int(name[:9])
        return cards[index] if index < len(cards) else None
    parts = [part for card in cards for part in card.get("instances", ())]
    among = parts if name.startswith("MIG-") else cards
    begun = [card for card in among if name.startswith(("GPU-", "MIG-")) and card["uuid"].startswith(name)]
    return begun[0] if len(begun) == 1 else None
