"""*Place for me* for 1,000 layers on eight devices: in 0.2 s at the worst, the same every time.

The models are chains, or have skips; the devices are alike, or of unlike speed; and there are
memory limits that bind, or none. A row has one objective and one number of micro-batches, or leaves
that to the search, over all of these and several models of each; what counts is the slowest. What
is found is the optimum; that it is, tests show."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product

import numpy as np
from measuring import Budget, Row
from workplace import BenchmarkError, Workplace

from gpu_studio.placement.search import OBJECTIVES, Objective, placements
from gpu_studio.placement.work import Device, Work

LAYERS, DEVICES, BATCH = 1000, 8, 64
COUNTS = (1, 2, 4, 8, 16)
CHOSEN = (1, 2, 4, 8, 16, 32)
"""What is tried where the number of micro-batches is chosen."""
ALLOWED_MS, ALLOWED_CHOSEN_MS = 200.0, 400.0
BUDGET = Budget("at most", 1.0)


def rows(_place: Workplace, times: int) -> Iterator[Row]:
    """Milliseconds for each objective and number of micro-batches, some with recomputation."""
    for objective in OBJECTIVES:
        for counts in (*((count,) for count in COUNTS), CHOSEN):
            yield _row(objective, counts, times)
    for counts in ((2,), (8,), CHOSEN):
        yield _row("fastest", counts, times, recompute=True)


def _row(
    objective: Objective, counts: tuple[int, ...], times: int, *, recompute: bool = False
) -> Row:
    taken = []
    either = (False, True)
    for seed, unlike, limited, chain in product(range(times), either, either, either):
        work, devices = _made(seed, unlike=unlike, limited=limited, chain=chain)
        begin = time.perf_counter()
        found = placements(work, devices, objective, counts, recompute=recompute)
        taken.append(1e3 * (time.perf_counter() - begin))
        if isinstance(found, tuple):
            raise BenchmarkError(
                "There is no room for the made model: give its devices larger limits."
            )
    allowed = ALLOWED_MS if len(counts) == 1 else ALLOWED_CHOSEN_MS
    given = f"M = {counts[0]}" if len(counts) == 1 else "M chosen"
    what = (
        f"place {LAYERS:,} layers, {objective.replace('_', ' ')}, "
        f"{given}{', recomputed' * recompute}"
    )
    return Row(
        what, "what is allowed", "ms", BUDGET, tuple(taken), (allowed,) * len(taken), by_worst=True
    )


def _made(seed: int, *, unlike: bool, limited: bool, chain: bool) -> tuple[Work, list[Device]]:
    """Layers as unlike as those of real models.

    Where it is no chain a third take the output of one far before too.
    """
    random = np.random.default_rng(seed)
    seconds = np.exp(random.normal(0.0, 1.2, LAYERS)) * 1e-4
    speeds = 1 + 2 * random.random(DEVICES) if unlike else np.ones(DEVICES)
    skips = [
        layer - 1 if chain or random.random() > 1 / 3 else int(random.integers(0, max(1, layer)))
        for layer in range(LAYERS)
    ]
    inputs = tuple(
        tuple(sorted({layer - 1, skips[layer]})) if layer else () for layer in range(LAYERS)
    )
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
        output_kept_bytes=activations,
        passing_bytes=2 * activations,
        taken_bytes=np.zeros(LAYERS),
        state_bytes=state,
        gradient_bytes=gradients,
        batch=BATCH,
    )
    whole = float((state + BATCH * activations).sum())
    shares = 0.15 + 0.15 * (random.random(DEVICES) if unlike else np.full(DEVICES, 0.5))
    limits = [whole * share if limited else None for share in shares.tolist()]
    return work, [Device(f"GPU:{place}", limit) for place, limit in enumerate(limits)]
