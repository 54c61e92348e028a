"""Two reference partitions of a sequence: torchgpipe's balancing, and the optimum by bisection."""

from __future__ import annotations

from collections.abc import Sequence


def bottleneck(costs: Sequence[float], ends: Sequence[int]) -> float:
    """The cost of the costliest block."""
    return max(sum(costs[begin:end]) for begin, end in zip((0, *ends), ends, strict=False))


def barany_grinberg(costs: Sequence[float], blocks: int) -> list[int]:
    """The ends of blocks whose costs differ by one element at most.

    After Bárány and Grinberg 2013, section 3.

    As torchgpipe's `balance.blockpartition.solve` does, the elements are first stretched to 0 … 1,
    which shifts the balance; of blocks of one size the last is held for the largest, and the first
    for the smallest."""
    least, span = min(costs), max(costs) - min(costs) or 1.0
    stretched = [(cost - least) / span for cost in costs]
    ends = [len(costs) // blocks * (block + 1) for block in range(blocks - 1)] + [len(costs)]
    while _differ(sizes := _sizes(stretched, ends)):
        largest = max(range(blocks), key=lambda block: (sizes[block], block))
        while _differ(sizes := _sizes(stretched, ends)):
            smallest = sizes.index(min(sizes))
            giver = smallest - 1 if largest < smallest else smallest + 1
            ends[min(giver, smallest)] += -1 if giver < smallest else 1
            if giver == largest:
                break
    return ends


def _sizes(costs: Sequence[float], ends: Sequence[int]) -> list[float]:
    return [sum(costs[begin:end]) for begin, end in zip((0, *ends), ends, strict=False)]


def _differ(sizes: Sequence[float]) -> bool:
    return max(sizes) > min(sizes) + 1


def least_bottleneck(costs: Sequence[float], blocks: int) -> float:
    """The least that the costliest of so many blocks can cost.

    Filling greedily up to a bound that is bisected.
    """
    low, high = max(costs), sum(costs)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _blocks_needed(costs, middle) <= blocks else (middle, high)
    return high


def _blocks_needed(costs: Sequence[float], most: float) -> int:
    count, filled = 1, 0.0
    for cost in costs:
        if filled + cost > most:
            count, filled = count + 1, 0.0
        filled += cost
    return count
