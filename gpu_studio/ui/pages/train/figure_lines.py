"""What the cards of a run did besides holding memory: utilisation and power; and the host's CPU without cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gpu_studio.hardware.picture import CardNow
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_cards import RunCard, run_cards, uses_cards
from gpu_studio.ui.models.devices.sample_points import HOST, Figure
from gpu_studio.ui.models.train.card_readout import TEXTS
from gpu_studio.ui.models.train.card_record import CardRecord
from gpu_studio.ui.models.train.memory_now import places
from gpu_studio.ui.pages.train.drawing import (
    CPU_OF_HOST,
    Drawing,
    card_lines,
    host_lines,
    joined,
    not_recorded,
    simulated,
    style_of,
)
from gpu_studio.ui.widgets.plots.legend_entry import Entry

MOST_VALUES: Final = 4
_FIGURES: Final[dict[Figure, str]] = {"utilisation": "utilisation_percent", "power": "power_w"}
_CAPTIONS: Final[dict[Figure, tuple[str, str]]] = {
    "utilisation": ("part of the time in which the card was at work, for any program", "of the whole card"),
    "power": ("what the card draws, for any program", "of the whole card"),
}


def figure_drawing(history: History, record: CardRecord, figure: Figure) -> Drawing:
    """What the plot of utilisation or power shows."""
    if not uses_cards(history.devices):
        return _host_drawing(record, figure)
    cards = run_cards(history.devices, record.known)
    known = places(history, record)
    lines = card_lines(record, cards, figure, known)
    return Drawing(
        lines=lines,
        entries=_entries(record, cards, figure, known) if lines else (),
        caption=_caption(record, figure) if lines else ("", ""),
        nothing=_why_nothing(record, cards, figure),
    )


def _caption(record: CardRecord, figure: Figure) -> tuple[str, str]:
    full, short = _CAPTIONS[figure]
    return joined(full, simulated(record)), joined(short, simulated(record))


def _entries(record: CardRecord, cards: Sequence[RunCard], figure: Figure, known: Mapping[str, int]) -> list[Entry]:
    """The cards' names, and their newest values where these are few enough to be read."""
    values = [record.figures.value_at(card.key, figure, record.figures.last) for card in cards]
    told = ["" if value is None or len(cards) > MOST_VALUES else TEXTS[figure](value) for value in values]
    styles = [style_of(known[card.devices[0]]) for card in cards]
    return [Entry(card.label, style, text) for card, style, text in zip(cards, styles, told, strict=True)]


def _host_drawing(record: CardRecord, figure: Figure) -> Drawing:
    value = record.figures.value_at(HOST, figure, record.figures.last)
    text = "" if value is None else TEXTS[figure](value)
    lines = host_lines(record, figure)
    return Drawing(
        lines=lines,
        entries=[Entry(CPU_OF_HOST, style_of(None), text)] if lines else (),
        caption=("all cores together, for any program", "all cores together") if lines else ("", ""),
        nothing=not_recorded(record, begins=True) or "no figure in sight",
    )


def _why_nothing(record: CardRecord, cards: Sequence[RunCard], figure: Figure) -> str:
    """Why there is no line: nothing was recorded, nobody knows which cards, or the driver does not tell."""
    if why := not_recorded(record, begins=True):
        return why
    if record.known and not cards:
        return "which of the cards these were is not known"
    found = (_now(record, card.key) for card in cards)
    reasons = {now.why(_FIGURES[figure]) for now in found if now is not None and now.fast is not None}
    return " · ".join(sorted(reasons)) or "no figure in sight"


def _now(record: CardRecord, key: str) -> CardNow | None:
    return record.picture.cards.get(key) or record.picture.instances.get(key)
