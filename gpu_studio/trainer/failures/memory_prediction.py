"""Ask the prediction what would help a run that found no memory, before anything is offered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gpu_studio.common.figures import size
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import StateChanged
from gpu_studio.contract.failure_mends import change_to, offered
from gpu_studio.placement.memory import predict
from gpu_studio.placement.memory_remedies import MARGIN, Needs, memory_remedies
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Machine, Plan
from gpu_studio.trainer.failures.failure_context import FailureContext, found_in_frames
from gpu_studio.trainer.failures.machine_seen import machine_seen

MOST_MENDS = 6


@dataclass(frozen=True, slots=True)
class MemoryOutlook:
    """What the prediction says: the changes that help, the best first, if it is `known` at all.

    `weights_alone` is a sentence where not even a device's weights fit, else empty.
    """

    known: bool = False
    mends: tuple[SuggestedChange, ...] = ()
    weights_alone: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the plan whose change helps."""
        return tuple(mend.field for mend in self.mends)


def outlook_of(
    context: FailureContext, error: BaseException, device: str | None, least: int
) -> MemoryOutlook:
    """Return what is predicted for the plan that failed, and for changes of it.

    `least` are the bytes that `device` has proved to need at least.
    """
    if context.plan is None or context.hurried():
        return MemoryOutlook()
    context.tell(StateChanged(state="stopping", reason="looking for a plan that fits"))
    try:
        return _outlook(context, context.plan, _dataset(context, error), device, least)
    except Exception:  # noqa: BLE001  (the failure must be reported, whatever goes wrong here)
        return MemoryOutlook()


def _outlook(
    context: FailureContext, plan: Plan, dataset: Any, device: str | None, least: int
) -> MemoryOutlook:
    if dataset is None:
        return MemoryOutlook()
    machine = machine_seen(context.run, context.logical)
    facts = _facts(context, plan, dataset)
    shown = {device: least} if device and least else {}
    needs = Needs(plan, machine, facts, margin=MARGIN, shown=shown)
    remedies = memory_remedies(needs, lambda changed: _facts(context, changed, dataset))
    mends = [change_to(plan, each.make(plan), each.label) for each in islice(remedies, MOST_MENDS)]
    return MemoryOutlook(
        known=True,
        mends=tuple(offered(plan, mends)),
        weights_alone=_weights_alone(plan, machine, facts, device),
    )


def _weights_alone(plan: Plan, machine: Machine, facts: PlanFacts, device: str | None) -> str:
    for each in predict(plan, machine, facts):
        room = each.usable_bytes
        if each.device == device and room is not None and each.weights.bytes > room:
            return f" The weights alone, {size(each.weights.bytes)}, do not fit into {size(room)}."
    return ""


def _dataset(context: FailureContext, error: BaseException) -> Any:
    """The data of the run; those that were loaded when its model could not be built."""
    if context.session is not None:
        return context.session.dataset
    loaded: Sequence[Any] = found_in_frames(error, "gpu_studio.trainer.data", "Dataset")
    return loaded[0] if loaded else None


def _facts(context: FailureContext, plan: Plan, dataset: Any) -> PlanFacts:
    """What a step of the plan holds, from a copy of its model that stays in the host's memory."""
    import tensorflow as tf

    from gpu_studio.trainer import devices
    from gpu_studio.trainer.answers import building
    from gpu_studio.trainer.models import build_model

    devices.set_precision(plan.training.mixed_precision, context.replicas)
    with tf.device("CPU:0"):
        model = build_model(plan.model, dataset, context.base, plan.training.seed)
        facts = building.facts_of(plan.training, dataset, model, loaded=bool(plan.model.file))
    return PlanFacts(model=facts)
