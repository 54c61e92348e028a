"""What is watched to tell which epoch was the best."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.plan.monitors import VALIDATION
from gpu_studio.plan.rules.training_rules import measured


def monitored(facts: Facts, monitor: str) -> str:
    """The measure meant by `monitor`: of the training split where nothing is validated."""
    if monitor in measured(facts.plan) or not monitor.startswith(VALIDATION):
        return monitor
    return monitor.removeprefix(VALIDATION)
