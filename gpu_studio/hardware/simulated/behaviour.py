"""What the simulated cards do with their time: figures that move as those of a training do, the same every time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpu_studio.hardware.simulated.profiles import SimulatedCard

WARM_UP = 8.0
"""Seconds in which a training takes its memory."""
PAUSE = 45.0
"""Seconds between two breaks for validation, which take a tenth of it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A card at a moment: shares from 0 to 1, the rest in the units of `SimulatedCard`; energy in J, MiB a second."""

    utilisation: float
    bus: float
    used: int
    power: float
    temperature: int
    clock: int
    energy: float
    pcie: float


def moment(card: SimulatedCard, place: int, seconds: float) -> Moment:
    """What the card in place number `place` shows after so many seconds. Every fourth card is idle."""
    load = _load(place, seconds) * card.busy
    memory = _share_of_memory(place, seconds) * card.busy
    return Moment(
        utilisation=load,
        bus=0.62 * load,
        used=int(memory * (card.total - card.reserved)),
        power=card.idle_power + (card.power - card.idle_power) * 0.92 * load,
        temperature=round(32 + (card.slowdown - 40) * (0.15 + 0.75 * load) * min(1.0, 0.3 + seconds / 60)),
        clock=round(card.clock * (0.12 if load < 0.05 else 0.9 + 0.1 * load)),
        energy=(card.idle_power + 0.6 * card.power) * seconds,
        pcie=11_000.0 * load / (8 if card.nvlinks else 1),
    )


def is_idle(place: int) -> bool:
    """Whether nobody works on the card in this place."""
    return place % 4 == 3


def _load(place: int, seconds: float) -> float:
    if is_idle(place):
        return 0.0
    if (seconds + 11 * place) % PAUSE > 0.9 * PAUSE:
        return 0.12
    wave = math.sin(seconds / 3.1 + place) + 0.5 * math.sin(seconds / 0.9 + 2.3 * place)
    return min(1.0, (0.9 + 0.04 * wave) * min(1.0, 0.2 + seconds / WARM_UP))


def _share_of_memory(place: int, seconds: float) -> float:
    if is_idle(place):
        return 0.0
    target = (0.64, 0.81, 0.42)[place % 3]
    return target * (0.4 + 0.6 * min(1.0, seconds / WARM_UP))
