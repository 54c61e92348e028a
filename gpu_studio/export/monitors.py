"""The metric that decides which epoch was the best."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.plan.monitors import VALIDATION
from gpu_studio.plan.rules.training_rules import measured


def monitored(facts: ScriptFacts, monitor: str) -> str:
    """Return the metric meant by `monitor`.

    It is that of the training split where nothing is validated.
    """
    if monitor in measured(facts.plan) or not monitor.startswith(VALIDATION):
        return monitor
    return monitor.removeprefix(VALIDATION)
