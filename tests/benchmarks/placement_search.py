"""*Place for me* in a large model: 1,000 layers with skips on eight devices in 0.2 s, and nothing left to chance.

Devices are alike, or of unlike speed with memory limits that bind, which is what takes longest. What is found is the
optimum; that it is, tests show.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import Budget, Row
from workplace import BenchmarkError, Workplace

from gpu_studio.placement.search import OBJECTIVES, Found, Objective, place
from gpu_studio.placement.work import Device, Work

LAYERS, DEVICES, MICRO_BATCHES, BATCH = 1000, 8, 8, 64
ALLOWED_MS = 200.0
BUDGET = Budget("at most", 1.0)


def rows(_place: Workplace, times: int) -> Iterator[Row]:
    """A row for each objective on devices alike and unlike, and one with recomputation, in milliseconds."""
    for unlike in (False, True):
        for objective in OBJECTIVES:
            yield _row(objective, times, unlike=unlike)
    yield _row("fastest", times, unlike=True, recompute=True)


def _row(objective: Objective, times: int, *, unlike: bool, recompute: bool = False) -> Row:
    taken = []
    for seed in range(2 * times + 1):
        work, devices = _made(seed, unlike=unlike)
        begin = time.perf_counter()
        found = place(work, devices, objective, [MICRO_BATCHES], recompute=recompute)
        taken.append(1e3 * (time.perf_counter() - begin))
        if not isinstance(found, Found):
            raise BenchmarkError("There is no room for the made model: give its devices larger limits.")
    kind = "unlike devices with limits" if unlike else "devices alike"
    what = f"place {LAYERS:,} layers, {kind}, {objective.replace('_', ' ')}{', recomputed' if recompute else ''}"
    return Row(what, "what is allowed", "ms", BUDGET, tuple(taken), (ALLOWED_MS,) * len(taken))


def _made(seed: int, *, unlike: bool) -> tuple[Work, list[Device]]:
    """Layers as unlike as those of real models, a third of which take the output of one far before too."""
    random = np.random.default_rng(seed)
    seconds = np.exp(random.normal(0.0, 1.2, LAYERS)) * 1e-4
    speeds = 1 + 2 * random.random(DEVICES) if unlike else np.ones(DEVICES)
    skips = [
        int(random.integers(0, max(1, layer))) if random.random() < 1 / 3 else layer - 1 for layer in range(LAYERS)
    ]
    inputs = tuple(tuple(sorted({layer - 1, skips[layer]})) if layer else () for layer in range(LAYERS))
    activations, gradients = (random.integers(0, 1 << 16, LAYERS).astype(float) for _ in range(2))
    state, nothing = 4 * gradients, np.zeros((DEVICES, LAYERS))
    work = Work(
        tuple(f"layer_{place}" for place in range(LAYERS)),
        inputs,
        fixed=nothing,
        per_sample=speeds[:, None] * seconds / BATCH,
        update=nothing,
        forward_share=np.full(LAYERS, 1 / 3),
        output_bytes=activations,
        kept_bytes=activations,
        passing_bytes=2 * activations,
        taken_bytes=np.zeros(LAYERS),
        state_bytes=state,
        gradient_bytes=gradients,
        batch=BATCH,
    )
    whole = float((state + BATCH * activations).sum())
    limits = [whole * (0.15 + 0.15 * random.random()) if unlike else None for _ in range(DEVICES)]
    return work, [Device(f"GPU:{place}", limit) for place, limit in enumerate(limits)]
