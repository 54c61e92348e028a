"""Variables on one device, replicas on all, by `tf.distribute`'s CentralStorageStrategy."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.plan.strategies.strategy import TOGETHER, Strategy
from gpu_studio.plan.values import Distribution


class _CentralStorage(Strategy):
    def parameter_home(self, chosen: Distribution, replicas: Sequence[str]) -> str | None:
        """The device that the plan names, or else the usual one."""
        return chosen.parameter_device or usual_home(replicas)


def usual_home(devices: Sequence[str]) -> str:
    """The device that keeps the variables of these replicas if the plan names none.

    Exported scripts decide by this very expression.
    """
    return "CPU:0" if len(devices) > 1 else devices[0]


CENTRAL_STORAGE = _CentralStorage(
    name="central_storage",
    title="Central storage",
    button="Central",
    line="Variables live in one place, and every logical device computes with them.",
    pace="synchronous",
    pace_words=TOGETHER,
    variables="once, on the parameter device; every replica reads them in each step",
    gradients="sent to the parameter device, summed and applied there",
    batches="cut into even parts, one for each replica",
    when=(
        "Cards that cannot read each other's memory, and models with few "
        "weights for their work (convolutions)."
    ),
    costs=(
        "All weights cross to each device in each step, and all gradients back. Under Keras' own "
        "fit the loss it reports is wrong; runs here use a loop of their own, which reports it "
        "right."
    ),
    devices="many",
    picture="central",
    replicates=True,
    has_parameter_device=True,
    # Nadam keeps a running product and Muon decays the weights by itself: both write variables in
    # each replica.
    refused_optimizers=("nadam", "muon"),
    less_communication='distribution.strategy = "mirrored" keeps the weights where they are used.',
)
