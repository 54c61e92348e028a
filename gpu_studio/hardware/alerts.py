"""Alerts about a card: rules with thresholds over its latest figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from gpu_studio.common.figures import share
from gpu_studio.hardware.picture import CardNow

Kind = Literal["gone", "full", "hot", "held", "idle"]

FULL: Final = 0.95
"""Share of the memory, the driver's own included, above which the next allocation may well fail."""
NEAR_SLOWDOWN_C: Final = 5
IDLE_SECONDS: Final = 60.0
IDLE_PERCENT: Final = 1.0
"""A card is idle while its utilisation is no higher than this.

A run may well pause for less than `IDLE_SECONDS`.
"""
HARMLESS: Final = frozenset({"idle", "application clocks", "display clocks", "sync boost"})
"""Reasons for lower clocks that somebody chose, or that end when there is work."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition of a card. `key` stays the same as long as the condition lasts."""

    kind: Kind
    words: str
    bad: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """The rules' view of a card: its figures, the run that holds it, and its idle time."""

    card: CardNow
    run: str = ""
    idle_seconds: float = 0.0


def alerts(watched: Watched) -> list[Alert]:
    """All alerts of a card. A card that is gone has no figures, so it has no others."""
    facts = watched.card.facts
    if facts.gone:
        return [Alert("gone", facts.gone, bad=not facts.asleep)]
    return [alert for rule in RULES for alert in rule(watched)]


def full(watched: Watched) -> Iterator[Alert]:
    """Memory above 95 %."""
    used, total = _number(watched, "memory_used_mib"), _number(watched, "total_mib")
    if used is None or not total:
        return
    taken = (used + (_number(watched, "memory_reserved_mib") or 0)) / total
    if taken > FULL:
        yield Alert("full", f"its memory is {share(taken)} full: an allocation may fail")


def hot(watched: Watched) -> Iterator[Alert]:
    """Temperature within 5 °C of the threshold at which the card slows down."""
    temperature, slowdown = _number(watched, "temperature_c"), _number(watched, "slowdown_c")
    if (
        temperature is not None
        and slowdown is not None
        and temperature >= slowdown - NEAR_SLOWDOWN_C
    ):
        yield Alert("hot", f"{temperature:.0f} °C: it slows itself down at {slowdown:.0f} °C")


def held(watched: Watched) -> Iterator[Alert]:
    """Clocks limited by something that nobody chose."""
    throttle = watched.card.figure("throttle")
    reasons = (
        [words for words in throttle if words not in HARMLESS] if isinstance(throttle, list) else []
    )
    if reasons:
        words = ", ".join(reasons)
        yield Alert("held", f"its clocks are held down by: {words}", key=words)


def idle(watched: Watched) -> Iterator[Alert]:
    """A card that does nothing although a run holds it."""
    if watched.run and watched.idle_seconds >= IDLE_SECONDS:
        yield Alert(
            "idle", f"idle for a minute, while {watched.run} holds it: is the data too slow?"
        )


RULES: Final[tuple[Callable[[Watched], Iterator[Alert]], ...]] = (full, hot, held, idle)
"""XIDs and memory errors need no rule: the driver tells of each one when it happens."""


def _number(watched: Watched, name: str) -> float | None:
    value = watched.card.figure(name)
    return value if isinstance(value, int | float) else None
