"""A Slurm that is not there: it answers what a test has it know of the jobs of lost runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpu_studio.contract import RunDirectory, cluster_file, lock
from gpu_studio.contract.cluster_file import ClusterFile
from gpu_studio.hosts import slurm
from gpu_studio.hosts.slurm import SlurmError
from gpu_studio.plan import Plan, save
from gpu_studio.runs import left_job as left_jobs

WAITS = "JobState=PENDING Reason=Resources NodeList="
QUEUED = (
    "Slurm's job 4711 still waits in the queue: it waits until enough nodes are free (Resources)"
)


class FakeSlurm:
    """Stands for Slurm's commands: what it knows of jobs, and whether it answers."""

    def __init__(self) -> None:
        self.jobs: dict[str, str] = {}
        self.fails: SlurmError | None = None
        self.asked: list[str] = []

    def __call__(self, command: Sequence[str], **_options: Any) -> str:
        self.asked.append(command[0])
        if self.fails is not None:
            raise self.fails
        if command[0] == "squeue":
            return "\n".join(self.jobs)
        number = command[-1]
        if number not in self.jobs:
            raise SlurmError("Invalid job id specified")
        return f"JobId={number} JobName=two {self.jobs[number]} Restarts=0 ExitCode=0:0"


def fake_slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """One in the place of Slurm's commands."""
    fake = FakeSlurm()
    monkeypatch.setattr(slurm, "run", fake)
    monkeypatch.setattr(left_jobs, "run", fake)
    return fake


def lost_run(runs: Path, job: str = "4711") -> RunDirectory:
    """A run whose supervisor is gone, and which had this job."""
    run = RunDirectory.create(runs, "two")
    save(Plan(name="two"), run.plan_file)
    cluster_file.write(run, ClusterFile(start="slurm", attempt=0, members=[], job=job))
    lock.take(run.lock_file).release()
    return run


def of(run: RunDirectory, job: str) -> str:
    """A job as Slurm tells it that writes into the run's log."""
    return f"{job} StdOut={run.log_file}"
