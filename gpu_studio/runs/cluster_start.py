"""What the machines of a cluster plan are found to lack just before its run starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu_studio.plan import AbsolutePlan, Problem
from gpu_studio.plan.strategies import cluster_of


@dataclass(frozen=True, slots=True)
class MachineProblem(Problem):
    """Something that the plan's machines lack: `received` says what, `advice` what to do."""

    def __str__(self) -> str:
        return f"{self.received} {self.advice}"


def machine_problems(plan: AbsolutePlan, runs: Path) -> list[Problem]:
    """What keeps the workers of `plan` from training on this machine; nothing for other plans.

    Takes part of a second. `runs` is the folder of runs.
    """
    cluster = cluster_of(plan)
    if cluster is None or cluster.start != "local":
        return []
    # Imported where it is needed: few plans have a cluster.
    from gpu_studio.hosts.examination import examined

    return [
        MachineProblem("cluster", each.found, " ".join(each.mend))
        for each in examined(plan, runs)
        if each.state == "bad"
    ]
