"""A card as a bar to carve: what is taken, its successive slices, and what is free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from gpu_studio.common.figures import size_from_mib, whole_mib
from gpu_studio.plan import Card
from gpu_studio.plan.card_memory import OUTSIDE_MIB
from gpu_studio.plan.carving import CardSlices, capacity_mib
from gpu_studio.plan.machine import title_of


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the bar, `size` wide in any unit.

    `place` gives its colour; without one it is free. A `bad` segment is hatched in the error
    colour.
    """

    size: float
    title: str
    caption: str = ""
    place: int | None = None
    hatched: bool = False
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Overflow:
    """The part of a bar beyond the card's end.

    `bad` means more than the card has, otherwise more than is free.
    """

    begin: float
    size: float
    text: str
    bad: bool


@dataclass(frozen=True, slots=True)
class Track:
    """One card, all in MiB.

    `total` is 0 if unknown; `capacity` is what slices can have by moving their ends. `first` is the
    number of the card's first logical device; `places` give its slices their colours, and `title`
    is the card's name for the user. Without `sizes` it is whole. The bar is at least `stretch`
    long, so that it keeps its scale while an end is dragged.
    """

    device: str
    total: int = 0
    reserved: int = 0
    used: int = 0
    capacity: int = 0
    first: int = 0
    sizes: tuple[int, ...] = ()
    grows: bool = False
    stretch: int = 0
    title: str = ""
    places: tuple[int, ...] = ()

    @property
    def taken(self) -> int:
        """The memory of the card that the driver and other programs hold now."""
        return self.reserved + self.used

    @property
    def cut(self) -> CardSlices:
        """The slices; a whole card is a single one."""
        return CardSlices.of(self.sizes or (max(1, self.total - self.taken),))

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each slice ends, from the start of the bar."""
        return tuple(accumulate(self.cut.sizes, initial=self.taken))[1:]

    @property
    def length(self) -> int:
        """The length of the bar: the card, or its contents if they are larger."""
        return max(self.total, self.ends[-1], self.stretch, 1)

    @property
    def movable_ends(self) -> tuple[int, ...]:
        """The ends that can be dragged: all but the last one if the card's memory is unknown."""
        return self.ends if self.total else self.ends[:-1]

    def name(self, index: int) -> str:
        """The logical device of a slice."""
        return f"GPU:{self.first + index}"

    def place(self, index: int) -> int:
        """The number that gives a slice its colour."""
        return self.places[index] if index < len(self.places) else self.first + index

    @property
    def physical(self) -> str:
        """The card's name for the user."""
        return self.title or title_of(self.device)

    def start(self, index: int) -> int:
        """Where a slice begins, from the start of the bar."""
        return self.ends[index] - self.cut.sizes[index]

    def with_end(self, index: int, size: int) -> Track:
        """Move the end of a slice until the slice has this size, or as near to it as possible."""
        return replace(
            self, sizes=self.cut.with_end(index, size, self.capacity).sizes, stretch=self.length
        )

    def sized(self, index: int) -> str:
        """A slice with its exact size: `GPU:1 16,384 MiB`."""
        return f"{self.name(index)} {whole_mib(self.cut.sizes[index])}"


def track_of(
    card: Card, sizes: tuple[int, ...], first: int, colours: tuple[int, ...] = (), *, grows: bool
) -> Track:
    """The track of a card that TensorFlow may see; `colours` are the places of its slices."""
    total = card.total_mib or 0
    capacity = capacity_mib(card)
    return Track(
        card.device,
        total,
        card.reserved_mib,
        card.used_mib or 0,
        sum(sizes) if capacity is None else capacity,
        first,
        sizes,
        grows,
        title=card.title,
        places=colours,
    )


def segments_of(track: Track) -> tuple[Segment, ...]:
    """The parts of the bar, from left to right."""
    others = (
        (Segment(track.taken, "in use now", size_from_mib(track.taken), hatched=True),)
        if track.taken
        else ()
    )
    if not track.sizes:
        caption = "grows as needed" if track.grows else "all that is free"
        return (*others, Segment(track.cut.sizes[0], track.name(0), caption, track.place(0)))
    slices = tuple(
        Segment(max(0, size), track.name(index), size_from_mib(size), track.place(index))
        for index, size in enumerate(track.sizes)
    )
    free = track.total - track.ends[-1]
    beyond = track.length - max(track.total, track.ends[-1])
    rest = (Segment(free, "", f"{size_from_mib(free)} free"), Segment(beyond, ""))
    return (*others, *slices, *(part for part in rest if part.size > 0))


def overflow_of(track: Track) -> Overflow | None:
    """The part beyond the card's end; None if there is none, or the card's memory is unknown."""
    over = track.ends[-1] - track.total
    if not track.sizes or not track.total or over <= 0:
        return None
    beyond = sum(track.sizes) - (track.total - track.reserved)
    if beyond > 0:
        return Overflow(track.total, over, f"{size_from_mib(beyond)} too many", bad=True)
    return Overflow(track.total, over, f"{size_from_mib(over)} in use now", bad=False)


def caution_of(track: Track) -> str:
    """A warning about what is allowed and may still fail; empty if nothing is."""
    free = track.total - track.ends[-1]
    if not track.sizes or not track.total:
        return ""
    if free < 0:
        return (
            f"{size_from_mib(-free)} of this is in use by other programs now, which must end first"
        )
    if free < OUTSIDE_MIB:
        needed, left = size_from_mib(OUTSIDE_MIB), size_from_mib(free)
        return f"CUDA itself needs about {needed} besides the slices, and {left} are left"
    return ""
