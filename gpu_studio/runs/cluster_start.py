"""What the machines of a cluster plan are found to lack just before its run starts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.contract.consent import is_shell_allowed
from gpu_studio.hosts.slurm_run import can_be_named, shell_of
from gpu_studio.plan import AbsolutePlan, Cluster, Problem, cluster_of, shown


@dataclass(frozen=True, slots=True)
class MachineProblem(Problem):
    """Something that the plan's machines lack: `received` says what, `advice` what to do."""

    def __str__(self) -> str:
        return f"{self.received} {self.advice}"


def _of_start(cluster: Cluster, runs: Path) -> Iterator[MachineProblem]:
    """What keeps another engine from starting the workers, as far as it is known at once."""
    if cluster.start == "kubernetes":
        how = "gpu-studio export PLAN --to kubernetes writes the manifest."
        said = "Its workers are to be started by Kubernetes, which no run asks for them."
        yield MachineProblem("cluster.start", said, f'{how} Or set cluster.start = "local".')
        return
    if shutil.which("sbatch") is None:
        said = "Its workers are to be started by Slurm, and there is no sbatch on this machine."
        how = 'Train on a machine that submits jobs, or set cluster.start = "local".'
        yield MachineProblem("cluster.start", said, how)
    if not can_be_named(runs.resolve()):
        said = f"Slurm's scripts cannot name the folder of runs, {shown(str(runs.resolve()))}."
        how = "Train with --runs-dir and a folder without line breaks and backslashes in its path."
        yield MachineProblem("cluster.start", said, how)
    shared = cluster.slurm.folder if cluster.slurm else None
    if shared is not None and not runs.resolve().is_relative_to(Path(shared).resolve()):
        said = f"The nodes share {shared}, and runs are in {runs}."
        how = f"Train with --runs-dir {Path(shared, 'runs')}, or leave cluster.slurm.folder out."
        yield MachineProblem("cluster.slurm.folder", said, how)


def _of_shell(lines: Sequence[str]) -> Iterator[MachineProblem]:
    if not is_shell_allowed(lines):
        said = f"The plan gives Slurm lines of shell, which run as you: {shown(lines)}."
        how = "If you have read and trust them: gpu-studio train PLAN --allow-shell."
        yield MachineProblem("cluster.slurm", said, how)


def machine_problems(plan: AbsolutePlan, runs: Path) -> list[Problem]:
    """What keeps a run from training the workers of `plan`; nothing for plans of one process.

    Takes part of a second. `runs` is the folder of runs. Slurm is asked by the run itself: it may
    take its time.
    """
    cluster = cluster_of(plan)
    if cluster is None:
        return []
    if cluster.start != "local":
        return [*_of_start(cluster, runs), *_of_shell(shell_of(plan))]
    # Imported where it is needed: few plans have a cluster.
    from gpu_studio.hosts.examination import examined

    return [
        MachineProblem("cluster", each.found, " ".join(each.mend))
        for each in examined(plan, runs)
        if each.state == "bad"
    ]
