"""The time of a step without placing layers: the whole model on one device, or replicated."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.placement.work import Device, Work


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
