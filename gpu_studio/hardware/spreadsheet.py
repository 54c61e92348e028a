"""The cards as CSV, the same for the window and the terminal: a line a card, a reason where a figure is not known."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from gpu_studio.csv_text import csv_line
from gpu_studio.hardware.picture import CardNow, Picture
from gpu_studio.hardware.samples import CardFacts, FastFigures, PcieFigures, SlowFigures

_NO_FIGURES = frozenset({"card", "why", "instances"})
IDENTITY: Final = tuple(sorted(("index", "uuid", "name", "bus_id", "gone", "asleep")))
"""What tells a card apart from others."""
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


def csv_lines(picture: Picture) -> list[str]:
    """A heading and a line for each card; a figure that is not known is its reason in words."""
    lines = [csv_line(COLUMNS)]
    for card in picture.cards.values():
        facts = msgspec.to_builtins(card.facts) | {"time": picture.time, "simulated": picture.simulated}
        lines.append(csv_line(facts[name] if name not in FIGURES else _cell(card, name) for name in COLUMNS))
    return lines


def _cell(card: CardNow, name: str) -> Any:
    value = card.figure(name)
    if value is None:
        return card.why(name)
    return "; ".join(value) or "nothing" if isinstance(value, list) else value
