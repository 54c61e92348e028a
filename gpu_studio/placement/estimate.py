"""Times of layers that were never timed: by their FLOPs, at what the devices reach, if known.

What was measured of a machine's devices makes them seconds. Without it they are in relation to each
other only, as if all devices were equally fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.work import Times, by_flops
from gpu_studio.plan import PlannedDevice

Rates = Mapping[str, Mapping[str, float]]
"""FLOP/s by the physical device and the type."""
_KINDS: Mapping[str, tuple[str, ...]] = {
    "mixed_float16": ("float16",),
    "mixed_bfloat16": ("bfloat16",),
    # TensorFlow computes products of float32 in TF32 where a card has it, and the plan lets it.
    "float32": ("tf32", "float32"),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The times of the layers by device; in seconds if the devices' rates are known.

    `links` are the bytes/s to each physical device: none where times are no seconds, because a
    transfer could not be compared with them. `kind` is the type that the rates are of.
    """

    times: dict[str, Times]
    links: Mapping[str, float]
    kind: str = ""

    @property
    def in_seconds(self) -> bool:
        """Whether the times are seconds."""
        return bool(self.kind)


def estimated(
    model: ModelFacts,
    devices: Sequence[PlannedDevice],
    rates: Rates,
    links: Mapping[str, float],
    *,
    tf32: bool = True,
) -> Estimate:
    """The times of the model's layers on each device, by FLOPs; its layers must be known.

    All devices go by one type, in which each of them was measured; else none goes by seconds.
    """
    graph = model.graph
    if graph is None:
        return Estimate({}, {})
    for kind in _KINDS.get(model.policy, ("float32",)):
        if kind == "tf32" and not tf32:
            continue
        known = {device.physical: _rate(rates, device.physical, kind) for device in devices}
        in_it = any(kind in rates.get(device.physical, {}) for device in devices)
        if in_it and all(known.values()):
            times = {name: by_flops(graph, rate) for name, rate in known.items()}
            return Estimate({each.name: times[each.physical] for each in devices}, links, kind)
    return Estimate(dict.fromkeys((each.name for each in devices), by_flops(graph)), {})


def _rate(rates: Rates, physical: str, kind: str) -> float:
    """What a device reaches; a CPU has no TF32, and computes in float32 where cards have it."""
    of_device = rates.get(physical, {})
    if kind == "tf32" and physical.startswith("CPU"):
        kind = "float32"
    return of_device.get(kind, 0.0)
