"""Central storage, in a script."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import expression_of, fill, literal
from gpu_studio.export.strategies.written import Written, devices_of
from gpu_studio.plan.strategies.central_storage import usual_home

_MAKE = """\
def make_strategy():
    \"\"\"The variables on one device, and on each device a replica that computes.

    Each step, the replicas read the variables, and their gradients are added up where
    the variables are. Less memory than copies everywhere, at the price of traffic.
    \"\"\"
    $devices
    parameter_device = $home
    return tf.distribute.experimental.CentralStorageStrategy(devices, parameter_device)
"""


def _functions(facts: ScriptFacts) -> str:
    home = facts.plan.distribution.parameter_device
    known = expression_of(usual_home) if home is None else literal(home)
    return fill(_MAKE, devices=devices_of(facts), home=known)


WRITTEN = Written(_functions, "on the parameter device")
