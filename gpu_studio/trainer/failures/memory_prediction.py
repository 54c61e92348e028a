"""Ask the prediction what would help a run that found no memory, before anything is offered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gpu_studio.common.practice import chosen
from gpu_studio.contract import samples
from gpu_studio.contract.events import LogicalDevice, StateChanged, SuggestedChange
from gpu_studio.contract.failure_mends import change_to, offered
from gpu_studio.contract.files import LineTail
from gpu_studio.placement.memory_remedies import MARGIN, Needs, memory_remedies
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Card, Machine, Plan
from gpu_studio.trainer.environment import cores
from gpu_studio.trainer.failures.failure_context import FailureContext, found_in_frames

MOST_MENDS = 6


@dataclass(frozen=True, slots=True)
class MemoryOutlook:
    """What the prediction says: the changes that help, the best first, if it is `known` at all.

    `weights_alone` are the bytes of the device's weights, and those it has, if not even they fit.
    """

    known: bool = False
    mends: tuple[SuggestedChange, ...] = ()
    weights_alone: tuple[int, int] | None = None

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
    if context.plan is None or context.hurried() or (device or "").startswith("CPU"):
        return MemoryOutlook()  # the host's memory has no limit that could be predicted against
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
    machine = _machine_seen(context)
    facts = _facts(context, plan, dataset)
    shown = {device: least} if device and least else {}
    needs = Needs(plan, machine, facts, margin=MARGIN, shown=shown)
    remedies = memory_remedies(needs, lambda changed: _facts(context, changed, dataset))
    mends = [change_to(plan, each.make(plan), each.label) for each in islice(remedies, MOST_MENDS)]
    return MemoryOutlook(
        known=True,
        mends=tuple(offered(plan, mends)),
        weights_alone=needs.weights_alone(device or ""),
    )


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

    devices.set_precision(plan.training.mixed_precision, context.replicas)
    with tf.device("CPU:0"):
        model = building.model_of(plan, dataset)
        facts = building.facts_of(plan.training, dataset, model, loaded=bool(plan.model.file))
    return PlanFacts(model=facts)


_FIRST_BYTES = 256 * 1024


def _machine_seen(context: FailureContext) -> Machine:
    """The machine with its cards' memory, and what others held of it before the run took any.

    Without a recording the cards are those of the run's devices, and their memory is not known.
    """
    facts: dict[str, samples.CardFacts] = {}
    figures: dict[str, samples.FastFigures] = {}
    for sample in _recorded(context):
        if isinstance(sample, samples.Cards) and not facts:
            facts = {each.card: each for each in sample.cards if each.index is not None}
        if isinstance(sample, samples.Fast):
            figures = {each.card: each for each in sample.cards}
            break
    practice = chosen() is not None
    cards = tuple(_card(each, figures.get(name), practice) for name, each in facts.items())
    same = Machine(cards)
    # Where CUDA was told which cards to count, the recording counts others too.
    agrees = all(
        (card := same.card(each.physical)) is not None and each.uuid in (None, card.uuid)
        for each in context.logical
        if each.name.startswith("GPU")
    )
    return Machine(cards if agrees else _of_devices(context.logical), cores())


def _recorded(context: FailureContext) -> Iterator[samples.AnySample | None]:
    if context.run is None:
        return
    with suppress(OSError, samples.SampleError):
        for line in LineTail(context.run.hardware_file).read(_FIRST_BYTES):
            yield samples.decode(line)


def _card(facts: samples.CardFacts, figures: samples.FastFigures | None, practice: bool) -> Card:
    return Card(
        index=facts.index or 0,
        uuid=facts.uuid,
        name=facts.name,
        bus_id=facts.bus_id,
        total_mib=facts.total_mib,
        used_mib=figures.memory_used_mib if figures else None,
        reserved_mib=(figures.memory_reserved_mib or 0) if figures else 0,
        lost=bool(facts.gone) and not facts.asleep,
        compute_capability=facts.compute_capability or "",
        practice=practice,
    )


def _of_devices(logical: Sequence[LogicalDevice]) -> tuple[Card, ...]:
    physical = {each.physical: each for each in logical if each.name.startswith("GPU")}
    return tuple(
        Card(int(number) if number.isdecimal() else place, each.uuid or name, each.description)
        for place, (name, each) in enumerate(physical.items())
        for number in [name.rpartition(":")[2]]
    )
