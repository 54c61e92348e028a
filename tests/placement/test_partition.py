from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from block_partition import barany_grinberg, bottleneck, least_bottleneck

from gpu_studio.placement.blocks import incoming, sums
from gpu_studio.placement.partition import minimise
from gpu_studio.placement.stages import Tables, least_longest, within

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


def alike(costs: list[float], blocks: int) -> Tables:
    table = sums(np.array(costs))
    return Tables([table] * blocks, [table] * blocks)


def test_that_the_longest_stage_is_as_short_as_can_be_where_torchgpipes_is_not() -> None:
    ours, theirs = [], []
    for costs, blocks in chains():
        best = least_bottleneck(costs, blocks)
        tables = alike(costs, blocks)
        # So many micro-batches that the longest stage is all that counts.
        found = minimise(tables, 1_000_000)
        assert found is not None
        assert bottleneck(costs, found.ends) == pytest.approx(found.longest, rel=1e-9)
        assert least_longest(tables) == pytest.approx(best, rel=1e-9)
        ours.append(found.longest / best)
        theirs.append(bottleneck(costs, barany_grinberg(costs, blocks)) / best)
    assert max(ours) == pytest.approx(1.0, abs=1e-9)
    assert min(theirs) > NEVER_LESS
    assert median(theirs) > 1.1
    assert max(theirs) > 1.5


def test_that_a_device_may_be_left_out() -> None:
    slow, fast = sums(np.array([9.0, 9.0])), sums(np.array([1.0, 1.0]))
    found = minimise(Tables([slow, fast, slow], [slow, fast, slow]), 2)
    assert found is not None
    assert found.ends == (0, 2, 2)
    assert found.total(2) == 4.0


def test_that_no_partition_is_none() -> None:
    nowhere = np.full((2, 2), np.inf)
    assert minimise(Tables([sums(np.ones(2))], [nowhere]), 4) is None
    assert within(Tables([sums(np.ones(2))], [sums(np.ones(2))]), 0.5) is None


def test_that_a_tensor_enters_a_block_once_however_many_layers_want_it() -> None:
    # Layer 0 feeds 1, 2 and 3; layer 1 feeds 3.
    table = incoming([(), (0,), (0,), (1, 0)], np.array([10.0, 1.0, 7.0, 7.0]))
    assert table[3, 1] == 11.0  # layers 2 and 3
    assert table[2, 1] == 10.0  # layers 1 and 2
    assert table[3, 2] == 10.0  # layers 1 to 3
    assert table[3, 3] == 0.0  # all
    assert np.isinf(table[1, 2])
