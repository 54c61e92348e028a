"""Mirrored, in the trainer, with an all-reduce that the devices at hand can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import cross_device_ops
from tensorflow.python.distribute.collective_util import CommunicationImplementation, Options

from gpu_studio.plan import (
    MIRRORED,
    DeviceLike,
    Distribution,
    halves_leave_one_out,
    suited,
    why_not_nccl,
)
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.strategies.spread import Spread, replicas_of


def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
    """A replica on each device. Raises PlanRefused for an all-reduce that the devices cannot do."""
    names = replicas_of(MIRRORED, chosen, devices)
    all_reduce = all_reduce_for(chosen.all_reduce, devices)
    strategy = strategy_over(names, all_reduce)
    return Spread(MIRRORED.name, strategy, names, names[0], all_reduce=all_reduce)


def all_reduce_for(wanted: str, devices: Sequence[DeviceLike]) -> str:
    """Return the all-reduce to use: `wanted`, or for "auto" the one that suits the devices.

    Raises PlanRefused for one that they cannot do: a plan may have been checked without its
    machine.
    """
    if wanted == "nccl" and why_not_nccl(devices):
        raise PlanRefused(
            "NCCL joins whole cards only; this plan mirrors over slices of one device.",
            ['Set distribution.all_reduce to "auto" or "reduction_to_one_device".'],
        )
    if wanted == "hierarchical_copy" and halves_leave_one_out(len(devices)):
        raise PlanRefused(
            "hierarchical_copy would leave out the gradient of the last "
            "of an odd number of replicas.",
            ['Set distribution.all_reduce to "auto".'],
        )
    return suited(devices) if wanted == "auto" else wanted


def strategy_over(names: Sequence[str], all_reduce: str) -> Any:
    """The strategy over logical devices of these names, with one way to sum gradients."""
    devices = [f"/device:{name}" for name in names]
    match all_reduce:
        case "hierarchical_copy":
            return tf.distribute.MirroredStrategy(
                devices, tf.distribute.HierarchicalCopyAllReduce(num_packs=1)
            )
        case "reduction_to_one_device":
            return tf.distribute.MirroredStrategy(devices, tf.distribute.ReductionToOneDevice())
    return _with_collectives(tf.distribute.MirroredStrategy(devices), all_reduce)


def _with_collectives(strategy: Any, all_reduce: str) -> Any:
    # TensorFlow picks ring or NCCL itself, by counting physical against logical devices, and its
    # count ignores hidden devices. There is no public way to say which; this is what its own
    # constructor does with the answer.
    extended = strategy.extended
    implementation = (
        CommunicationImplementation.NCCL
        if all_reduce == "nccl"
        else CommunicationImplementation.RING
    )
    extended._communication_options = Options(implementation=implementation)  # noqa: SLF001
    collective = cross_device_ops.CollectiveAllReduce(
        devices=extended._devices,  # noqa: SLF001
        group_size=len(extended._devices),  # noqa: SLF001
        options=extended._communication_options,  # noqa: SLF001
        collective_keys=extended._collective_keys,  # noqa: SLF001
    )
    extended._collective_ops = extended._cross_device_ops = collective  # noqa: SLF001
    return strategy
