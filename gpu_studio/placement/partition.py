"""Cut an ordered model into stages for devices in a row, so that a pipelined step takes the least time.

    minimise  Σ_k cost_k + (M - 1) · max_k t_k

where t_k is the time of stage k for one micro-batch, and cost_k that time with what it takes to send it its input.
"""

from __future__ import annotations

import numpy as np

from gpu_studio.placement.narrowing import least_total
from gpu_studio.placement.stages import STRICTLY, Partition, Tables, least_longest, within

ABOVE_EVEN = 1.2
"""The greatest stage time that is tried first, over that of stages that divide the work evenly: near the best of most
models, and so short that most blocks need not be looked at again."""


def minimise(tables: Tables, micro_batches: int) -> Partition | None:
    """The best partition; None if the devices' limits allow none."""
    loosest = within(tables, np.inf)
    if loosest is None or micro_batches == 1:
        return loosest
    near = within(tables, ABOVE_EVEN * _even(tables)) or loosest
    floor = least_longest(tables, near.longest)
    tightest = within(tables, floor / STRICTLY) or near
    best = min((loosest, near, tightest), key=lambda each: each.total(micro_batches))
    # All cost as much as the loosest, or more: those with a longer stage than this cannot be better.
    high = (best.total(micro_batches) - loosest.cost) / (micro_batches - 1)
    return best if high < floor else least_total(tables, micro_batches, best, floor, high)


def _even(tables: Tables) -> float:
    """The time of each stage if the work could be cut anywhere."""
    wholes = [float(seconds[-1, -1]) for seconds in tables.seconds]
    return 1 / sum(1 / whole for whole in wholes) if all(wholes) else 0.0
