"""The part of a script that makes the strategy."""

from __future__ import annotations

from gpu_studio.export.devices import shares_a_card
from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import listing
from gpu_studio.export.literals import literal
from gpu_studio.export.placement import placement

_ALL_DEVICES = """\
# Every GPU, or where there is none, every logical CPU.
logical = tf.config.list_logical_devices
found = logical("GPU") or logical("CPU")
devices = [device.name.removeprefix("/device:") for device in found]"""

_ONE_DEVICE = """\
def make_strategy():
    \"\"\"Everything on one device: variables, computation and gradients.

    `with tf.device(…)` around the layers would not do it: that places the variables,
    but the forward pass and the gradients are computed on TensorFlow's default device.
    \"\"\"
    $devices
    return tf.distribute.OneDeviceStrategy(f"/device:{devices[0]}")
"""

_MIRRORED = """\
def make_strategy():
    \"\"\"A copy of the model on each device, each trained on its part of every batch.

    After each step the replicas add up their gradients (the all-reduce) and all make
    the same update, so that the copies stay equal: synchronous data parallelism.
    \"\"\"
    $devices
    $all_reduce
"""

_CENTRAL = """\
def make_strategy():
    \"\"\"The variables on one device, and on each device a replica that computes.

    Each step, the replicas read the variables, and their gradients are added up where
    the variables are. Less memory than copies everywhere, at the price of traffic.
    \"\"\"
    $devices
    $home
    return tf.distribute.experimental.CentralStorageStrategy(devices, parameter_device)
"""

_REDUCE_ON_ONE = """\
# Gradients are added up on the first device: replicas that share a card or a CPU share
# its memory, and NCCL refuses to join them.
cross_device = tf.distribute.ReductionToOneDevice()
return tf.distribute.MirroredStrategy(devices, cross_device)"""

_REDUCE_HERE = """\
# Gradients are added up on the first device and sent back to all.
cross_device = tf.distribute.ReductionToOneDevice()
return tf.distribute.MirroredStrategy(devices, cross_device)"""

_HIERARCHICAL = """\
# Gradients are added up within halves of the cards first, and then between the halves:
# for machines whose cards are linked in a hypercube, as NVIDIA's DGX-1.
cross_device = tf.distribute.HierarchicalCopyAllReduce(num_packs=1)
return tf.distribute.MirroredStrategy(devices, cross_device)"""

_NCCL = """\
# NCCL, NVIDIA's library, adds up gradients directly between whole cards.
cross_device = tf.distribute.NcclAllReduce()
return tf.distribute.MirroredStrategy(devices, cross_device)"""

_AUTO = """\
# NCCL joins whole cards, and nothing is faster there; logical CPUs share their memory,
# and there gradients are best added up on one of them.
on_cards = len(devices) > 1 and devices[0].startswith("GPU")
nccl, on_one = tf.distribute.NcclAllReduce, tf.distribute.ReductionToOneDevice
return tf.distribute.MirroredStrategy(devices, nccl() if on_cards else on_one())"""

_RING = """\
# Between logical CPUs, and between slices of cards, a ring is what TensorFlow takes where
# no other way of adding up gradients is named. (Whole cards it joins by NCCL instead,
# which makes its own rings.)
return tf.distribute.MirroredStrategy(devices)"""

_WAYS = {
    "nccl": _NCCL,
    "ring": _RING,
    "hierarchical_copy": _HIERARCHICAL,
    "reduction_to_one_device": _REDUCE_HERE,
}


def strategy(facts: Facts) -> str:
    """The function `make_strategy`, or those that place layers; empty for a plan without a strategy."""
    match facts.plan.distribution.strategy:
        case "one_device":
            return fill(_ONE_DEVICE, devices=_devices(facts))
        case "mirrored":
            return fill(_MIRRORED, devices=_devices(facts), all_reduce=_all_reduce(facts))
        case "central_storage":
            return fill(_CENTRAL, devices=_devices(facts), home=_home(facts))
        case "placed":
            return placement(facts)
    return ""


def _devices(facts: Facts) -> str:
    chosen = facts.plan.distribution.devices
    return listing("devices = ", [literal(name) for name in chosen], indent=4) if chosen else _ALL_DEVICES


def _all_reduce(facts: Facts) -> str:
    way = facts.plan.distribution.all_reduce
    if way != "auto":
        return _WAYS[way]
    return _REDUCE_ON_ONE if shares_a_card(facts) else _AUTO


def _home(facts: Facts) -> str:
    home = facts.plan.distribution.parameter_device
    if home is not None:
        return f"parameter_device = {literal(home)}"
    return 'parameter_device = "CPU:0" if len(devices) > 1 else devices[0]'
