"""Changes of a plan that may help after a failure, each of which leaves a plan that can be run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpu_studio.plan import Carve, Plan, PlanError, Problem, validate, with_value
from gpu_studio.runs.event_parts import Mend
from gpu_studio.runs.events import DeviceMemory, LogicalDevice

MIB = 1024 * 1024
# A slice that gives some of its room away keeps this share of its peak besides the peak itself.
_MARGIN = 0.1
_LEAST_MIB = 64
CLIP = 1.0


def against_want_of_memory(
    plan: Plan, device: str | None = None, logical: Sequence[LogicalDevice] = (), memory: Sequence[DeviceMemory] = ()
) -> list[Mend]:
    """What makes a plan need less memory, or gives `device` more. `memory` is what each device held at most."""
    return offered(plan, _against_want_of_memory(plan, device, logical, memory))


def against_divergence(plan: Plan) -> list[Mend]:
    """What keeps a loss finite: smaller steps, clipped gradients, full precision."""
    return offered(plan, _against_divergence(plan))


def without_device(plan: Plan, device: str, replicas: Sequence[str]) -> list[Mend]:
    """The plan on the other devices, where it trains on several."""
    others = [name for name in replicas if name != device]
    if not others or plan.distribution.strategy == "placed" or device not in replicas:
        return []
    names = others[0] if len(others) == 1 else f"{len(others)} devices"
    return offered(plan, [Mend(text=f"Train on {names}", field="distribution.devices", value=others)])


def offered(plan: Plan, mends: Iterable[Mend]) -> list[Mend]:
    """Those of the mends that change the plan and bring no new problem into it."""
    before = set(validate(plan))
    return [mend for mend in mends if _can_be(plan, mend, before)]


def _can_be(plan: Plan, mend: Mend, before: set[Problem]) -> bool:
    try:
        mended = with_value(plan, mend.field, mend.value)
    except PlanError:
        return False
    return mended != plan and before.issuperset(validate(mended))


def _against_want_of_memory(
    plan: Plan, device: str | None, logical: Sequence[LogicalDevice], memory: Sequence[DeviceMemory]
) -> Iterator[Mend]:
    batch = plan.training.batch_size // 2
    yield Mend(text=f"Halve the batch: {batch:,}", field="training.batch_size", value=batch)
    placed = plan.distribution.placed
    if plan.distribution.strategy == "placed" and placed is not None:
        twice = placed.micro_batches * 2
        yield Mend(text=f"{twice} micro-batches", field="distribution.placed.micro_batches", value=twice)
        yield Mend(text="Recompute activations", field="distribution.placed.recompute", value=True)
    yield from _larger_slice(plan, device, logical, memory)
    yield Mend(text="Mixed precision", field="training.mixed_precision", value=True)


def _against_divergence(plan: Plan) -> Iterator[Mend]:
    rate = plan.training.learning_rate / 2
    yield Mend(text=f"Halve the learning rate: {rate:g}", field="training.learning_rate", value=rate)
    if not any("clip" in name for name in plan.training.options):
        yield Mend(text="Clip the gradients", field="training.options.global_clipnorm", value=CLIP)
    if plan.training.mixed_precision:
        yield Mend(text="Full precision", field="training.mixed_precision", value=False)


def _larger_slice(
    plan: Plan, device: str | None, logical: Sequence[LogicalDevice], memory: Sequence[DeviceMemory]
) -> Iterator[Mend]:
    """Room for `device` from the slice of the same card that left most of its own unused."""
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
        yield Mend(text=f"Give {device} {spare[giver]} MiB of {giver}", field="devices.carve", value=carve)


def _spare_mib(device: LogicalDevice, peaks: dict[str, int]) -> int:
    if device.name not in peaks or not device.limit_mib:
        return 0
    return max(0, device.limit_mib - int(peaks[device.name] * (1 + _MARGIN) / MIB) - 1)


def _carved(carves: Sequence[Carve], limits: list[int], before: list[int | None]) -> list[dict[str, object]]:
    """The carves as tables, the one with the slices `before` with these instead; none if there is not one such."""
    same = [carve for carve in carves if list(carve.slices_mib) == before]
    if len(same) != 1:
        return []
    changed = [replace(carve, slices_mib=tuple(limits)) if carve is same[0] else carve for carve in carves]
    return [{"device": carve.device, "slices_mib": list(carve.slices_mib)} for carve in changed]
