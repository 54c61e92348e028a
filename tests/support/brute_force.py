"""Try every placement of contiguous stages one by one, with independently written formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from gpu_studio.placement.work import Array, Device, Work

MARGIN = 1.03
"""On a card, the fullest step of many holds so much more than any one of them."""


Holds = Callable[[Sequence[int], int], float]
"""The bytes that a device holds, of which the number is given, in a placement."""


def placements(layers: int, devices: int) -> Iterator[tuple[int, ...]]:
    """The device of each layer, for each way to deal layers to devices, both in order."""
    for ends in combinations_with_replacement(range(layers + 1), devices - 1):
        spans = zip((0, *ends), (*ends, layers), strict=True)
        yield tuple(device for device, (begin, end) in enumerate(spans) for _ in range(end - begin))


@dataclass(frozen=True)
class Tried:
    """A placement, a step's time, the bytes that cross, and what each device in use holds."""

    placement: tuple[int, ...]
    seconds: float
    sent: float
    held: dict[int, float]

    def fits(self, devices: Sequence[Device]) -> bool:
        """Whether every device has room for what it is to hold."""
        return all(
            limit is None or self.held.get(place, 0.0) <= limit for place, limit in _limits(devices)
        )

    def lacking(self, devices: Sequence[Device]) -> float:
        """The bytes for which there is no room, on all devices together."""
        return sum(
            max(0.0, self.held.get(place, 0.0) - limit)
            for place, limit in _limits(devices)
            if limit is not None
        )

    def fullest(self, devices: Sequence[Device]) -> float:
        """The greatest share of a limit; with no limit at all, the most bytes."""
        limits = dict(_limits(devices))
        if all(limit is None for limit in limits.values()):
            return max(self.held.values())
        return max(
            held / limit for place, held in self.held.items() if (limit := limits[place] or np.inf)
        )


def tried(
    work: Work,
    devices: Sequence[Device],
    placement: tuple[int, ...],
    count: int,
    *,
    recompute: bool = False,
    overlap: bool = True,
) -> Tried:
    """What comes of a placement, as the search defines it, layer by layer."""
    stages = {
        place: _stage(work, devices, placement, place, count, recompute) for place in set(placement)
    }
    return _joined(placement, stages, devices, count, overlap)


def every(
    work: Work,
    devices: Sequence[Device],
    count: int,
    *,
    recompute: bool = False,
    overlap: bool = True,
    holds: Holds | None = None,
) -> list[Tried]:
    """Every placement there is, also those for which there is no room.

    What a stage takes hangs on its own layers alone, so that each is computed once. What a device
    `holds` in a placement may be told by others."""
    known: dict[tuple[int, int, int], Stage] = {}
    found = []
    for placement in placements(len(work.names), len(devices)):
        stages = {}
        for place in set(placement):
            span = place, placement.index(place), placement.count(place)
            if span not in known:
                stage = _stage(work, devices, placement, place, count, recompute)
                held = holds(placement, place) if holds else stage.held
                known[span] = replace(stage, held=held)
            stages[place] = known[span]
        found.append(_joined(placement, stages, devices, count, overlap))
    return found


@dataclass(frozen=True)
class Stage:
    """The time of a micro-batch, the bytes that come from elsewhere, and those that it holds."""

    took: float
    crossing: float
    held: float


def _stage(
    work: Work,
    devices: Sequence[Device],
    placement: Sequence[int],
    place: int,
    count: int,
    recompute: bool,
) -> Stage:
    # A stage that is computed again keeps what it was given, by reference or not.
    there = recompute or devices[place].name.startswith("GPU")
    entering = _entering(work, placement, place, work.output_bytes) * there
    return Stage(
        _took(work, placement, place, count, recompute),
        _entering(work, placement, place, work.sent_bytes),
        _held(work, placement, place, count, devices, recompute, entering),
    )


def _joined(
    placement: tuple[int, ...],
    stages: Mapping[int, Stage],
    devices: Sequence[Device],
    count: int,
    overlap: bool,
) -> Tried:
    sending = sum(
        stage.crossing / (devices[place].bandwidth * count) for place, stage in stages.items()
    )
    took = [stage.took for stage in stages.values()]
    one = sum(took) + sending
    seconds = one + (count - 1) * max(took) if overlap else one * count
    held = {place: stage.held for place, stage in stages.items()}
    return Tried(placement, seconds, sum(stage.crossing for stage in stages.values()), held)


def least_seconds(
    work: Work, devices: Sequence[Device], count: int, *, recompute: bool = False
) -> float:
    """The least time of a step of all placements for which there is room.

    Infinite if there is none.

    By labels: of all ways to place the first layers, those whose cost or whose longest stage no
    other one undercuts."""
    directions: dict[int, list[tuple[float, float]]] = {0: [(0.0, 0.0)]}
    for place, device in enumerate(devices):
        further = {end: list(labels) for end, labels in directions.items()}
        for begin, labels in directions.items():
            for end in range(begin + 1, len(work.names) + 1):
                # Elsewhere than here is all that matters of the other layers.
                around = [-1] * begin + [place] * (end - begin) + [-1] * (len(work.names) - end)
                entering = _entering(work, around, place, work.output_bytes)
                held = _held(work, around, place, count, devices, recompute, entering)
                if device.limit is None or held <= device.limit:
                    took = _took(work, around, place, count, recompute)
                    crossing = _entering(work, around, place, work.sent_bytes)
                    cost = took + crossing / (device.bandwidth * count)
                    further.setdefault(end, []).extend(
                        (known + cost, max(longest, took)) for known, longest in labels
                    )
        directions = {end: _undercut(labels) for end, labels in further.items()}
    return min(
        (cost + (count - 1) * longest for cost, longest in directions.get(len(work.names), ())),
        default=math.inf,
    )


def _undercut(labels: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that are less than every cheaper one in the other value."""
    left: list[tuple[float, float]] = []
    for cost, longest in sorted(labels):
        if not left or longest < left[-1][1]:
            left.append((cost, longest))
    return left


def _limits(devices: Sequence[Device]) -> Iterator[tuple[int, float | None]]:
    yield from enumerate(device.limit for device in devices)


def _on(placement: Sequence[int], place: int) -> list[int]:
    return [layer for layer, on in enumerate(placement) if on == place]


def _entering(work: Work, placement: Sequence[int], place: int, sizes: Array) -> float:
    """The bytes of a whole batch that a device is sent.

    Each tensor once, from however far it skips, also from behind.

    A layer's output is of so many bytes a sample (`sizes`).
    """
    later = work.later or [()] * len(placement)
    wanted = {
        producer
        for layer in _on(placement, place)
        for producer in (*work.inputs[layer], *later[layer])
    }
    return sum(float(sizes[each]) for each in wanted if placement[each] != place) * work.batch


def _took(work: Work, placement: Sequence[int], place: int, count: int, recompute: bool) -> float:
    """The time of a micro-batch in a device's stage, forward twice where it is computed again."""
    passes = [1 + float(share) if recompute else 1.0 for share in work.forward_share]
    part = work.batch / count
    return sum(
        float(work.fixed[place][layer] + work.per_sample[place][layer] * part) * passes[layer]
        for layer in _on(placement, place)
    )


def _made_on_the_way(work: Work, layers: Sequence[int]) -> float:
    """The most that is there of what layers have made for others when each is computed."""
    takers = {
        place: [at for at, some in enumerate(work.inputs) if place in some] for place in layers
    }
    return max(
        float(
            work.output_bytes[place]
            + sum(
                work.output_bytes[each]
                for each in layers
                if each < place <= max(takers[each], default=-1)
            )
        )
        for place in layers
    )


def _held(
    work: Work,
    placement: Sequence[int],
    place: int,
    count: int,
    devices: Sequence[Device],
    recompute: bool,
    entering: float,
) -> float:
    """Parameters with their slots, and the fullest of three moments, with a margin on a card.

    Backward, summing gradients, updating.

    A card has a micro-batch for itself and for each device behind it, and is sent a second one
    even so; they go back one after the other. While the third does, the gradient before may
    wait. On a CPU four are under way at once, or one more than there are devices. And there is
    the sum of the others. While gradients are summed, the last of them still has its
    activations, and on a card those that came in meanwhile, and the next input; a card updates all
    layers at a time, while the last gradient may wait to be sent back, and the one that came
    beside it."""
    on_card = devices[place].name.startswith("GPU")
    at_once = len(devices) - place if on_card else max(4, len(devices) + 1)
    layers = _on(placement, place)
    kept = sum(float(work.kept_bytes[layer]) for layer in layers)
    gradients = sum(float(work.gradient_bytes[layer]) for layer in layers)
    part = math.ceil(work.batch / count)
    samples = min(work.batch, at_once * part)
    arrived = min(work.batch, max(2, at_once) * part) if on_card else samples
    taken = max(float(work.taken_bytes[layer]) for layer in layers)
    come = entering / work.batch + (taken if on_card else 0.0)
    keeps = float(not recompute)
    back = _going_back(work, layers, part, entering / work.batch if on_card else 0.0, on_card)
    unkept = _unkept(work, layers, keeps) if on_card else 0.0
    further = _unkept(work, layers, keeps, 1) if on_card else 0.0
    back_again = entering / work.batch if on_card else 0.0

    ahead_of_it = _made_on_the_way(work, layers) if on_card and recompute else 0.0

    def crossing(others: int) -> float:
        one = min(part, max(0, others))
        return max(unkept, ahead_of_it) * one + further * (max(0, others) - one)

    backward = come * arrived + keeps * kept * (samples - part) + crossing(samples - part) + back
    largest = max(float(work.gradient_bytes[layer]) for layer in layers)
    updating = 2 * gradients + part * back_again if on_card else gradients + 2 * largest
    if on_card:
        updating += part * max(
            float(work.output_bytes[each]) * _comes_back(work, each, layers) for each in layers
        )
    batch = 0.0 if on_card else taken * work.batch
    state = sum(float(work.state_bytes[layer]) for layer in layers) - gradients
    ahead = max(0, min(at_once - 1, count - 2)) if on_card else 0
    beside = min(work.batch, (1 + ahead) * part)
    sent = 1 + max(0, min(max(2, at_once) - 1, count - 2)) if on_card else 1
    last = (
        come * min(work.batch, sent * part)
        + keeps * kept * (beside - part)
        + crossing(beside - part)
        + back
    )
    sums = (min(count, 2 if on_card else at_once + 1) - 1) * gradients
    summing = sums + last
    returning = min(work.batch, max(0, min(at_once - 1, count - 2)) * part) if on_card else 0
    if returning:
        others = max(0, returning - part)
        waits = come * returning + keeps * kept * others + crossing(others)
        summing = max(summing, sums + waits + part * back_again + back)
    margin = MARGIN if on_card else 1.0
    return state + batch + margin * max(backward, summing, updating, come * arrived)


def _unkept(work: Work, layers: Sequence[int], keeps: float, near: int = 0) -> float:
    """What the layers make for others and do not keep: it may wait to be sent.

    Those that are so `near` behind the last do not count.
    """
    others = [each for each in range(len(work.names)) if not layers[0] <= each <= layers[-1] + near]
    later = work.later or [()] * len(work.names)
    taken = {each for other in others for each in (*work.inputs[other], *later[other])}
    return sum(
        max(0.0, float(work.output_bytes[layer]) - keeps * float(work.output_kept_bytes[layer]))
        for layer in layers
        if layer in taken
    )


def _going_back(
    work: Work, layers: Sequence[int], part: int, entering: float, on_card: bool
) -> float:
    """What a micro-batch holds on its way back, at its fullest moment, with its gradients.

    On a card what the layers behind kept is gone, and the gradients of those before are not there.
    """
    gradients = sum(float(work.gradient_bytes[layer]) for layer in layers)
    passing = max(float(work.passing_bytes[layer]) for layer in layers)
    if not on_card:
        return gradients + part * (sum(float(work.kept_bytes[layer]) for layer in layers) + passing)
    found = gradients + part * entering
    comes = [float(work.output_bytes[each]) * _comes_back(work, each, layers) for each in layers]
    for place, layer in enumerate(layers):
        kept = sum(float(work.kept_bytes[each]) for each in layers[: place + 1])
        behind = sum(float(work.gradient_bytes[each]) for each in layers[place:])
        late = sum(comes[place + 1 :])  # it may outlive its use
        found = max(found, behind + part * (kept + late + float(work.passing_bytes[layer])))
    return found


def _comes_back(work: Work, layer: int, layers: Sequence[int]) -> bool:
    """Whether the gradient of its output comes from elsewhere: if an earlier one takes it, too."""
    later = work.later or [()] * len(work.names)
    takers = [each for each, some in enumerate(work.inputs) if layer in some]
    return any(each not in layers for each in takers) or any(
        layer in some for each, some in enumerate(later) if each < layer
    )


def random_work(
    random: np.random.Generator, *, chain: bool, layers: int = 0, devices: int = 0
) -> Work:
    """Layers of random cost in a chain.

    Or with branches, skips, layers used in several places, and some not trained.

    There are two to ten of them, on two to four devices.
    """
    layers, devices = layers or int(random.integers(2, 11)), devices or int(random.integers(2, 5))
    inputs = [_inputs(random, layer, chain) for layer in range(layers)]
    gradients = random.integers(0, 1 << 18, layers) * random.integers(0, 2, layers)
    made = Work(
        tuple(f"layer_{place}" for place in range(layers)),
        tuple(inputs),
        fixed=random.random((devices, layers)) * 1e-3,
        per_sample=random.random((devices, layers)) * 1e-4,
        update=random.random((devices, layers)) * 1e-4,
        forward_share=random.random(layers),
        output_bytes=random.integers(0, 4096, layers).astype(float),
        kept_bytes=random.integers(0, 4096, layers).astype(float),
        passing_bytes=random.integers(0, 8192, layers).astype(float),
        taken_bytes=np.array([0.0 if producers else 1024.0 for producers in inputs]),
        state_bytes=(random.integers(0, 1 << 19, layers) + 2 * gradients).astype(float),
        gradient_bytes=gradients.astype(float),
        batch=int(random.integers(1, 257)),
        later=() if chain else tuple(_later(random, layer, layers) for layer in range(layers)),
        directions=() if chain else tuple(int(each) for each in random.integers(1, 3, layers)),
    )
    kept = np.minimum(made.output_bytes, made.kept_bytes)
    return replace(made, output_kept_bytes=kept)


def random_devices(random: np.random.Generator, work: Work) -> list[Device]:
    """A device for each of the work's times, most with a limit.

    Some are handed tensors by reference.
    """
    whole = whole_bytes(work)
    return [
        Device(
            f"{'CPU' if random.random() < 0.2 else 'GPU'}:{place}",
            whole * random.random() if random.random() < 0.6 else None,
            1e8 * (1 + random.random()),
        )
        for place in range(len(work.fixed))
    ]


def whole_bytes(work: Work) -> float:
    """About what the model holds in one place: limits that bind are parts of it."""
    return float((work.state_bytes + work.kept_bytes * work.batch).sum())


def _later(random: np.random.Generator, layer: int, layers: int) -> tuple[int, ...]:
    """Now and then a layer or two behind this one."""
    if layer + 1 == layers or random.random() < 0.8:
        return ()
    return tuple({int(each) for each in random.integers(layer + 1, layers, 2)})


def _inputs(random: np.random.Generator, layer: int, chain: bool) -> tuple[int, ...]:
    """Of a graph's layer: that before it or not, and up to two from anywhere before it."""
    if not layer:
        return ()
    if chain:
        return (layer - 1,)
    skipped = {int(each) for each in random.integers(0, layer, random.integers(0, 3))}
    return tuple(sorted(skipped | {layer - 1} if random.random() < 0.7 else skipped))
