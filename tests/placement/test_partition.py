from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from block_partition import barany_grinberg, bottleneck, least_bottleneck

from gpu_studio.placement.blocks import before
from gpu_studio.placement.search import minimise
from gpu_studio.placement.stages import DeviceStages, SentBytes, least_longest, within

CHAINS = 400
NEVER_LESS = 1 - 1e-9


def chains() -> list[tuple[list[float], int]]:
    """Layers as unlike as those of real models are: a few cost a hundred times what the many do."""
    random = np.random.default_rng(20)
    made = []
    for _ in range(CHAINS):
        blocks = int(random.integers(2, 9))
        costs = np.exp(random.normal(0.0, 1.2, int(random.integers(blocks, 65))))
        made.append((costs.tolist(), blocks))
    return made


def line(costs: list[float], sent: float = 0.0) -> DeviceStages:
    """A device on which layers take so long, and every stage is sent as much."""
    return DeviceStages(
        before(np.array(costs)), SentBytes(np.full((len(costs) + 1,) * 2, sent)), 1.0
    )


@pytest.mark.slow
def test_that_the_longest_stage_is_as_short_as_can_be_where_torchgpipes_is_not() -> None:
    ours, theirs = [], []
    for costs, blocks in chains():
        best = least_bottleneck(costs, blocks)
        lines = [line(costs)] * blocks
        # So many micro-batches that the longest stage is all that counts.
        found = minimise(lines, 1_000_000)
        assert found is not None
        assert bottleneck(costs, found.ends) == pytest.approx(found.longest, rel=1e-9)
        assert least_longest([each.clock for each in lines]) == pytest.approx(best, rel=1e-9)
        ours.append(found.longest / best)
        theirs.append(bottleneck(costs, barany_grinberg(costs, blocks)) / best)
    assert max(ours) == pytest.approx(1.0, abs=1e-9)
    assert min(theirs) > NEVER_LESS
    assert median(theirs) > 1.1
    assert max(theirs) > 1.5


def test_that_a_device_may_be_left_out() -> None:
    slow, fast = line([9.0, 9.0]), line([1.0, 1.0])
    found = minimise([slow, fast, slow], 2)
    assert found is not None
    assert found.ends == (0, 2, 2)
    assert found.total(2) == 4.0


def test_that_no_partition_is_none() -> None:
    assert minimise([line([1.0, 1.0], np.inf)], 4) is None
    assert within([line([1.0, 1.0])], 0.5) is None
