"""Cut an ordered model into stages for devices in a row, so that a pipelined step takes the least time.

    minimise  Σ_k cost_k + (M - 1) · max_k t_k

where t_k is the time of stage k for one micro-batch, and cost_k that time with what it takes to send it its input.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpu_studio.placement.narrowing import least_total
from gpu_studio.placement.stages import STRICTLY, Line, Partition, least_longest, partition_of, within


def minimise(lines: Sequence[Line], micro_batches: int, known: tuple[int, ...] | None = None) -> Partition | None:
    """The best partition; None if there is room for none. One with the ends `known` may be near the best."""
    loosest = within(lines, np.inf)
    if loosest is None or micro_batches == 1:
        return loosest
    floor = least_longest([line.clock for line in lines], [line.sent.first for line in lines])
    some = [loosest, within(lines, floor / STRICTLY)]
    if known is not None:
        some.append(partition_of(lines, known))
    best = min((each for each in some if each is not None), key=lambda each: each.total(micro_batches))
    # All cost as much as the loosest, or more: those with a longer stage than this cannot be better.
    high = (best.total(micro_batches) - loosest.cost) / (micro_batches - 1)
    low = floor * STRICTLY
    return best if high < low else least_total(lines, micro_batches, best, low, high)
