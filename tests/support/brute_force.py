"""Every placement of contiguous stages there is, tried one by one, with formulas of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

import numpy as np

from gpu_studio.placement.work import Device, Work


def placements(layers: int, devices: int) -> Iterator[tuple[int, ...]]:
    """For each way to deal the layers in order to the devices in order, the device of each layer."""
    for ends in combinations_with_replacement(range(layers + 1), devices - 1):
        spans = zip((0, *ends), (*ends, layers), strict=True)
        yield tuple(device for device, (begin, end) in enumerate(spans) for _ in range(end - begin))


def sent_bytes(work: Work, placement: Sequence[int]) -> list[float]:
    """The bytes that each device is sent in a step, with as many going back."""
    sent = [0.0] * (max(placement) + 1)
    for producer, on in enumerate(placement):
        takers = {placement[layer] for layer, inputs in enumerate(work.inputs) if producer in inputs}
        for device in takers - {on}:
            sent[device] += 2 * float(work.output_bytes[producer]) * work.batch
    return sent


def step_seconds(work: Work, devices: Sequence[Device], placement: Sequence[int], count: int) -> float:
    """The time of a step as the search defines it."""
    took = work.fixed + work.per_sample * work.batch / count
    stages = [sum(float(took[device][layer]) for layer, on in enumerate(placement) if on == device)
              for device in range(max(placement) + 1)]  # fmt: skip
    sending = [sent / devices[device].bandwidth / count for device, sent in enumerate(sent_bytes(work, placement))]
    return sum(stages) + sum(sending) + (count - 1) * max(stages)


def held_bytes(work: Work, placement: Sequence[int]) -> list[float]:
    """The bytes that each device holds in a step."""
    held = [sent / 2 for sent in sent_bytes(work, placement)]
    for layer, device in enumerate(placement):
        held[device] += float(work.state_bytes[layer] + work.kept_bytes[layer] * work.batch)
    return held


def fits(work: Work, devices: Sequence[Device], placement: Sequence[int]) -> bool:
    """Whether every device has room for what it is to hold."""
    return all(device.limit is None or held <= device.limit
               for device, held in zip(devices, held_bytes(work, placement), strict=False))  # fmt: skip


def random_work(random: np.random.Generator, *, chain: bool, most_layers: int = 10) -> Work:
    """Layers of random cost: in a chain, or each with up to two inputs from anywhere before it."""
    layers, devices = int(random.integers(1, most_layers + 1)), int(random.integers(1, 5))
    inputs = [_inputs(random, layer, chain) for layer in range(layers)]
    return Work(
        tuple(f"layer_{place}" for place in range(layers)),
        tuple(inputs),
        fixed=random.random((devices, layers)) * 1e-3,
        per_sample=random.random((devices, layers)) * 1e-4,
        update=random.random((devices, layers)) * 1e-4,
        forward_share=np.full(layers, 1 / 3),
        output_bytes=random.integers(0, 4096, layers).astype(float),
        kept_bytes=random.integers(0, 4096, layers).astype(float),
        state_bytes=random.integers(0, 1 << 20, layers).astype(float),
        batch=int(random.integers(1, 257)),
    )


def random_devices(random: np.random.Generator, work: Work) -> list[Device]:
    """As many devices as the work has times for, about half of them with a limit that binds."""
    whole = float(work.held_bytes.sum())
    return [
        Device(f"GPU:{place}", whole * random.random() if random.random() < 0.6 else None, 1e8 * (1 + random.random()))
        for place in range(len(work.fixed))
    ]


def _inputs(random: np.random.Generator, layer: int, chain: bool) -> tuple[int, ...]:
    if not layer:
        return ()
    if chain:
        return (layer - 1,)
    return tuple(sorted({int(each) for each in random.integers(0, layer, random.integers(0, 3))}))
