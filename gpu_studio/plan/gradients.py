"""Which all-reduce sums the gradients of replicas, and which ones the devices cannot do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpu_studio.plan.logical import DeviceLike
from gpu_studio.plan.machine import Machine, title_of
from gpu_studio.plan.problems import listed
from gpu_studio.plan.replication import replica_devices
from gpu_studio.plan.values import Plan


class NcclRefusal(NamedTuple):
    """Why NCCL cannot connect these devices: `where`, in a few words, and `why`, in a clause."""

    where: str
    why: str


def cards_alone(devices: Sequence[str]) -> bool:
    """Whether these logical devices, each on a card or CPU of its own, are several cards.

    Exported scripts decide by this very expression.
    """
    return len(devices) > 1 and all(name.startswith("GPU") for name in devices)


def suited(devices: Sequence[DeviceLike]) -> str:
    """The all-reduce that `auto` takes for replicas on these devices.

    NCCL joins whole cards. Slices of a card and logical CPUs share their memory: there the
    gradients are summed on one device, and a ring between them would only add copies.
    """
    apart = len({device.physical for device in devices}) == len(devices)
    whole = apart and cards_alone([device.name for device in devices])
    return "nccl" if whole else "reduction_to_one_device"


def effective(plan: Plan, machine: Machine) -> str:
    """The all-reduce that a run of the plan takes on this machine."""
    wanted = plan.distribution.all_reduce
    return suited(replica_devices(plan, machine)) if wanted == "auto" else wanted


def nccl_refusals(devices: Sequence[DeviceLike]) -> Iterator[NcclRefusal]:
    """Why NCCL cannot connect these devices; empty if it can."""
    if any(device.name.startswith("CPU") for device in devices):
        yield NcclRefusal("on CPUs", "NCCL joins NVIDIA cards only")
    cards = Counter(device.physical for device in devices if not device.name.startswith("CPU"))
    shared = [card for card, count in cards.items() if count > 1]
    if shared:
        why = f"NCCL refuses two replicas on one card, here {listed(map(title_of, shared))}"
        yield NcclRefusal("with several slices of a card", why)


def why_not_nccl(devices: Sequence[DeviceLike]) -> str:
    """Why NCCL refuses these devices, in a clause; empty if it takes them."""
    return next((refusal.why for refusal in nccl_refusals(devices)), "")


def halves_leave_one_out(replicas: int) -> bool:
    """Whether `hierarchical_copy` would omit a replica's gradient.

    TensorFlow 2.21 sums two halves of `replicas // 2` replicas each.
    """
    return replicas > 1 and replicas % 2 == 1
