"""One device: all work on the device that the plan chooses, by TensorFlow's OneDeviceStrategy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_studio.plan.strategies.strategy import ALONE, OnOneDevice
from gpu_studio.plan.values import Distribution, Plan, Problem, Remedy, changing


class _OneDevice(OnOneDevice):
    def problems(self, chosen: Distribution) -> Iterator[Problem]:
        """It uses one device, and no more can be named."""
        if len(chosen.devices) > 1:
            advice = 'name one device, or choose strategy = "mirrored"'
            said = f'{len(chosen.devices)} devices with strategy "one_device"'
            yield Problem("distribution.devices", said, advice)


ONE_DEVICE = _OneDevice(
    name="one_device",
    title="One device",
    button="One device",
    line="Everything on one logical device, inside a strategy: as Mirrored, with nothing to share.",
    pace="one replica",
    pace_words=ALONE,
    variables="on the device chosen",
    gradients="computed and applied there",
    batches="the whole batch goes there",
    when="To choose the device that does the work, or to try a strategy's code on a single one.",
    costs="It is as fast as None on the same device; the other devices stay idle.",
    devices="one",
    picture="alone",
)


def alone(plan: Plan, device: str | None) -> Remedy:
    """The mend that trains the plan on this device alone, or on the first one if it is None."""
    names = () if device is None else (device,)
    only = ONE_DEVICE.instead_of(plan.distribution)
    return changing("Use one device", "", distribution=replace(only, devices=names))
