"""Match the cards of NVML, CUDA and TensorFlow, which each number them in their own order.

They are matched by UUID or PCI address and never by position, because any of the three orders can
differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpu_studio.hardware.pci import bus_order, plain_bus_id


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
