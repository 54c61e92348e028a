"""The user's actions on a card's slices, by mouse, keyboard or button, as the resulting carve."""

from __future__ import annotations

from gpu_studio.common.figures import whole_mib
from gpu_studio.plan.carving import CardSlices, Carved
from gpu_studio.plan.rules.device_rules import LEAST_MIB, MOST_SLICES
from gpu_studio.ui.plan.carving.strips import Track

NUDGE_MIB, FINE_MIB, COARSE_MIB = 64, 1, 1024


def dragged(before: Track, after: Track, index: int) -> Carved:
    """The end of a slice, where it was released."""
    return Carved(before.device, after.cut, f"resize {before.name(index)}")


def resized(track: Track, index: int, size: int) -> Carved:
    """Give a slice the typed size, even if it does not fit.

    0 makes a card's only slice the whole card.
    """
    cut = (
        track.cut.with_size(index, size)
        if size or len(track.sizes) > 1
        else track.cut.without(index)
    )
    return Carved(
        track.device, cut, f"resize {track.name(index)}", f"devices.carve.{track.device}.{index}"
    )


def nudged(track: Track, index: int, by: int) -> Carved:
    """Move the end of a slice by this many MiB.

    Successive nudges of one end are one undo step.
    """
    moved = track.with_end(index, track.cut.sizes[index] + by)
    return Carved(
        track.device,
        moved.cut,
        f"resize {track.name(index)}",
        f"devices.carve.{track.device}.end{index}",
    )


def split(track: Track, index: int) -> Carved:
    """A slice cut in two."""
    return Carved(track.device, _to_divide(track).halved(index), f"split {track.name(index)}")


def _to_divide(track: Track) -> CardSlices:
    """The slices; of a whole card what it has free but for what a process takes besides slices.

    A card that is too small for that is divided whole.
    """
    size = track.cut.sizes[0] - track.beside
    return track.cut if track.sizes or size < 2 * LEAST_MIB else CardSlices.of((size,))


def merged(track: Track, index: int) -> Carved:
    """A slice and the next as one."""
    names = f"{track.name(index)} and {track.name(index + 1)}"
    return Carved(track.device, track.cut.merged(index), f"merge {names}")


def removed(track: Track, index: int) -> Carved:
    """Return a slice's memory to the free part of the card.

    Without slices the card is whole.
    """
    return Carved(track.device, track.cut.without(index), f"remove {track.name(index)}")


def added(track: Track) -> Carved:
    """Add a slice."""
    cut = _to_divide(track)
    cut = cut.with_another(track.capacity, track.beside) if track.sizes else cut.halved(0)
    return Carved(track.device, cut, f"add a slice to {track.physical}")


def equalised(track: Track) -> Carved:
    """Make all slices equally large."""
    return Carved(track.device, track.cut.equalised(), f"equal slices of {track.physical}")


def why_not_nudge(track: Track, index: int, by: int) -> str:
    """Why the end of a slice cannot be moved by so many MiB; empty if it can."""
    if track.with_end(index, track.cut.sizes[index] + by).cut != track.cut:
        return _unknown(track)
    return f"{track.name(index)} cannot be {'larger' if by > 0 else 'smaller'}"


def why_not_split(track: Track, index: int) -> str:
    """Why a slice cannot be cut in two; empty if it can."""
    return _unknown(track) or _full(track) or _small(track.cut.sizes[index], track.name(index))


def why_not_merge(track: Track, index: int) -> str:
    """Why a slice cannot be merged with the next; empty if it can."""
    return "" if index + 1 < len(track.sizes) else f"No slice comes after {track.name(index)}"


def why_not_remove(track: Track) -> str:
    """Why no slice can be removed; empty if one can."""
    return "" if track.sizes else f"{track.physical} is whole already"


def why_not_add(track: Track) -> str:
    """Why no slice can be added; empty if one can."""
    return _unknown(track) or _full(track) or _small(max(track.cut.sizes), "the largest slice")


def why_not_equalise(track: Track) -> str:
    """Why the slices cannot be made equal; empty if they can."""
    if len(track.sizes) < 2:
        return f"{track.physical} has no two slices"
    return "The slices are equal already" if len(set(track.sizes)) == 1 else ""


def _unknown(track: Track) -> str:
    if track.total or track.sizes:
        return ""
    return f"How much memory {track.physical} has is not known: type the size of a slice"


def _full(track: Track) -> str:
    return f"A device has at most {MOST_SLICES} slices" if len(track.sizes) >= MOST_SLICES else ""


def _small(size: int, name: str) -> str:
    if size >= 2 * LEAST_MIB:
        return ""
    return f"{name} has {whole_mib(size)}, too few for two slices"
