"""The devices as JSON and as CSV. The keys are told of in the help of `gpu-studio devices`."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec

from gpu_studio.hardware.picture import CardNow, Picture
from gpu_studio.hardware.samples import CardFacts, FastFigures, PcieFigures, SlowFigures

_NO_FIGURES = frozenset({"card", "why", "instances"})
_IDENTITY = frozenset({"index", "uuid", "name", "bus_id", "gone", "asleep"})
FIGURES = tuple(
    dict.fromkeys(
        name
        for kind in (FastFigures, SlowFigures, PcieFigures, CardFacts)
        for name in kind.__struct_fields__
        if name not in _NO_FIGURES | _IDENTITY
    )
)
INSTANCE_FIGURES = ("total_mib", "memory_used_mib", "memory_free_mib", "utilisation_percent")
COLUMNS = ("time", "simulated", "card", *sorted(_IDENTITY), *FIGURES)


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
        "host": {**_plain(picture.host), "time": picture.host.time} if picture.host else None,
        "events": _plain(list(picture.events)),
        "notes": _plain(list(picture.notes)),
    }


def csv_lines(picture: Picture) -> list[str]:
    """A heading and a line for each card; a figure that is not known is its reason in words."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for card in picture.cards.values():
        facts = _plain(card.facts) | {"time": picture.time, "simulated": picture.simulated}
        table.writerow(facts[name] if name not in FIGURES else _cell(card, name) for name in COLUMNS)
    return text.getvalue().splitlines()


def _card(card: CardNow, picture: Picture) -> dict[str, Any]:
    identity = {name: getattr(card.facts, name) for name in ("card", *sorted(_IDENTITY))}
    instances = [picture.instances[each.card] for each in card.facts.instances if each.card in picture.instances]
    return identity | _figures(card, FIGURES) | {"instances": [_instance(each) for each in instances]}


def _instance(instance: CardNow) -> dict[str, Any]:
    return {"card": instance.facts.card, "name": instance.facts.name} | _figures(instance, INSTANCE_FIGURES)


def _figures(card: CardNow, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: card.figure(name) for name in names}
    return values | {"why": {name: card.why(name) for name, value in values.items() if value is None}}


def _cell(card: CardNow, name: str) -> Any:
    value = card.figure(name)
    if value is None:
        return card.why(name)
    return "; ".join(value) or "nothing" if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
