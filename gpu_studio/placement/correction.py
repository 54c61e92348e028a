"""Correct the predicted memory of steps by one measured step.

The temporary memory of operations and the order in which they run are up to TensorFlow: the
prediction models its executor as far as that is known (`liveness`). The ratio of the measured to
the predicted memory therefore becomes a factor on everything that a step holds besides weights and
slots, which are exact; it applies to other batches too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from gpu_studio.placement.plan_facts import ModelFacts, ModelGraph, PlanFacts
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory


@dataclass(frozen=True, slots=True)
class MeasuredPeak:
    """The peak of a real step of `batch` samples on a device: bytes besides weights and slots."""

    batch: int
    bytes: int


def held_in(answer: Mapping[str, Any]) -> dict[str, MeasuredPeak]:
    """The measured peaks in a trainer's answer, by device; empty if nothing was measured.

    Raises ValueError if it is not such an answer.
    """
    return msgspec.convert(answer.get("held", {}), dict[str, MeasuredPeak], strict=False)


def corrected(facts: PlanFacts, held: Mapping[str, MeasuredPeak]) -> PlanFacts:
    """The facts with a model whose steps hold what was measured."""
    return (
        facts if facts.model is None else replace(facts, model=corrected_model(facts.model, held))
    )


def corrected_model(model: ModelFacts, held: Mapping[str, MeasuredPeak]) -> ModelFacts:
    """The model with measured step memory; an earlier correction is replaced."""
    factors = factors_of(model, held)
    return _corrected(model, factors) if factors else model


def factors_of(model: ModelFacts, held: Mapping[str, MeasuredPeak]) -> dict[str, float]:
    """Measured over predicted, by kind of device ("CPU", "GPU").

    The largest of several of a kind.
    """
    found: dict[str, float] = {}
    for device, measured in held.items():
        kind = device.partition(":")[0]
        foreseen = model.steps.get(kind, StepMemory()).peak(measured.batch) / model.corrections.get(
            kind, 1.0
        )
        if foreseen > 0 and measured.bytes > 0:
            found[kind] = max(found.get(kind, 0.0), measured.bytes / foreseen)
    return found


def _corrected(model: ModelFacts, factors: Mapping[str, float]) -> ModelFacts:
    before = model.corrections
    known = {**before, **factors}
    steps = {
        name: _scaled(step, known.get(kind, 1.0) / before.get(kind, 1.0))
        for name, step in model.steps.items()
        for kind in (name.partition(":")[0],)
    }
    # A layer keeps the same on each kind of device, as far as is known: the larger factor is safe.
    kept = max(known.values()) / max(before.values(), default=1.0)
    return replace(model, steps=steps, graph=_keeping(model.graph, kept), corrections=known)


def _scaled(step: StepMemory, factor: float) -> StepMemory:
    moments = tuple(_moment(moment, factor) for moment in step.moments)
    splits = tuple(replace(each, margin=each.margin * factor) for each in step.splits)
    return replace(step, moments=moments, splits=splits)


def _moment(moment: MemoryMoment, factor: float) -> MemoryMoment:
    fixed, per_sample = round(moment.fixed * factor), round(moment.per_sample * factor)
    return replace(moment, fixed=fixed, per_sample=per_sample, kept=round(moment.kept * factor))


def _keeping(graph: ModelGraph | None, factor: float) -> ModelGraph | None:
    if graph is None:
        return None
    layers = tuple(
        replace(layer, kept_bytes=round(layer.kept_bytes * factor)) for layer in graph.layers
    )
    return replace(graph, layers=layers)
