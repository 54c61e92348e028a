"""None: TensorFlow trains on the first logical device, without a strategy."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.plan.strategies.strategy import ALONE, OnOneDevice
from gpu_studio.plan.values import Distribution, Problem


class _None(OnOneDevice):
    def problems(self, chosen: Distribution) -> Iterator[Problem]:
        """No device can be chosen: TensorFlow takes the first."""
        if chosen.devices:
            advice = 'leave them out, or choose strategy = "one_device" to say where it runs'
            yield Problem("distribution.devices", 'given with strategy "none"', advice)


NONE = _None(
    name="none",
    title="None",
    button="None",
    line=(
        "TensorFlow trains on the first logical device, plainly. The "
        "one to compare the others with."
    ),
    pace="one replica",
    pace_words=ALONE,
    variables="on the first logical device",
    gradients="computed and applied there",
    batches="the whole batch goes there",
    when=(
        "A model and a batch that fit one device. For a small model nothing "
        "is faster than sharing nothing."
    ),
    costs=(
        "The other devices stay idle; TensorFlow takes the memory of "
        "every visible card all the same."
    ),
    devices="none",
    picture="alone",
)
