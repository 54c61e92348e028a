"""Which logical devices hold the model, and how its replicas share a batch."""

from __future__ import annotations

from gpu_studio.plan.logical import PlannedDevice, default_devices, logical_devices
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.strategies import strategy_of
from gpu_studio.plan.values import Plan

ONE_REPLICA_OPTIONS = ("gradient_accumulation_steps", "ema_overwrite_frequency")
"""Options of optimizers that need a single replica.

Keras changes variables in a conditional for them, which `tf.distribute` forbids in replicas.
"""


def replicas(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The names of the logical devices that hold a replica, or layers of a placed model.

    They are among `distribution.devices`; if the plan names none, among all GPUs, or without a GPU
    among all CPUs. Names in the plan are taken as they are: `validate` says which do not exist.
    """
    names = plan.distribution.devices or default_devices(logical_devices(plan, machine))
    return strategy_of(plan).replica_devices(plan.distribution, names)


def replica_devices(plan: Plan, machine: Machine) -> tuple[PlannedDevice, ...]:
    """The logical devices that `replicas` names, in that order, without those that do not exist."""
    known = {device.name: device for device in logical_devices(plan, machine)}
    return tuple(known[name] for name in replicas(plan, machine) if name in known)


def replica_count(plan: Plan, machine: Machine) -> int:
    """The number of replicas that share a global batch; a placed model is one."""
    return 1 if strategy_of(plan).places_layers else len(replicas(plan, machine))


def parameter_home(plan: Plan, machine: Machine) -> str | None:
    """The logical device that keeps all variables; None if each replica keeps its own."""
    return strategy_of(plan).parameter_home(plan.distribution, replicas(plan, machine))


def shares_of(plan: Plan, count: int) -> tuple[int, ...]:
    """The samples of a step for each of `count` replicas; the first ones may have one more."""
    size = plan.training.batch_size
    if plan.training.batch_scope == "replica":
        return (size,) * count
    return tuple(size // count + (place < size % count) for place in range(count))
