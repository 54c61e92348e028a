"""Mirrored, in a script, with the all-reduce that the plan asks for or that suits the devices."""

from __future__ import annotations

from collections import Counter

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import expression_of, fill
from gpu_studio.export.strategies.written import Written, devices_of
from gpu_studio.plan import cards_alone

_MAKE = """\
def make_strategy():
    \"\"\"A copy of the model on each device, each trained on its part of every batch.

    After each step the replicas add up their gradients (the all-reduce) and all make
    the same update, so that the copies stay equal: synchronous data parallelism.
    \"\"\"
    $devices
    $all_reduce
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
on_cards = $cards_alone
nccl, on_one = tf.distribute.NcclAllReduce, tf.distribute.ReductionToOneDevice
return tf.distribute.MirroredStrategy(devices, nccl() if on_cards else on_one())"""

_RING = """\
# Between logical CPUs, and between slices of cards, a ring is what TensorFlow takes where
# no other way of adding up gradients is named. (Whole cards it joins by NCCL instead,
# which makes its own rings.)
return tf.distribute.MirroredStrategy(devices)"""

_BY_NAME = {
    "nccl": _NCCL,
    "ring": _RING,
    "hierarchical_copy": _HIERARCHICAL,
    "reduction_to_one_device": _REDUCE_HERE,
}


def _functions(facts: ScriptFacts) -> str:
    return fill(_MAKE, devices=devices_of(facts), all_reduce=_all_reduce(facts))


def _all_reduce(facts: ScriptFacts) -> str:
    wanted = facts.plan.distribution.all_reduce
    if wanted != "auto":
        return _BY_NAME[wanted]
    if _may_share(facts):
        return _REDUCE_ON_ONE
    return fill(_AUTO, cards_alone=expression_of(cards_alone))


def _may_share(facts: ScriptFacts) -> bool:
    """Return whether two replicas may lie on one card or CPU.

    NCCL cannot join such replicas.
    """
    chosen = facts.plan.distribution.devices
    if any(name.startswith("CPU") for name in chosen):
        return True
    carves = [each for each in facts.plan.devices.carve if not each.device.startswith("CPU")]
    slices = Counter({each.device: len(each.slices_mib) for each in carves})
    return len(chosen) != 1 and any(count > 1 for count in slices.values())


WRITTEN = Written(_functions, "a copy on each device")
