"""`tf.distribute` strategies as the plan names them, each with an all-reduce that the devices at hand can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import cross_device_ops
from tensorflow.python.distribute.collective_util import CommunicationImplementation, Options

from gpu_studio.plan import Distribution
from gpu_studio.runs.events import LogicalDevice
from gpu_studio.trainer.errors import PlanRefused


@dataclass(frozen=True, slots=True)
class Spread:
    """A strategy and what was decided for it. `replicas` are logical names; of `placed`, those that hold its layers.

    `known` are all logical devices.
    """

    name: str
    strategy: Any
    replicas: tuple[str, ...]
    all_reduce: str | None = None
    parameter_device: str | None = None
    known: tuple[str, ...] = ()


def spread_over(distribution: Distribution, logical: Sequence[LogicalDevice]) -> Spread:
    """The strategy of a plan over these logical devices. Raises PlanRefused where they cannot carry it."""
    devices = _chosen(distribution, logical)
    names = tuple(device.name for device in devices)
    match distribution.strategy:
        case "none":
            return Spread("none", tf.distribute.get_strategy(), names[:1])
        case "one_device":
            return Spread("one_device", tf.distribute.OneDeviceStrategy(f"/device:{names[0]}"), names[:1])
        case "mirrored":
            way = all_reduce_for(distribution.all_reduce, devices)
            return Spread("mirrored", _mirrored(names, way), names, all_reduce=way)
        case "central_storage":
            home = distribution.parameter_device or ("CPU:0" if len(names) > 1 else names[0])
            strategy = tf.distribute.experimental.CentralStorageStrategy(list(names), home)
            return Spread("central_storage", strategy, names, parameter_device=home)
        case "placed":
            used = _used(distribution, names)
            return Spread("placed", tf.distribute.get_strategy(), used, known=tuple(each.name for each in logical))
    raise PlanRefused(f"This trainer cannot run the strategy {distribution.strategy!r}.", ["Choose mirrored."])


def all_reduce_for(wanted: str, devices: Sequence[LogicalDevice]) -> str:
    """The all-reduce to use: `wanted`, or for "auto" the one that suits the devices.

    NCCL refuses two ranks on one card, and CPUs have none, so there the gradients are summed on one device: slices of
    a card and logical CPUs share their memory, and a ring between them only adds copies.
    """
    cards = [device.physical for device in devices]
    shared = len(set(cards)) < len(cards)
    on_cpu = any(device.name.startswith("CPU") for device in devices)
    if wanted == "nccl" and (shared or on_cpu):
        raise PlanRefused(
            "NCCL joins whole cards only; this plan mirrors over slices of one device.",
            ['Set distribution.all_reduce to "auto" or "reduction_to_one_device".'],
        )
    if wanted == "hierarchical_copy" and len(devices) > 1 and len(devices) % 2:
        raise PlanRefused(
            "hierarchical_copy would leave out the gradient of the last of an odd number of replicas.",
            ['Set distribution.all_reduce to "auto".'],
        )
    if wanted != "auto":
        return wanted
    return "reduction_to_one_device" if shared or on_cpu or len(devices) == 1 else "nccl"


def _used(distribution: Distribution, names: Sequence[str]) -> tuple[str, ...]:
    """The devices that a placement names, in its order; the first of `names` where it names none."""
    layers = distribution.placed.layers if distribution.placed else {}
    return tuple(dict.fromkeys(device for devices in layers.values() for device in devices)) or tuple(names[:1])


def _mirrored(names: Sequence[str], way: str) -> Any:
    devices = [f"/device:{name}" for name in names]
    match way:
        case "hierarchical_copy":
            return tf.distribute.MirroredStrategy(devices, tf.distribute.HierarchicalCopyAllReduce(num_packs=1))
        case "reduction_to_one_device":
            return tf.distribute.MirroredStrategy(devices, tf.distribute.ReductionToOneDevice())
    return _with_collectives(tf.distribute.MirroredStrategy(devices), way)


def _with_collectives(strategy: Any, way: str) -> Any:
    # TensorFlow picks ring or NCCL itself, by counting physical against logical devices, and its count ignores hidden
    # devices. There is no public way to say which; this is what its own constructor does with the answer.
    extended = strategy.extended
    implementation = CommunicationImplementation.NCCL if way == "nccl" else CommunicationImplementation.RING
    extended._communication_options = Options(implementation=implementation)  # noqa: SLF001
    extended._collective_ops = extended._cross_device_ops = cross_device_ops.CollectiveAllReduce(  # noqa: SLF001
        devices=extended._devices,  # noqa: SLF001
        group_size=len(extended._devices),  # noqa: SLF001
        options=extended._communication_options,  # noqa: SLF001
        collective_keys=extended._collective_keys,  # noqa: SLF001
    )
    return strategy


def _chosen(distribution: Distribution, logical: Sequence[LogicalDevice]) -> list[LogicalDevice]:
    known = {device.name: device for device in logical}
    missing = [name for name in distribution.devices if name not in known]
    if missing:
        raise PlanRefused(
            f"The plan spreads over {', '.join(missing)}, which TensorFlow does not see.",
            [f"Choose among {', '.join(known)}."],
        )
    if distribution.devices:
        return [known[name] for name in distribution.devices]
    cards = [device for device in logical if device.name.startswith("GPU")]
    return cards or list(logical)
