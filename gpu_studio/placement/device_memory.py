"""The predicted memory of one logical device, part by part, each with its formula."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_studio.common.figures import grouped

RESERVE_MIB = 512
"""What was enough beside the prediction in all that was measured on an H100.

Ten models (digits to 48 x 48 pixels, batch 128, TensorFlow 2.21, cuDNN 9), on one device, mirrored
and placed: 0 to 431 MiB more than predicted, the most for a u-net. With 0 to 68 MiB beside the
prediction 12 of 14 runs of four of them found no memory, with 110 and 159 MiB two trained. Larger
images and batches take more, if it is there: 837 MiB on an H200 for a batch of 256 pictures of
32 x 32 pixels and up to 256 channels, where 139 GiB were free.
"""
MOST_MEASURED = "430 MiB more on an H100 and 840 MiB more on an H200"
LIMIT_VARIABLE = "TF_CUDNN_WORKSPACE_LIMIT_IN_MB"
WORKSPACES = "cuDNN's workspaces"
"""What is not in the predicted memory of a real card that computes through cuDNN."""


@dataclass(frozen=True, slots=True)
class MemoryShare:
    """A part of a device's memory: its `bytes`, and its `formula` in plain words and numbers."""

    bytes: int = 0
    formula: str = "nothing"


@dataclass(frozen=True, slots=True)
class PredictedMemory:
    """The memory of a step on one logical device.

    Each part is its own peak; `total` is the peak of all together. The parts can add up to more,
    because gradients arrive while activations are freed. `other` is the rest at the overall peak:
    the batch itself, and the temporary memory of operations. `limit_bytes` is the most that
    TensorFlow may take there: a slice's limit, or what it takes of a card that nobody else uses.
    `free_bytes` is what it could get now, besides the card's present users. Both are None on a CPU
    and where they are unknown. `without` names what is not in the total because it is not known
    beforehand, and `room_bytes` are advised for that besides; empty and 0 where there is no such.
    With `bound` the total is one which most steps do not reach.
    """

    device: str
    weights: MemoryShare = MemoryShare()
    gradients: MemoryShare = MemoryShare()
    slots: MemoryShare = MemoryShare()
    activations: MemoryShare = MemoryShare()
    other: MemoryShare = MemoryShare()
    total: int = 0
    total_formula: str = ""
    limit_bytes: int | None = None
    free_bytes: int | None = None
    without: str = ""
    room_bytes: int = 0
    bound: bool = False

    @property
    def at_most(self) -> str:
        """What is said before the total: nothing, if it is no bound."""
        return "at most " if self.bound else ""

    @property
    def parts(self) -> tuple[tuple[str, MemoryShare], ...]:
        """The parts by name, in the order in which they are shown."""
        named = ("weights", "gradients", "slots", "activations", "other")
        return tuple((name, getattr(self, name)) for name in named)

    @property
    def fits(self) -> bool | None:
        """Whether the total fits now; None if that is not known, or there is no limit.

        It is not known either where the total fits, and may lack memory for what it is `without`.
        """
        if self.usable_bytes is None or self.may_lack:
            return None
        return self.total <= self.usable_bytes

    @property
    def may_lack(self) -> bool:
        """Whether the total fits now, but not together with the advised reserve."""
        usable = self.usable_bytes
        return usable is not None and self.total <= usable < self.total + self.room_bytes

    @property
    def lacking(self) -> str:
        """The verdict in words where it may lack memory; else empty."""
        return "may lack room for cuDNN" if self.may_lack else ""

    @property
    def usable_bytes(self) -> int | None:
        """What is available now: the smaller of limit and free memory, as far as known."""
        return min(
            (each for each in (self.limit_bytes, self.free_bytes) if each is not None), default=None
        )

    @property
    def waits(self) -> bool:
        """Whether the total does not fit now, but would without the card's other users."""
        return self.fits is False and (self.limit_bytes is None or self.total <= self.limit_bytes)

    def within(self, limit_bytes: int | None, free_bytes: int | None = None) -> PredictedMemory:
        """The same on a device with this limit and this much free memory."""
        return replace(self, limit_bytes=limit_bytes, free_bytes=free_bytes)


def with_total(memory: PredictedMemory, total: int, words: str) -> PredictedMemory:
    """`memory` with its total; `other` is what no other part explains, described by `words`."""
    known = sum(part.bytes for name, part in memory.parts if name != "other")
    rest = MemoryShare(
        max(0, total - known), words if total > known else "nothing at the fullest moment"
    )
    return replace(memory, other=rest, total=total, total_formula=_sum(known, total))


def measured_too(memory: PredictedMemory, factor: float | None) -> PredictedMemory:
    """`memory`, noting that its step was corrected by a measured one, if it was (`factor`)."""
    if factor is None:
        return memory
    words = (
        f"{memory.total_formula}; corrected by a measured step, which held "
        f"{factor:.2f} × what was predicted"
    )
    return replace(memory, total_formula=words)


def up_to(memory: PredictedMemory, why: str) -> PredictedMemory:
    """`memory`, noting that its total is a bound which most steps do not reach, and why."""
    words = f"{memory.total_formula}; at most this: {why}"
    return replace(memory, total_formula=words, bound=True)


def counted(count: int, things: str, size: int) -> str:
    """`335,114 parameters × 4 B` if `size` divides evenly among them, else number and bytes."""
    if count and size % count == 0:
        return f"{grouped(count)} {things} × {size // count} B"
    return f"{grouped(count)} {things}: {grouped(size)} B"


def per_sample(size: int, batch: int) -> str:
    """`3,072 B a sample × 32 samples`."""
    return f"{grouped(size)} B a sample × {grouped(batch)} sample{'' if batch == 1 else 's'}"


def slot_words(owned: int, trainable: int, shared: int) -> str:
    """The optimizer's variables in words: those of each trainable weight, and shared ones."""
    times = (
        f"{owned / trainable:g} × {grouped(trainable)} B of trainable parameters"
        if trainable
        else f"{grouped(owned)} B"
    )
    return f"{times} + {grouped(shared)} B of counters and learning rate"


def _sum(known: int, total: int) -> str:
    if total >= known:
        return "weights + gradients + slots + activations + other"
    return (
        f"the most at once: {grouped(known - total)} B less than the sum, because "
        "gradients come while activations go"
    )
