"""The present memory of each device of a run."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.common import figures
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.memory import MemorySeries
from gpu_studio.runs.results.run_cards import card_numbers
from gpu_studio.ui.kit import device_place
from gpu_studio.ui.train.card_record import CardRecord

SOURCES = {
    "allocator": "in use by TensorFlow's allocator",
    "variables": "variables placed on this logical CPU",
    "host": "host arena, all logical CPUs together",
}


@dataclass(frozen=True, slots=True)
class DeviceMemoryNow:
    """Bytes of one device. `place` is its number among the logical devices, None for the host."""

    name: str
    place: int | None
    current: int
    peak: int
    limit: int | None
    source: str

    @property
    def share(self) -> float | None:
        """The share (0 to 1) of its limit that is in use; None without a limit."""
        return min(self.current / self.limit, 1.0) if self.limit else None

    @property
    def peak_share(self) -> float | None:
        """The share (0 to 1) of its limit that was in use at the peak; None without a limit."""
        return min(self.peak / self.limit, 1.0) if self.limit else None

    @property
    def amount(self) -> str:
        """The bytes in use, in the unit in which they stand beside the limit."""
        if not self.limit:
            return figures.size(self.current)
        return figures.size(self.current, figures.unit_beside(self.limit))

    @property
    def caption(self) -> str:
        """Its peak and limit, or what was counted if not by the allocator."""
        if self.source == "variables":
            return "variables placed here"
        if self.source == "host":
            return f"peak {figures.size(self.peak)} · all logical CPUs"
        if not self.limit:
            return f"peak {figures.size(self.peak)} · no limit"
        return f"peak {figures.size_of(self.peak, self.limit, 'of')}"

    @property
    def text(self) -> str:
        """All of it in a sentence."""
        limit = f" of {figures.size(self.limit)}" if self.limit else ""
        counted = SOURCES.get(self.source, self.source)
        return (
            f"{self.name}: {figures.size(self.current)}{limit}, peak "
            f"{figures.size(self.peak)} ({counted})"
        )


def places(history: History, record: CardRecord) -> dict[str, int]:
    """The number of each logical device by its name, from which it has its colour and dash.

    The cards are numbered as they were recorded beside the run, so that one named by its UUID looks
    as it does on the Devices page.
    """
    if history.devices is None:
        return {}
    listed = [card.facts for card in record.picture.cards.values()]
    return device_place.places(
        history.devices.logical, numbers=card_numbers(history.devices, record.known, listed)
    )


def memory_now(history: History, record: CardRecord) -> list[DeviceMemoryNow]:
    """Return every device whose memory was reported.

    They are in the order of the logical devices, with the host last.
    """
    known = places(history, record)
    rows = [_now(series, known.get(name)) for name, series in history.memory.items()]
    order = {name: number for number, name in enumerate(known)}
    return sorted(rows, key=lambda row: order.get(row.name, len(order)))


def _now(series: MemorySeries, place: int | None) -> DeviceMemoryNow:
    latest = series.latest
    current, peak = (latest.current, latest.peak) if latest else (0, 0)
    return DeviceMemoryNow(
        series.device, place, current, max(peak, current), series.limit, series.source
    )
