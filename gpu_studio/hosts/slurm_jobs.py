"""Jobs of Slurm that train the exported script of a plan: submitted, followed, stopped, gone on.

Slurm keeps what there is to know of a job; the folder that it works in keeps the rest. So nothing
is written here, and any machine of the cluster can follow any job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpu_studio.common.safe_files import write_output
from gpu_studio.contract import LineTail, make_private_directory
from gpu_studio.hosts import slurm
from gpu_studio.hosts.slurm import SlurmJob, job_of, output_of, run

JOB_FILE: Final = "job.sbatch"
KEPT: Final = Path("trained", "state.npz")
"""What the workers keep, from which `--resume` goes on, in the folder of a job."""
STOPPED_EARLY: Final = "stopped after step "
"""How the line of a script begins that was asked to stop; see `export.workers`."""


def submit(folder: Path, files: Mapping[str, bytes], words: Sequence[str]) -> str:
    """Write the files of a job into `folder`, submit it, and return its number.

    `words` are for its script. Raises SlurmError, OSError.
    """
    make_private_directory(folder)
    for name, content in files.items():
        write_output(folder / name, [content])
    return slurm.submit([JOB_FILE, *words], folder=folder)


def at_work_in(folder: Path) -> str | None:
    """The number of a job of this user that waits or works in `folder`. Raises SlurmError."""
    real = str(folder.resolve())
    for line in run(["squeue", "--me", "--noheader", "--format=%i %Z"]).splitlines():
        number, _, place = line.strip().partition(" ")
        if place == real:
            return number
    return None


def stop(number: str) -> bool:
    """Ask the workers of a job to keep their state after the same step, and to end.

    A job that waits is cancelled, as there is nothing to keep: False. Raises SlurmError.
    """
    waits = job_of(number).state == "PENDING"
    run(["scancel", number] if waits else ["scancel", "--signal=TERM", number])
    return not waits


@dataclass(frozen=True, slots=True)
class News:
    """What is new of a job: lines of its output, and its state in words if that has changed."""

    lines: tuple[str, ...]
    words: str = ""


class FollowedJob:
    """A job that is asked after from time to time. Raises SlurmError for one that is not known."""

    def __init__(self, number: str) -> None:
        self.job: SlurmJob = job_of(number)
        self.stopped_early = False
        self._words = ""
        self._tail = LineTail(output_of(number))

    def news(self) -> News:
        """What is new. Raises SlurmError."""
        self.job = job_of(self.job.id)
        lines = tuple(each.decode("utf-8", "replace") for each in self._tail.read_all())
        self.stopped_early |= any(line.startswith(STOPPED_EARLY) for line in lines)
        words = self.job.words
        new, self._words = words if words != self._words else "", words
        return News(lines, new)
