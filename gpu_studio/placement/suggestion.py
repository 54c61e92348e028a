"""Place for me, whole: a placement for an objective, what it takes, and whether placing is worth it at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.placement.estimate import Times, work_of
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.pricing import mirrored_seconds, one_device_seconds
from gpu_studio.placement.schedule import Timeline, common_share, timeline
from gpu_studio.placement.search import Found, Lack, Objective, place
from gpu_studio.placement.work import Device, Work

MOST_MICRO_BATCHES = 32
WORTH_TELLING = 0.99
"""Another way is called better if a step takes less than this share: times are measured no finer."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to train: its strategy, the devices, and the seconds of a step."""

    strategy: str
    devices: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Where each layer goes (by name), the micro-batches, the predicted step, and the other ways, the best first."""

    layers: Mapping[str, str]
    micro_batches: int
    step: Timeline
    others: tuple[Alternative, ...]

    @property
    def better(self) -> Alternative | None:
        """The best other way, if a step takes less in it."""
        best = self.others[0] if self.others else None
        return best if best and best.seconds < WORTH_TELLING * self.step.seconds else None


def suggest(
    model: ModelFacts,
    devices: Sequence[Device],
    batch: int,
    times: Mapping[str, Times],
    objective: Objective,
    micro_batches: int | None = None,
    workers: int | None = None,
) -> Suggestion | tuple[Lack, ...]:
    """The best placement of `model` on `devices` for a step of `batch` samples, or what each device lacks.

    Without `micro_batches` their number is chosen. At most `workers` devices work at one time, unless it was measured
    how they share the cores. Raises ValueError if the model's layers are not known, or there are no devices.
    """
    work = work_of(model, devices, batch, times)
    counts = (micro_batches,) if micro_batches else candidates(batch)
    share = common_share(work, range(len(devices)))
    if share is not None:
        workers = max(1, round(1 / share))
    # On shared cores micro-batches of one device run at once as well as those of several: spreading layers gains
    # nothing, and what is looked for is the least work.
    overlap = share is None and (workers is None or workers > 1)
    every = [place(work, devices, objective, [count], overlap=overlap) for count in counts]
    steps = [
        (timeline(work, devices, found.devices, found.micro_batches, workers), found)
        for found in every
        if isinstance(found, Found)
    ]
    if not steps:
        return next(found for found in every if isinstance(found, tuple))
    fastest = min(step.seconds for step, _ in steps)
    # In order of their micro-batches: more are taken only for what is more than times are measured to.
    step, found = next(each for each in steps if WORTH_TELLING * each[0].seconds <= fastest)
    layers = {name: devices[on].name for name, on in zip(work.names, found.devices, strict=True)}
    gradients = sum(layer.trainable_bytes for layer in model.graph.layers) if model.graph else 0
    return Suggestion(layers, found.micro_batches, step, _others(work, devices, gradients, workers))


def candidates(batch: int) -> tuple[int, ...]:
    """The numbers of micro-batches that are tried: powers of two, each micro-batch with a sample at least."""
    return tuple(1 << power for power in range(MOST_MICRO_BATCHES.bit_length()) if 1 << power <= max(1, batch))


def _others(work: Work, devices: Sequence[Device], gradients: float, workers: int | None) -> tuple[Alternative, ...]:
    """One device, and mirrored over all, where all that they hold has room."""
    held = float(work.held_bytes.sum())
    state = float(work.state_bytes.sum())
    others = [
        Alternative("one_device", (device.name,), one_device_seconds(work, place))
        for place, device in enumerate(devices)
        if _has_room(device, held)
    ]
    each = state + (held - state) / len(devices)
    if len(devices) > 1 and all(_has_room(device, each) for device in devices):
        seconds = mirrored_seconds(work, devices, gradients, workers)
        others.append(Alternative("mirrored", tuple(device.name for device in devices), seconds))
    return tuple(sorted(others, key=lambda other: other.seconds))


def _has_room(device: Device, held: float) -> bool:
    return device.limit is None or held <= device.limit
