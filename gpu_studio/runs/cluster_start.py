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


def _started_elsewhere(start: str) -> MachineProblem:
    """A run is of this machine: who would start the workers otherwise gets a job."""
    slurm = "gpu-studio cluster submit PLAN has Slurm train it."
    how = {"slurm": slurm}.get(start, "gpu-studio export PLAN --to kubernetes writes the manifest.")
    said = f"Its workers are to be started by {start}, and a run starts them on this machine."
    return MachineProblem("cluster.start", said, f'{how} Or set cluster.start = "local".')


def machine_problems(plan: AbsolutePlan, runs: Path) -> list[Problem]:
    """What keeps a run from training the workers of `plan`; nothing for plans of one process.

    Takes part of a second. `runs` is the folder of runs.
    """
    cluster = cluster_of(plan)
    if cluster is None:
        return []
    if cluster.start != "local":
        return [_started_elsewhere(cluster.start)]
    # Imported where it is needed: few plans have a cluster.
    from gpu_studio.hosts.examination import examined

    return [
        MachineProblem("cluster", each.found, " ".join(each.mend))
        for each in examined(plan, runs)
        if each.state == "bad"
    ]
