"""Suggest a placement for an objective: where layers go, what it takes, whether it is worth it.

It is compared with a step without placing layers: the whole model on one device, or replicated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_studio.placement.block_memory import replica_bytes
from gpu_studio.placement.cudnn_reserve import through_cudnn
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.schedule import StepTimeline, common_share, timeline
from gpu_studio.placement.search import FoundPlacement, Lack, Objective
from gpu_studio.placement.taking_cards import placements_by_cards
from gpu_studio.placement.work import Device, Times, Work, recomputing, work_of
from gpu_studio.plan import MIRRORED, ONE_DEVICE

MOST_MICRO_BATCHES = 32
WORTH_TELLING = 0.99
"""An alternative is better if its step takes less than this share: so exact are measured times."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to train: its strategy, the devices, and the seconds of a step."""

    strategy: str
    devices: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The device of each layer (by name), the micro-batches, the predicted step, and alternatives.

    Alternatives are in order, best first. With `recompute` the step is one in which stages compute
    their activations again.
    """

    layers: Mapping[str, str]
    micro_batches: int
    step: StepTimeline
    others: tuple[Alternative, ...]
    recompute: bool = False

    @property
    def better(self) -> Alternative | None:
        """The best alternative, if its step is shorter."""
        best = self.others[0] if self.others else None
        return best if best and best.seconds < WORTH_TELLING * self.step.seconds else None


@dataclass(frozen=True, slots=True)
class NothingFits:
    """The model does not fit: what each device lacks at least.

    `recomputed` is how it fits with recomputation, if it does and that was not requested.
    """

    lacks: tuple[Lack, ...]
    recomputed: Suggestion | None = None


def suggest(
    model: ModelFacts,
    devices: Sequence[Device],
    batch: int,
    times: Mapping[str, Times],
    objective: Objective,
    micro_batches: int | None = None,
    workers: int | None = None,
    *,
    recompute: bool = False,
) -> Suggestion | NothingFits:
    """The best placement of `model` on `devices` for a step of `batch` samples, or what each lacks.

    Without `micro_batches` their number is chosen. At most `workers` devices work at once, unless
    it was measured how they share the cores. With `recompute` stages keep only their inputs. Raises
    ValueError if the model's layers are not known, or there are no devices.
    """
    work = work_of(model, devices, batch, times)
    share = common_share(work, range(len(devices)))
    at_once = workers if share is None else max(1, round(1 / share))
    counts = (micro_batches,) if micro_batches else candidates(batch)
    # On shared cores, micro-batches of one device run at once just as those of several do:
    # spreading layers gains nothing, and the goal is the least work.
    overlap = share is None and (at_once is None or at_once > 1)
    for some in _less_reserve(model, devices):
        found = placements_by_cards(
            work, some, objective, counts, overlap=overlap, recompute=recompute
        )
        if not isinstance(found, tuple):
            break
    if isinstance(found, tuple):
        if recompute:
            return NothingFits(found)
        again = suggest(
            model, devices, batch, times, objective, micro_batches, workers, recompute=True
        )
        return NothingFits(found, again if isinstance(again, Suggestion) else None)
    step, best = _fastest(recomputing(work) if recompute else work, devices, found, at_once)
    layers = {name: devices[on].name for name, on in zip(work.names, best.devices, strict=True)}
    return Suggestion(layers, best.micro_batches, step, _others(work, devices, at_once), recompute)


def _less_reserve(model: ModelFacts, devices: Sequence[Device]) -> Iterator[Sequence[Device]]:
    """The devices less the reserve for cuDNN, if layers are computed through it, and as they are.

    All leave that reserve, as where those layers go is not known yet. A placement that does not
    is taken only if none on such devices fits.
    """
    layers = model.graph.layers if model.graph else ()
    if any(map(through_cudnn, layers)) and any(each.reserve for each in devices):
        yield [
            each if each.limit is None else replace(each, limit=max(1.0, each.limit - each.reserve))
            for each in devices
        ]
    yield devices


def _fastest(
    work: Work, devices: Sequence[Device], found: Sequence[FoundPlacement], workers: int | None
) -> tuple[StepTimeline, FoundPlacement]:
    """The placement of the shortest step, with that step; `found` has ever more micro-batches.

    More of them are chosen only for a gain beyond the accuracy of measured times.
    """
    steps = [
        (timeline(work, devices, each.devices, each.micro_batches, workers), each) for each in found
    ]
    fastest = min(step.seconds for step, _ in steps)
    return next(each for each in steps if WORTH_TELLING * each[0].seconds <= fastest)


def candidates(batch: int) -> tuple[int, ...]:
    """The numbers of micro-batches to try: powers of two, with at least a sample in each."""
    return tuple(
        1 << power
        for power in range(MOST_MICRO_BATCHES.bit_length())
        if 1 << power <= max(1, batch)
    )


def _others(work: Work, devices: Sequence[Device], workers: int | None) -> tuple[Alternative, ...]:
    """One device, and mirrored over all, if they fit."""
    held, each = replica_bytes(work), replica_bytes(work, len(devices))
    others = [
        Alternative(ONE_DEVICE.name, (device.name,), one_device_seconds(work, place))
        for place, device in enumerate(devices)
        if _fits_on(device, held)
    ]
    if len(devices) > 1 and all(_fits_on(device, each) for device in devices):
        seconds = mirrored_seconds(work, devices, float(work.gradient_bytes.sum()), workers)
        others.append(Alternative(MIRRORED.name, tuple(device.name for device in devices), seconds))
    return tuple(sorted(others, key=lambda other: other.seconds))


def _fits_on(device: Device, held: float) -> bool:
    return device.limit is None or held <= device.limit


def one_device_seconds(work: Work, device: int) -> float:
    """A step with everything on one device and the batch in one piece."""
    return float(work.seconds(1)[device].sum() + work.update[device].sum())


def mirrored_seconds(
    work: Work, devices: Sequence[Device], gradient_bytes: float, workers: int | None = None
) -> float:
    """A step with a replica on each device, each with its part of the batch, and gradients summed.

    A ring all-reduce sends 2 · (K - 1) / K of the gradients' bytes over the slowest link (Patarasuk
    and Yuan 2009, equation 1). If at most `workers` devices work at once, the replicas take turns.
    """
    count = len(devices)
    turns = -(-count // min(count, workers or count))
    slowest = max(
        float(row.sum() + update.sum())
        for row, update in zip(work.seconds(count), work.update, strict=True)
    )
    link = min(device.bandwidth for device in devices)
    return turns * slowest + 2 * (count - 1) / count * gradient_bytes / link
