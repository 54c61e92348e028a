"""What the cards of a run showed at one moment, as rows of the readout."""

from __future__ import annotations

from collections.abc import Callable

from gpu_studio.runs.history import History
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.card_figures import HOST, Figure
from gpu_studio.ui.models.card_record import CardRecord
from gpu_studio.ui.models.readout import Row
from gpu_studio.ui.models.run_cards import run_cards, uses_cards

MOST_ROWS = 8
_NONE = "–"

TEXTS: dict[Figure, Callable[[float], str]] = {
    "memory": lambda value: figures.size(int(value)),
    "utilisation": lambda value: f"{value:.0f} %",
    "power": lambda value: f"{value:.0f} W",
}
_WORDS: dict[Figure, str] = {"memory": "card", "utilisation": "busy", "power": "power"}
_HOST_WORDS: dict[Figure, str] = {"memory": "whole host", "utilisation": "CPU busy"}


def card_rows(history: History, record: CardRecord, figure: Figure, moment: float | None) -> tuple[Row, ...]:
    """One figure of each card at `moment` seconds after the run's start, or the newest; of the host without cards.

    More cards than a person can read at once are told as a range.
    """
    if history.started is None or record.empty:
        return ()
    time = record.figures.last if moment is None else history.started.time + moment
    if not uses_cards(history.devices):
        return _rows([(_HOST_WORDS.get(figure, ""), record.figures.value_at(HOST, figure, time))], figure)
    cards = run_cards(history.devices, record.known)
    values = [(f"{card.label} {_WORDS[figure]}", record.figures.value_at(card.key, figure, time)) for card in cards]
    return _rows(values, figure) if len(cards) <= MOST_ROWS else _range(values, figure)


def _rows(values: list[tuple[str, float | None]], figure: Figure) -> tuple[Row, ...]:
    return tuple((name, _NONE if value is None else TEXTS[figure](value)) for name, value in values)


def _range(values: list[tuple[str, float | None]], figure: Figure) -> tuple[Row, ...]:
    known = [value for _, value in values if value is not None]
    told = f"{TEXTS[figure](min(known))} – {TEXTS[figure](max(known))}" if known else _NONE
    return ((f"{len(values)} cards", told),)
