"""The predicted memory of one logical device, part by part, each with how it comes about."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a device's memory: its `bytes`, and `formula`, how they come about, in plain words and numbers."""

    bytes: int = 0
    formula: str = "nothing"


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What a step takes on one logical device.

    Each part is the most that it takes by itself; `total` is the most that all take at once. The sum of the parts can
    be larger than it, because gradients come while activations go. `other` is what else there is at the fullest moment:
    the batch itself, and what operations need for a moment. `limit_bytes` is the most that TensorFlow may take there: a
    slice's limit, or what it gives itself of a card that nobody else uses. `free_bytes` is what of that it would get
    now, beside those who hold memory of the card. Both are None on a CPU or where they are unknown.
    """

    device: str
    weights: Part = Part()
    gradients: Part = Part()
    slots: Part = Part()
    activations: Part = Part()
    other: Part = Part()
    total: int = 0
    total_formula: str = ""
    limit_bytes: int | None = None
    free_bytes: int | None = None

    @property
    def parts(self) -> tuple[tuple[str, Part], ...]:
        """The parts by name, in the order in which they are shown."""
        named = ("weights", "gradients", "slots", "activations", "other")
        return tuple((name, getattr(self, name)) for name in named)

    @property
    def fits(self) -> bool | None:
        """Whether the total stays within what can be had now; None if that is not known, or without a limit."""
        return None if self.room_bytes is None else self.total <= self.room_bytes

    @property
    def room_bytes(self) -> int | None:
        """What can be had now: the less of the limit and of what is free, as far as they are known."""
        return min((each for each in (self.limit_bytes, self.free_bytes) if each is not None), default=None)

    @property
    def waits(self) -> bool:
        """Whether the total would fit once those who hold the card's memory have ended, and does not now."""
        return self.fits is False and (self.limit_bytes is None or self.total <= self.limit_bytes)

    def within(self, limit_bytes: int | None, free_bytes: int | None = None) -> DeviceMemory:
        """The same on a device with this limit, of which so much is free."""
        return replace(self, limit_bytes=limit_bytes, free_bytes=free_bytes)


def with_total(memory: DeviceMemory, total: int, words: str) -> DeviceMemory:
    """`memory` with its total, and in `other` what of that is in no other part; `words` says what it is."""
    known = sum(part.bytes for name, part in memory.parts if name != "other")
    rest = Part(max(0, total - known), words if total > known else "nothing at the fullest moment")
    return replace(memory, other=rest, total=total, total_formula=_sum(known, total))


def measured_too(memory: DeviceMemory, factor: float | None) -> DeviceMemory:
    """`memory` saying that what a step holds of it was corrected by a measured step, if it was (`factor`)."""
    if factor is None:
        return memory
    words = f"{memory.total_formula}; corrected by a measured step, which held {factor:.2f} × what was predicted"
    return replace(memory, total_formula=words)


def counted(count: int, things: str, size: int) -> str:
    """`335,114 parameters × 4 B`, where so many things make up `size` bytes evenly; else their number and the bytes."""
    if count and size % count == 0:
        return f"{count:,} {things} × {size // count} B"
    return f"{count:,} {things}: {size:,} B"


def per_sample(size: int, batch: int) -> str:
    """`3,072 B a sample × 32 samples`."""
    return f"{size:,} B a sample × {batch:,} sample{'' if batch == 1 else 's'}"


def _sum(known: int, total: int) -> str:
    if total >= known:
        return "weights + gradients + slots + activations + other"
    return f"the most at once: {known - total:,} B less than the sum, because gradients come while activations go"
