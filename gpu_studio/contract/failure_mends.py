"""Changes of a plan that may help after a failure; each leaves a plan that can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpu_studio.common.figures import MIB, whole_mib
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import DeviceMemory, LogicalDevice
from gpu_studio.plan import (
    Carve,
    Plan,
    PlanError,
    Problem,
    placement_of,
    strategy_of,
    validate,
    with_value,
)

# A slice that gives up memory keeps its peak plus this share of it.
_MARGIN = 0.1
_LEAST_MIB = 64
CLIP = 1.0


def against_want_of_memory(
    plan: Plan,
    device: str | None = None,
    logical: Sequence[LogicalDevice] = (),
    memory: Sequence[DeviceMemory] = (),
) -> list[SuggestedChange]:
    """Changes that make a plan need less memory or give `device` more.

    `memory` is the peak of each device.
    """
    return offered(plan, _against_want_of_memory(plan, device, logical, memory))


def against_divergence(plan: Plan) -> list[SuggestedChange]:
    """Changes that keep a loss finite: smaller steps, clipped gradients, full precision."""
    return offered(plan, _against_divergence(plan))


def without_device(plan: Plan, device: str, replicas: Sequence[str]) -> list[SuggestedChange]:
    """The plan on the remaining devices, where it trains on several."""
    others = [name for name in replicas if name != device]
    if not others or strategy_of(plan).places_layers or device not in replicas:
        return []
    names = others[0] if len(others) == 1 else f"{len(others)} devices"
    return offered(
        plan,
        [SuggestedChange(text=f"Train on {names}", field="distribution.devices", value=others)],
    )


def offered(plan: Plan, mends: Iterable[SuggestedChange]) -> list[SuggestedChange]:
    """The changes that have an effect and cause no new problem in the plan."""
    before = set(validate(plan))
    return [mend for mend in mends if _can_be(plan, mend, before)]


def _can_be(plan: Plan, mend: SuggestedChange, before: set[Problem]) -> bool:
    try:
        mended = with_value(plan, mend.field, mend.value)
    except PlanError:
        return False
    return mended != plan and before.issuperset(validate(mended))


def _against_want_of_memory(
    plan: Plan, device: str | None, logical: Sequence[LogicalDevice], memory: Sequence[DeviceMemory]
) -> Iterator[SuggestedChange]:
    batch = plan.training.batch_size // 2
    yield SuggestedChange(
        text=f"Halve the batch: {batch:,}", field="training.batch_size", value=batch
    )
    placed = placement_of(plan)
    if placed is not None:
        twice = placed.micro_batches * 2
        yield SuggestedChange(
            text=f"{twice} micro-batches", field="distribution.placed.micro_batches", value=twice
        )
        yield SuggestedChange(
            text="Recompute activations", field="distribution.placed.recompute", value=True
        )
    yield from _larger_slice(plan, device, logical, memory)
    yield SuggestedChange(text="Mixed precision", field="training.mixed_precision", value=True)


def _against_divergence(plan: Plan) -> Iterator[SuggestedChange]:
    rate = plan.training.learning_rate / 2
    yield SuggestedChange(
        text=f"Halve the learning rate: {rate:g}", field="training.learning_rate", value=rate
    )
    if not any("clip" in name for name in plan.training.options):
        yield SuggestedChange(
            text="Clip the gradients", field="training.options.global_clipnorm", value=CLIP
        )
    if plan.training.mixed_precision:
        yield SuggestedChange(text="Full precision", field="training.mixed_precision", value=False)


def _larger_slice(
    plan: Plan, device: str | None, logical: Sequence[LogicalDevice], memory: Sequence[DeviceMemory]
) -> Iterator[SuggestedChange]:
    """More memory for `device`, taken from the slice of the same card with the most unused."""
    mine = next((each for each in logical if each.name == device and each.limit_mib), None)
    if mine is None:
        return
    card = [each for each in logical if each.physical == mine.physical]
    peaks = {each.device: each.peak for each in memory}
    spare = {each.name: _spare_mib(each, peaks) for each in card if each.name != device}
    giver = max(spare, key=lambda name: spare[name], default=None)
    if giver is None or spare[giver] < _LEAST_MIB:
        return
    limits = [each.limit_mib or 0 for each in card]
    names = [each.name for each in card]
    limits[names.index(giver)] -= spare[giver]
    limits[names.index(mine.name)] += spare[giver]
    if carve := _carved(plan.devices.carve, limits, before=[each.limit_mib for each in card]):
        yield SuggestedChange(
            text=f"Give {device} {whole_mib(spare[giver])} of {giver}",
            field="devices.carve",
            value=carve,
        )


def _spare_mib(device: LogicalDevice, peaks: dict[str, int]) -> int:
    if device.name not in peaks or not device.limit_mib:
        return 0
    return max(0, device.limit_mib - int(peaks[device.name] * (1 + _MARGIN) / MIB) - 1)


def _carved(
    carves: Sequence[Carve], limits: list[int], before: list[int | None]
) -> list[dict[str, object]]:
    """The carves as tables with `before` replaced by these slices; none if no carve matches."""
    same = [carve for carve in carves if list(carve.slices_mib) == before]
    if len(same) != 1:
        return []
    changed = [
        replace(carve, slices_mib=tuple(limits)) if carve is same[0] else carve for carve in carves
    ]
    return [{"device": carve.device, "slices_mib": list(carve.slices_mib)} for carve in changed]
