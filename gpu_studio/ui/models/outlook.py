"""What will happen when a plan is trained on this machine, in words, as far as it is certain beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.plan import LogicalDevice, Machine, Plan, logical_devices, replicas
from gpu_studio.ui.units import mib, number, plural


@dataclass(frozen=True, slots=True)
class Prospect:
    """One logical device: its number among all (which gives it its colour), its limit and its share, in words."""

    place: int
    name: str
    limit: str
    share: str
    replica: bool


def prospects(plan: Plan, machine: Machine) -> tuple[Prospect, ...]:
    """Every logical device that TensorFlow will see, and what it gets of a step's batch."""
    holding = replicas(plan, machine)
    shares = shares_of(plan, len(holding))
    return tuple(
        Prospect(place, device.name, _limit(plan, device), _share(device, holding, shares), device.name in holding)
        for place, device in enumerate(logical_devices(plan, machine))
    )


def shares_of(plan: Plan, count: int) -> tuple[int, ...]:
    """How many samples of a step each of `count` replicas gets: as even as can be, and the first ones one more."""
    size = plan.training.batch_size
    if plan.training.batch_scope == "replica":
        return (size,) * count
    return tuple(size // count + (place < size % count) for place in range(count))


def facts(plan: Plan, machine: Machine) -> tuple[tuple[str, str], ...]:
    """Name and value of what is certain beforehand."""
    shares = shares_of(plan, len(replicas(plan, machine)))
    return (
        ("replicas", str(len(shares))),
        ("global batch", plural(sum(shares), "sample")),
        ("each replica", " or ".join(number(each) for each in sorted(set(shares), reverse=True))),
        ("epochs", number(plan.training.epochs)),
    )


def _limit(plan: Plan, device: LogicalDevice) -> str:
    if device.name.startswith("CPU"):
        return "host memory, no limit"
    if device.limit_mib is not None:
        return f"up to {mib(device.limit_mib)}"
    return "grows as needed" if plan.devices.memory_growth else "the whole card"


def _share(device: LogicalDevice, holding: tuple[str, ...], shares: tuple[int, ...]) -> str:
    if device.name not in holding:
        return "no replica"
    return plural(shares[holding.index(device.name)], "sample")
