"""The devices for other programs, as CSV and JSON; unknown figures are replaced by the reason."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from gpu_studio.common.csv_text import csv_line
from gpu_studio.contract.samples import CardFacts, FastFigures, PcieFigures, SlowFigures
from gpu_studio.hardware.picture import CardNow, MachinePicture

_NO_FIGURES = frozenset({"card", "why", "instances"})
IDENTITY: Final = tuple(sorted(("index", "uuid", "name", "bus_id", "gone", "asleep")))
"""The columns that identify a card."""
FIGURES: Final = tuple(
    dict.fromkeys(
        name
        for kind in (FastFigures, SlowFigures, PcieFigures, CardFacts)
        for name in kind.__struct_fields__
        if name not in _NO_FIGURES and name not in IDENTITY
    )
)
"""Every figure that a card can have, by its name in `samples`."""
COLUMNS: Final = ("time", "simulated", "card", *IDENTITY, *FIGURES)
_INSTANCE_FIGURES = ("total_mib", "memory_used_mib", "memory_free_mib", "utilisation_percent")


def csv_lines(picture: MachinePicture) -> list[str]:
    """A heading and a line for each card; an unknown figure is its reason in words."""
    lines = [csv_line(COLUMNS)]
    for card in picture.cards.values():
        facts = msgspec.to_builtins(card.facts) | {
            "time": picture.time,
            "simulated": picture.simulated,
        }
        lines.append(
            csv_line(facts[name] if name not in FIGURES else _cell(card, name) for name in COLUMNS)
        )
    return lines


def _cell(card: CardNow, name: str) -> Any:
    value = card.figure(name)
    if value is None:
        return card.why(name)
    return "; ".join(value) or "nothing" if isinstance(value, list) else value


def document(picture: MachinePicture) -> dict[str, Any]:
    """Everything as plain JSON values; the help of `gpu-studio devices` explains each key."""
    return {
        "time": picture.time,
        "simulated": picture.simulated,
        "why": picture.why,
        "driver": picture.driver,
        "cuda": picture.cuda,
        "cards": [_card(card, picture) for card in picture.cards.values()],
        "processes": _plain(picture.processes.processes if picture.processes else []),
        "processes_why": dict(picture.processes.why) if picture.processes else {},
        "host_processes": _plain(
            picture.host_processes.processes if picture.host_processes else []
        ),
        "host_processes_why": picture.host_processes.why if picture.host_processes else "",
        "host": {**_plain(picture.host), "time": picture.host.time} if picture.host else None,
        "events": _plain(list(picture.events)),
        "notes": _plain(list(picture.notes)),
    }


def _card(card: CardNow, picture: MachinePicture) -> dict[str, Any]:
    identity = {name: getattr(card.facts, name) for name in ("card", *IDENTITY)}
    instances = [
        picture.instances[each.card]
        for each in card.facts.instances
        if each.card in picture.instances
    ]
    return (
        identity | _figures(card, FIGURES) | {"instances": [_instance(each) for each in instances]}
    )


def _instance(instance: CardNow) -> dict[str, Any]:
    return {"card": instance.facts.card, "name": instance.facts.name} | _figures(
        instance, _INSTANCE_FIGURES
    )


def _figures(card: CardNow, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: card.figure(name) for name in names}
    return values | {
        "why": {name: card.why(name) for name, value in values.items() if value is None}
    }


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
