"""Match the cards of NVML, CUDA and TensorFlow, which each number them in their own order.

They are matched by UUID or PCI address and never by position, because any of the three orders
can differ. CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change CUDA's order: `effect` says how,
in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from gpu_studio.hardware.host import bus_order, plain_bus_id


@dataclass(frozen=True, slots=True)
class Seen:
    """A card as one of the three numbers it. A fact that this one does not give is empty.

    TensorFlow does not give the UUID.
    """

    number: int
    uuid: str = ""
    bus_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """One card under all its names.

    A number is None where the card is not seen, or not identified.
    """

    uuid: str = ""
    bus_id: str = ""
    name: str = ""
    nvml_index: int | None = None
    cuda_ordinal: int | None = None
    tensorflow_index: int | None = None

    @property
    def tensorflow_name(self) -> str:
        """TensorFlow's name for it, `GPU:0`; empty if TensorFlow does not see it."""
        return "" if self.tensorflow_index is None else f"GPU:{self.tensorflow_index}"


def join(
    nvml: Sequence[Seen], cuda: Sequence[Seen], tensorflow: Sequence[Seen]
) -> tuple[Identity, ...]:
    """One record per card, in PCI bus order, even if only one of the three sees it."""
    records: list[Identity] = []
    for view, cards in (
        ("nvml_index", nvml),
        ("cuda_ordinal", cuda),
        ("tensorflow_index", tensorflow),
    ):
        for card in cards:
            _enter(records, view, card)
    return tuple(sorted(records, key=lambda record: (bus_order(record.bus_id), record.uuid)))


def same(one: Identity | Seen, other: Identity | Seen) -> bool:
    """Whether both are the same card: UUIDs agree, or one lacks it and the PCI addresses agree."""
    if one.uuid and other.uuid:
        return one.uuid == other.uuid
    return bool(one.bus_id) and plain_bus_id(one.bus_id) == plain_bus_id(other.bus_id)


def find(records: Iterable[Identity], card: Identity | Seen) -> Identity | None:
    """The record of a card; None if there is none."""
    return next((record for record in records if same(record, card)), None)


def _enter(records: list[Identity], view: str, card: Seen) -> None:
    for place, record in enumerate(records):
        # A view that names one address twice means two devices: each gets a record of its own.
        if same(record, card) and getattr(record, view) is None:
            records[place] = replace(
                record,
                uuid=record.uuid or card.uuid,
                bus_id=record.bus_id or _plain(card.bus_id),
                name=record.name or card.name,
                **{view: card.number},
            )
            return
    records.append(Identity(card.uuid, _plain(card.bus_id), card.name, **{view: card.number}))


def _plain(bus_id: str) -> str:
    return plain_bus_id(bus_id) if bus_id else ""


VARIABLE = "CUDA_VISIBLE_DEVICES"

Facts = dict[str, Any]


def left_visible(cards: Sequence[Facts], value: str | None) -> list[Facts]:
    """The cards that CUDA will show, in its order.

    `value` is the variable's, None if it is not set. As CUDA reads it: numbers or (prefixes of)
    UUIDs, up to the first that matches no card; a card named twice shows none at all. `cards` are
    in PCI bus order, which numbers refer to under CUDA_DEVICE_ORDER=PCI_BUS_ID.
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
    """Why no card is visible, in words."""
    them = "the card" if len(cards) == 1 else f"all {len(cards)} cards"
    return f'{VARIABLE}="{value[:80]}" hides {them} of this machine from CUDA'


def _card(cards: Sequence[Facts], name: str) -> Facts | None:
    if name.isascii() and name.isdecimal():
        index = int(name[:9])
        return cards[index] if index < len(cards) else None
    parts = [part for card in cards for part in card.get("instances", ())]
    among = parts if name.startswith("MIG-") else cards
    begun = [
        card
        for card in among
        if name.startswith(("GPU-", "MIG-")) and card["uuid"].startswith(name)
    ]
    return begun[0] if len(begun) == 1 else None


BY_BUS = "PCI_BUS_ID"
PART = "MIG-"
SHOWN = 80
"""Characters of a variable's value that a message repeats."""


@dataclass(frozen=True, slots=True)
class Variables:
    """The two variables of the environment; None is not set."""

    visible: str | None = None
    order: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The variables' effect: the visible cards in bus order, sentences, and any mistake.

    `mistake` says what is wrong with CUDA_VISIBLE_DEVICES; it is empty if every entry names a card
    once. With `only_cuda_knows`, the variable names a part of a card (MIG), and the visible cards
    cannot be determined here.
    """

    left: tuple[Identity, ...]
    words: tuple[str, ...]
    mistake: str = ""
    only_cuda_knows: bool = False


def effect(variables: Variables, cards: Sequence[Identity]) -> Effect:
    """The effect of the variables on `cards`, given in PCI bus order."""
    if not cards:
        return Effect((), ())
    if any(name.strip().startswith(PART) for name in (variables.visible or "").split(",")):
        return Effect(
            (), (_about_parts(variables.visible or ""), *_about_order(variables, cards)), "", True
        )
    left = _left(variables.visible, cards)
    mistake = _mistake(variables.visible, cards, left)
    words = [_about_visible(variables.visible, cards, left), *_about_order(variables, cards)]
    return Effect(left, tuple(words), mistake)


def _left(visible: str | None, cards: Sequence[Identity]) -> tuple[Identity, ...]:
    facts = [{"uuid": card.uuid, "place": place} for place, card in enumerate(cards)]
    return tuple(cards[fact["place"]] for fact in left_visible(facts, visible))


def _about_visible(visible: str | None, cards: Sequence[Identity], left: Sequence[Identity]) -> str:
    if visible is None:
        return "CUDA_VISIBLE_DEVICES is not set: programs see every card."
    value = f'CUDA_VISIBLE_DEVICES="{visible[:SHOWN]}"'
    if not left:
        return f"{value} hides every card from CUDA, and so from TensorFlow."
    names = ", ".join(
        f"CUDA device {ordinal} is {_reported(card)}" for ordinal, card in enumerate(left)
    )
    hidden = len(cards) - len(left)
    rest = f"; {hidden} of {len(cards)} {'is' if hidden == 1 else 'are'} hidden" if hidden else ""
    return f"{value}: {names}{rest}."


def _about_parts(visible: str) -> str:
    value = f'CUDA_VISIBLE_DEVICES="{visible[:SHOWN]}"'
    return (
        f"{value} names a part of a card (MIG): CUDA shows one part "
        "to a process, and no other card."
    )


def _about_order(variables: Variables, cards: Sequence[Identity]) -> list[str]:
    if len(cards) < 2:
        return []
    ours = (
        "GPU Studio starts its trainers with CUDA_DEVICE_ORDER=PCI_BUS_ID, so that its numbers "
        "follow the PCI bus."
    )
    if variables.order == BY_BUS:
        return [
            (
                "CUDA_DEVICE_ORDER=PCI_BUS_ID: CUDA counts the cards along "
                "the PCI bus, as nvidia-smi does."
            )
        ]
    now = "is not set" if variables.order is None else f'is "{variables.order[:SHOWN]}"'
    fast = (
        f"CUDA_DEVICE_ORDER {now}: other programs count the fastest card first, which need not be "
        "nvidia-smi's order."
    )
    return [fast, ours]


def _mistake(visible: str | None, cards: Sequence[Identity], left: Sequence[Identity]) -> str:
    if visible is None or visible.strip() in {"", "-1"}:
        return ""
    names = [name.strip() for name in visible.split(",")]
    known = list(takewhile(lambda name: name != "-1", names))
    if len(left) == len(known):
        return ""
    each = [_left(name, cards) for name in known]
    for place, found in enumerate(each):
        if not found:
            return _nobody(known[place])
        if found in each[:place]:
            return (
                f'"{known[place][:SHOWN]}" names a card a second time, for '
                "which CUDA hides every card"
            )
    return ""


def _nobody(name: str) -> str:
    if not name:
        return "an entry between commas is empty, and CUDA reads no further than that"
    return f'"{name[:SHOWN]}" names no card of this machine, and CUDA reads no further than that'


def _reported(card: Identity) -> str:
    place = f" at {card.bus_id}" if card.bus_id else ""
    return f"{card.name or 'a card'}{place}"
