"""The memory of a run's devices: in use by TensorFlow, and beside it all that is in use on the card."""

from __future__ import annotations

from typing import Final

from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_cards import run_cards, uses_cards
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.train.card_record import CardRecord
from gpu_studio.ui.models.train.memory_now import DeviceMemoryNow, memory_now, places
from gpu_studio.ui.pages.train.drawing import (
    Drawing,
    Line,
    card_lines,
    faint_style_of,
    host_lines,
    joined,
    not_recorded,
    simulated,
    style_of,
)
from gpu_studio.ui.widgets.plots.backdrop import Limit
from gpu_studio.ui.widgets.plots.legend_entry import Entry

# What lies further above the curves than this would press them flat: it is told in words instead.
_FARTHEST: Final = 4.0
_SOON: Final = 5.0
"""Seconds that a run may go before its recording has begun."""


def memory_drawing(history: History, record: CardRecord, wanted: bool | None = None) -> Drawing:
    """What the memory plot shows. The cards are drawn as `wanted`; None: where they do not press the devices flat."""
    devices = memory_now(history, record)
    cards = _card_lines(history, record)
    near = not _is_far(cards, devices)
    shown = bool(cards) and (near if wanted is None else wanted)
    word = _word(history) if cards else ""
    entries = [Entry(device.name, style_of(device.place)) for device in devices]
    if shown:
        entries.append(Entry(word, faint_style_of(None), fixed=True))
    return Drawing(
        lines=(*(cards if shown else ()), *_device_lines(history, devices)),
        entries=entries,
        limits=limits(devices),
        caption=_both(caption(devices), _about_cards(history, record, cards, far=not shown and wanted is None)),
        nothing="no sample in sight",
        cards=word,
        cards_shown=shown,
    )


def limits(devices: list[DeviceMemoryNow]) -> list[Limit]:
    """The devices' limits, each value once, as far as they are near enough to be drawn."""
    values = sorted({device.limit for device in devices if device.limit})
    highest = max((device.peak for device in devices), default=0)
    return [Limit(value, f"limit {figures.size(value)}") for value in values if value <= _FARTHEST * highest]


def caption(devices: list[DeviceMemoryNow]) -> tuple[str, str]:
    """What was counted, and the limits that are not drawn: in full, and in short."""
    sources = {device.source for device in devices}
    if "host" in sources:
        return "host: arena of all logical CPUs together · CPU:n: variables placed there", "variables · host arena"
    if "allocator" not in sources:
        return "", ""
    near = limits(devices)
    far = sorted({device.limit for device in devices if device.limit} - {limit.value for limit in near})
    drawn = " · line: limit" if near else ""
    told = f" · limit {' and '.join(figures.size(int(value)) for value in far)}, above the view" if far else ""
    return f"in use by TensorFlow's allocator{drawn}{told}", f"TensorFlow's allocator{told}"


def _device_lines(history: History, devices: list[DeviceMemoryNow]) -> list[Line]:
    """The host first, so that the devices are drawn over it."""
    lines = []
    for device in sorted(devices, key=lambda device: device.place is not None):
        series = history.memory[device.name]
        what, style = f"{device.name} in use", style_of(device.place)
        lines.append(Line(device.name, style, series.times, series.current, what=what, series=series.series))
    return lines


def _card_lines(history: History, record: CardRecord) -> list[Line]:
    if uses_cards(history.devices):
        cards = run_cards(history.devices, record.known)
        return card_lines(record, cards, "memory", places(history, record), faint=True)
    return host_lines(record, "memory", faint=True) if history.devices else []


def _is_far(cards: list[Line], devices: list[DeviceMemoryNow]) -> bool:
    highest = max([device.peak for device in devices] + [int(limit.value) for limit in limits(devices)], default=0)
    return bool(cards) and _highest(cards) > _FARTHEST * highest


def _highest(lines: list[Line]) -> float:
    return max(float(line.values.max()) for line in lines)


def _word(history: History) -> str:
    return "card" if uses_cards(history.devices) else "whole host"


def _about_cards(history: History, record: CardRecord, cards: list[Line], *, far: bool) -> tuple[str, str]:
    """What is to be said of the cards where their lines do not say it, in full and in short."""
    if not cards:
        why = _why_none(history, record)
        return why, why
    made_up = simulated(record) if uses_cards(history.devices) else ""
    if not far:
        return made_up, made_up
    size = figures.size(int(max(line.values[-1] for line in cards)))
    several = f"{_word(history)}s up to" if len(cards) > 1 else _word(history)
    return joined(f"{several} {size}, above the view", made_up), joined(f"{_word(history)} {size}", made_up)


def _why_none(history: History, record: CardRecord) -> str:
    if history.devices is None:
        return ""
    begins = not history.ended and (history.seconds or 0.0) < _SOON
    if why := not_recorded(record, begins=begins):
        return why
    unknown = uses_cards(history.devices) and bool(record.known)
    return "which of the cards these were is not known" if unknown else ""


def _both(first: tuple[str, str], second: tuple[str, str]) -> tuple[str, str]:
    return joined(first[0], second[0]), joined(first[1], second[1])
