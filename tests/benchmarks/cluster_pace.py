"""Several workers on this machine against a bare TensorFlow loop of as many, and one process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from measuring import Budget, Row, compare
from training import BATCH, Case, pace, plan_of
from workplace import Workplace

from gpu_studio.plan import Distribution, Plan
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.devices import CPU
from gpu_studio.plan.values import Carve

WORKERS = 2
SAMPLES = 20_480
BARE = Budget("at least", 0.9)
STEP_S = 0.05
CONTROL = Budget("at most", 0.02)
ONE = Budget("at least", 0.0)
"""Only told: what communication takes depends on the machine's way between processes."""


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Samples a second, with all telemetry."""
    plan, what = _plan(), f"training, mlp, {WORKERS} workers"
    measure = partial(pace, place, plan)
    reference = partial(_bare_pace, place)
    yield compare(what, measure, "a bare loop", reference, "samples/s", BARE, times)
    mirrored = replace(
        plan,
        distribution=Distribution("mirrored"),
        cluster=None,
        devices=replace(plan.devices, carve=(Carve(CPU, (0,) * WORKERS),)),
    )
    one = partial(pace, place, mirrored)
    yield compare(what, measure, "mirrored, one process", one, "samples/s", ONE, times)
    yield from _control(place, times)


def _control(place: Workplace, times: int) -> Iterator[Row]:
    """What a step costs in messages to the supervisor and in agreements of all workers."""
    found = [place.program("control_messages.py", str(WORKERS), str(STEP_S)) for _ in range(times)]
    told = tuple(float(each["messages"]) for each in found)
    agreed = tuple(float(each["agreements"]) for each in found)
    both = tuple(map(sum, zip(told, agreed, strict=True)))
    reference = f"a step of {STEP_S * 1000:.0f} ms"
    for what, seconds in (("messages and agreements", both), ("messages alone", told)):
        yield Row(f"control, {what}", reference, "s", CONTROL, seconds, (STEP_S,))


def _plan() -> Plan:
    plan = plan_of(Case("mlp", "none", SAMPLES))
    cluster = Cluster(workers=WORKERS, trusted_network=True)
    return replace(
        plan,
        name="bench workers",
        devices=replace(plan.devices, visible=(CPU,)),
        distribution=Distribution("multi_worker"),
        cluster=cluster,
    )


def _bare_pace(place: Workplace) -> float:
    found = place.program("bare_workers.py", str(WORKERS), str(SAMPLES), str(BATCH))
    return float(found["samples_per_second"])
