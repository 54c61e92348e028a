"""The largest batch that fits: which sizes are tried, in which order, and what is found.

What is predicted to fit is tried first. What runs, or does not, is a fact; the prediction only says
where to begin, and stands alone where a failure would harm more than the process that tries.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from gpu_studio.common.figures import grouped, size
from gpu_studio.plan import Problem, inline, listed, printable, shown, with_kind

_LARGEST: Final = 1 << 24
_OF_A_DOUBLING: Final = 4
"""From one size to the next it is a quarter more at most: predictions are not much finer."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class LargestBatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was found about some `devices`, which train together, and others just `like` each.

    `batch` is the plan's `training.batch_size`, 0 if none fits; it ran, `by_xla` if that compiled
    the steps, and each device held up to `held` bytes of its `limit` (0: not known). `above` is the
    next size up, 0 if there is none; `why_not` says, as the end of a sentence, why it is not
    larger. `failed` are sizes that were predicted to fit, and found no memory.
    """

    devices: tuple[str, ...]
    batch: Count
    above: Count = 0
    why_not: str = ""
    like: tuple[str, ...] = ()
    held: Count = 0
    limit: Count = 0
    failed: tuple[Count, ...] = ()
    by_xla: bool = False


@dataclass(frozen=True, slots=True)
class FoundSize:
    """The largest size that runs, 0 if none does, and the next; and which of them were tried."""

    batch: int
    above: int
    ran: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


def read_largest(tables: Any, found: list[Problem]) -> tuple[LargestBatch, ...]:
    """What the tables `largest` of a study say; what is wrong with them is added to `found`."""
    if not isinstance(tables, list):
        found.append(Problem("largest", with_kind(tables), "write [[largest]], or leave it out"))
        return ()
    read = list[LargestBatch]()
    for place, table in enumerate(tables):
        try:
            read.append(msgspec.convert(table, LargestBatch))
        except msgspec.ValidationError as error:
            advice = f"{error}: search anew with gpu-studio study new batch, or leave it out"
            found.append(Problem(f"largest[{place}]", shown(table), advice))
    return tuple(read)


def lines_of(found: LargestBatch) -> Iterator[str]:
    """The table of it in a study file, line by line."""
    yield "[[largest]]"
    for key, value in msgspec.to_builtins(found).items():
        yield f"{key} = {inline(list(value) if isinstance(value, tuple) else value)}"


def sizes_of(unit: int, most: int) -> list[int]:
    """Sizes to choose from: multiples of `unit`, four of each doubling, up to all samples."""
    found, step, at = list[int](), unit, unit
    while at <= min(most, _LARGEST):
        found.append(at)
        if at >= 2 * _OF_A_DOUBLING * step:
            step *= 2
        at += step
    all_of_them = most - most % unit
    if found and found[-1] < all_of_them <= _LARGEST:
        found.append(all_of_them)
    return found


def search(
    sizes: Sequence[int],
    fits: Callable[[int], bool],
    runs: Callable[[int], bool],
    *,
    beyond: bool,
) -> FoundSize:
    """Find the largest of the ascending `sizes` that runs, trying as few as can be.

    `fits` says what is predicted, `runs` tries it. With `beyond`, sizes are tried that are not
    predicted to fit, until one fails or there is none; else the prediction has the last word.
    """
    predicted = bisect_left(sizes, True, key=lambda each: not fits(each)) - 1
    good, bad = -1, len(sizes) if beyond else predicted + 1
    at, stride = max(0, predicted), 1
    ran, failed = list[int](), list[int]()
    while bad - good > 1:
        at = min(max(at, good + 1), bad - 1)
        it_runs = runs(sizes[at])
        (ran if it_runs else failed).append(sizes[at])
        good, bad = (at, bad) if it_runs else (good, at)
        if ran and failed:
            at = (good + bad) // 2
        else:
            at += stride if it_runs else -stride
            stride *= 2 if len(ran) + len(failed) > 1 else 1
    above = sizes[bad] if bad < len(sizes) else 0
    return FoundSize(sizes[good] if good >= 0 else 0, above, tuple(ran), tuple(failed))


def in_words(found: LargestBatch) -> str:
    """What was found, in sentences."""
    who, why_not = listed(found.devices), printable(found.why_not)
    alike = f" (and {listed(found.like)}, just like it)" if found.like else ""
    if not found.batch:
        return f"{who}{alike}: not even a batch of {grouped(found.above)} fits: {why_not}."
    held = ", compiled by XLA" if found.by_xla else ""
    held += f", and held {size(found.held)}" if found.held else ""
    held += f" of {size(found.limit)}" if found.held and found.limit else ""
    more = f"{grouped(found.above)} does not: {why_not}" if found.above else why_not
    words = f"{who}{alike}: {grouped(found.batch)} is the largest batch. It ran{held}; {more}."
    below = [each for each in found.failed if each != found.above]
    if below:
        tried = listed([grouped(each) for each in below])
        words += f" Predicted to fit, but out of memory when tried: {tried}."
    return words
