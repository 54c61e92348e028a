"""Bounds of tiles: no block of a tile holds less or more, and they decide no placement."""

from __future__ import annotations

import brute_force
import numpy as np
import pytest
from long_proofs import examples
from made_graphs import model_of, with_kernels, work_on

from gpu_studio.placement import block_amounts, block_fit
from gpu_studio.placement.block_amounts import BlockSet
from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.search import OBJECTIVES, placements
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.placement.work import Device, Work

MODELS = examples(200)
ROUNDED = 1e-12


def works(seed: int) -> list[tuple[Work, list[Device]]]:
    """A chain, a graph, and one of which all is known, each with devices."""
    random = np.random.default_rng(seed)
    found = []
    for chain in (True, False):
        work = brute_force.random_work(random, chain=chain, layers=int(random.integers(2, 30)))
        found.append((work, brute_force.random_devices(random, work)))
    names = [f"{'CPU' if random.random() < 0.2 else 'GPU'}:{place}" for place in range(3)]
    made = [Device(name, None, 1e8 * (1 + random.random())) for name in names]
    model = with_kernels(model_of(random), random)
    work = work_on(model, made, int(random.integers(1, 200)), random)
    limits = brute_force.random_devices(random, work)
    return [
        *found,
        (work, [Device(a.name, b.limit, a.bandwidth) for a, b in zip(made, limits, strict=True)]),
    ]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("tile", [2, 5])
def test_that_no_block_of_a_tile_holds_less_or_more_than_its_bounds(
    tile: int, recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_amounts, "TILE", tile)
    for seed in range(MODELS):
        for work, devices in works(seed):
            layers, count = len(work.names), 1 + seed % 9
            memory = BlockMemory(work, at_once(len(devices)), recompute)
            every = BlockSet.of_rows(range(layers + 1), layers)
            for turns in {0, 1, min(2, count), min(4, count)}:
                held = memory.held(count, every, turns=turns)
                low, high = (
                    _of_blocks(bound, tile, layers) for bound in memory.bounds(count, turns=turns)
                )
                # Tiles on the diagonal have places without a block.
                whole = every.ends // tile > every.begins // tile
                assert (low <= held * (1 + ROUNDED))[whole].all()
                assert (high >= held * (1 - ROUNDED))[~every.nowhere].all()


def _of_blocks(bound: np.ndarray, tile: int, layers: int) -> np.ndarray:
    """The bound of each block's tile, as a table of blocks."""
    return np.repeat(np.repeat(bound, tile, axis=0), tile, axis=1)[: layers + 1, : layers + 1]


@pytest.mark.slow
@pytest.mark.parametrize("recompute", [False, True])
def test_that_the_same_placements_are_found_whatever_the_tiles(
    recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(MODELS):
        for work, devices in works(seed):
            found = []
            for tile in (1, 3, 64):
                for module in (block_amounts, block_fit):
                    monkeypatch.setattr(module, "TILE", tile)
                found.append(
                    [
                        placements(work, devices, objective, (1, 4), recompute=recompute)
                        for objective in OBJECTIVES
                    ]
                )
            assert all(each == found[0] for each in found)
