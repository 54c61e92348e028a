"""One device, in a script."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill
from gpu_studio.export.strategies.written import Written, devices_of

_MAKE = """\
def make_strategy():
    \"\"\"Everything on one device: variables, computation and gradients.

    `with tf.device(…)` around the layers would not do it: that places the variables,
    but the forward pass and the gradients are computed on TensorFlow's default device.
    \"\"\"
    $devices
    return tf.distribute.OneDeviceStrategy(f"/device:{devices[0]}")
"""


def _functions(facts: ScriptFacts) -> str:
    return fill(_MAKE, devices=devices_of(facts))


WRITTEN = Written(_functions, "on its device")
