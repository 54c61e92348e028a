"""Memory, utilisation and power of a run over its time, read once and thinned while reading: memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Literal

import numpy as np

from gpu_studio.hardware.accounting import LONGEST_GAP, lines_of
from gpu_studio.hardware.samples import Fast, FastFigures, SampleError
from gpu_studio.hardware.samples import decode as decode_sample
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Memory, decode
from gpu_studio.runs.reading.curves import thinned
from gpu_studio.runs.reading.lines import LineTail
from gpu_studio.runs.reading.memory import MemorySeries
from gpu_studio.runs.reading.series import Array, Series
from gpu_studio.steady import SteadyClock

Figure = Literal["utilisation", "power"]
_MEMORY: Final = b'{"event":"memory"'
_FAST: Final = b'{"sample":"fast"'
_KEPT: Final = 1 << 14
_READ: Final[dict[Figure, Callable[[FastFigures], float | None]]] = {
    "utilisation": lambda card: card.utilisation_percent,
    "power": lambda card: card.power_w,
}

Curves = dict[str, tuple[Array, Array]]
"""By name: seconds since the run began, and values, each of shape (points,)."""


def memory_curves(run: RunDirectory, began: float, points: int) -> Curves:
    """Bytes in use on each logical device. Raises OSError if the events cannot be read."""
    found: dict[str, MemorySeries] = {}
    clock = SteadyClock()
    for line in LineTail(run.events_file).read_all():
        event = decode(line) if line.startswith(_MEMORY) else None
        if isinstance(event, Memory):
            time = clock.at(event.time, event.elapsed)
            for sample in event.devices:
                found.setdefault(sample.device, MemorySeries(sample.device)).add(time, sample)
    return {name: _thin(series.times - began, series.current, points) for name, series in found.items()}


def card_curves(run: RunDirectory, cards: Sequence[str], began: float, points: int) -> dict[Figure, Curves]:
    """Utilisation in per cent and power in watts of these cards, by the keys that samples have; none unless recorded.

    Raises OSError if the recording cannot be read.
    """
    wanted = frozenset(cards)
    found: dict[tuple[Figure, str], Series] = {}
    clock = SteadyClock()
    for sample in _fast(run):
        time = clock.at(sample.time, sample.steady)
        for card in sample.cards:
            if card.card in wanted:
                _take(found, time, card)
    curves: dict[Figure, Curves] = {"utilisation": {}, "power": {}}
    for (figure, key), series in found.items():
        times, values = _thin(series.column("time") - began, series.column("value"), points)
        # Of each stretch two points are left, which may lie at the far ends of two stretches.
        between = 4 * (times[-1] - times[0]) / points if len(times) < series.total else 0.0
        curves[figure][key] = _broken(times, values, LONGEST_GAP + between)
    return curves


def _fast(run: RunDirectory) -> Iterator[Fast]:
    with suppress(FileNotFoundError):
        for line in lines_of(run.hardware_file):
            if line.startswith(_FAST):
                with suppress(SampleError):
                    sample = decode_sample(line)
                    if isinstance(sample, Fast):
                        yield sample


def _take(found: dict[tuple[Figure, str], Series], time: float, card: FastFigures) -> None:
    for figure, read in _READ.items():
        value = read(card)
        if value is not None:
            key = (figure, card.card)
            if key not in found:
                found[key] = Series("time", "value", by="value", most=_KEPT)
            found[key].add(time, value)


def _thin(times: Array, values: Array, points: int) -> tuple[Array, Array]:
    kept = thinned(np.stack((times, values)), 1, points)
    return kept[0], kept[1]


def _broken(times: Array, values: Array, gap: float) -> tuple[Array, Array]:
    """The curve, broken where nothing is known for longer than `gap` seconds."""
    after = np.flatnonzero(np.diff(times) > gap) + 1
    return np.insert(times, after, np.nan), np.insert(values, after, np.nan)
