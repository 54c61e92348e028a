"""A placed model: what overlapping its stages brings, and what the strategy costs where nothing is moved.

A tower of equal layers in stages, one core a stage: an operation has one thread. Naive placement, as tutorials teach
it, computes everything on the first device, here on one core with one operation at a time. The same placement with the
batch in one piece is the second reference: its stages work in turn, so that with a core for each of them one core works
at a time. Given all cores TensorFlow runs operations of one backward pass side by side even then: the third reference.
All layers on one device are held against the strategy `none`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from measuring import Budget, Row, compare
from training import CASES, pace, plan_of
from workplace import Workplace

from gpu_studio.plan import Carve, Checkpoint, Data, Devices, Distribution, Model, Placed, Plan, Training

WIDTH, DEPTH, BATCH, STEPS = 1024, 8, 4096, 4
OVER_NAIVE, OVER_ONE_PIECE, ON_ONE = Budget("at least", 1.8), Budget("at least", 1.0), Budget("at least", 0.95)
ONE_CORE = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
ONE_CORE_A_STAGE = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "4"}


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Overlap of two stages and of four, and the price of the strategy on one device, in samples a second."""
    for stages, parts in ((2, 4), (2, 8), (4, 8)):
        what = f"placed, {stages} stages, {parts} micro-batches"
        measure = partial(pace, place, _tower(stages, parts), min, **ONE_CORE_A_STAGE)
        if stages == 2:
            naive = partial(pace, place, _tower(1, 1), min, **ONE_CORE)
            yield compare(what, measure, "naive placement", naive, "samples/s", OVER_NAIVE, times)
            in_turn = partial(pace, place, _tower(stages, 1), min, **ONE_CORE)
            yield compare(what, measure, "1 micro-batch, a core a stage", in_turn, "samples/s", OVER_NAIVE, times)
        whole = partial(pace, place, _tower(stages, 1), min, **ONE_CORE_A_STAGE)
        yield compare(what, measure, "1 micro-batch", whole, "samples/s", OVER_ONE_PIECE, times)
    for case in CASES:
        if case.strategy == "none":
            plain = plan_of(case)
            placed = replace(plain, distribution=Distribution(strategy="placed"))
            measure, reference = partial(pace, place, placed, min), partial(pace, place, plain, min)
            yield compare(f"{case.model}, placed on one", measure, "none", reference, "samples/s", ON_ONE, times)


def _tower(stages: int, parts: int) -> Plan:
    names = [f"dense_{number}" if number else "dense" for number in range(DEPTH)]
    layers = {name: (f"CPU:{number * stages // DEPTH}",) for number, name in enumerate(names)}
    return Plan(
        name=f"bench {stages} stages {parts} micro-batches",
        devices=Devices(carve=(Carve("CPU:0", (0,) * stages),)),
        model=Model(name="mlp", options={"hidden": [WIDTH] * DEPTH}),
        data=Data(
            name="synthetic",
            options={"shape": [WIDTH], "classes": 10, "samples": STEPS * BATCH},
            validation_fraction=0.0,
            test_fraction=0.0,
        ),
        training=Training(epochs=4, batch_size=BATCH, optimizer="sgd", checkpoint=Checkpoint(every_epochs=0)),
        distribution=Distribution(strategy="placed", placed=Placed(parts, layers)),
    )
