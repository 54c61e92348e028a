"""The devices as JSON. The keys are told of in the help of `gpu-studio devices`."""

from __future__ import annotations

from typing import Any

import msgspec

from gpu_studio.hardware.picture import CardNow, Picture
from gpu_studio.hardware.spreadsheet import COLUMNS, FIGURES, IDENTITY, csv_lines

__all__ = ["COLUMNS", "FIGURES", "csv_lines", "document"]

INSTANCE_FIGURES = ("total_mib", "memory_used_mib", "memory_free_mib", "utilisation_percent")


def document(picture: Picture) -> dict[str, Any]:
    """Everything as plain values; see the help of `gpu-studio devices`."""
    return {
        "time": picture.time,
        "simulated": picture.simulated,
        "why": picture.why,
        "driver": picture.driver,
        "cuda": picture.cuda,
        "cards": [_card(card, picture) for card in picture.cards.values()],
        "processes": _plain(picture.processes.processes if picture.processes else []),
        "processes_why": dict(picture.processes.why) if picture.processes else {},
        "host_processes": _plain(picture.host_processes.processes if picture.host_processes else []),
        "host_processes_why": picture.host_processes.why if picture.host_processes else "",
        "host": {**_plain(picture.host), "time": picture.host.time} if picture.host else None,
        "events": _plain(list(picture.events)),
        "notes": _plain(list(picture.notes)),
    }


def _card(card: CardNow, picture: Picture) -> dict[str, Any]:
    identity = {name: getattr(card.facts, name) for name in ("card", *IDENTITY)}
    instances = [picture.instances[each.card] for each in card.facts.instances if each.card in picture.instances]
    return identity | _figures(card, FIGURES) | {"instances": [_instance(each) for each in instances]}


def _instance(instance: CardNow) -> dict[str, Any]:
    return {"card": instance.facts.card, "name": instance.facts.name} | _figures(instance, INSTANCE_FIGURES)


def _figures(card: CardNow, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: card.figure(name) for name in names}
    return values | {"why": {name: card.why(name) for name, value in values.items() if value is None}}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
