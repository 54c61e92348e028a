"""The strategies as parts of a script. Each file has the name of its counterpart in the plan."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.strategies import (
    central_storage,
    mirrored,
    multi_worker,
    none,
    one_device,
    parameter_server,
    placed,
)
from gpu_studio.export.strategies.written import Written
from gpu_studio.plan import (
    CENTRAL_STORAGE,
    MIRRORED,
    NONE,
    ONE_DEVICE,
    PARAMETER_SERVER,
    PLACED,
    Plan,
)
from gpu_studio.plan.strategies.multi_worker import MULTI_WORKER

__all__ = ["WRITTEN", "strategy", "written_as"]

WRITTEN: Mapping[str, Written] = {
    NONE.name: none.WRITTEN,
    ONE_DEVICE.name: one_device.WRITTEN,
    MIRRORED.name: mirrored.WRITTEN,
    CENTRAL_STORAGE.name: central_storage.WRITTEN,
    MULTI_WORKER.name: multi_worker.WRITTEN,
    PARAMETER_SERVER.name: parameter_server.WRITTEN,
    PLACED.name: placed.WRITTEN,
}
"""The strategies that a script can be written for, by their names in a plan."""


def written_as(plan: Plan) -> Written:
    """Return how the plan's strategy is written.

    Raises KeyError if no script can be written for it.
    """
    return WRITTEN[plan.distribution.strategy]


def strategy(facts: ScriptFacts) -> str:
    """The part of a script that makes the strategy or places layers; empty if there is neither."""
    return written_as(facts.plan).functions(facts)
