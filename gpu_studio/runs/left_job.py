"""The job of Slurm that a lost run has left behind: whether it waits, and why, or works on.

Only Slurm knows, and it may take seconds to say so, or not answer at all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gpu_studio.contract import RunDirectory, cluster_file
from gpu_studio.hosts.slurm import SlurmError, SlurmJob, SlurmMissingError, job_of, run
from gpu_studio.runs.diagnosis import Explanation, explain
from gpu_studio.runs.reading.summary import Summary

PATIENCE_S: Final = 5.0
ASK_AGAIN_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class LeftJob:
    """A job as a clause, `Slurm's job 4711 still waits: …`, what that means, and what to do."""

    clause: str
    meaning: str = ""
    advice: str = ""


def explained(directory: RunDirectory, exit_code: int | None = None) -> Explanation:
    """As `explain`, with the job that a lost run has left behind. Asks Slurm where there is one."""
    why = explain(directory, exit_code)
    return with_job(why, left_job(directory) if why.lost else None)


def with_job(why: Explanation, left: LeftJob | None) -> Explanation:
    """The explanation, and the job."""
    if left is None:
        return why
    said = " ".join(filter(None, (why.message, f"{left.clause}.", left.meaning)))
    return replace(why, message=said, suggestions=(*filter(None, (left.advice,)), *why.suggestions))


def left_job(directory: RunDirectory) -> LeftJob | None:
    """What a lost run has left behind; None if its job has ended, or there never was one."""
    number = cluster_file.job_of(directory)
    if not number:
        return None
    try:
        return _of_job(directory, job_of(number, PATIENCE_S))
    except SlurmMissingError:
        return LeftJob(
            f"Whether its job {number} of Slurm still waits cannot be asked here",
            advice=f"Where Slurm is, such as on a login node: squeue --jobs={number}",
        )
    except SlurmError as error:
        if "Invalid job id" in str(error):
            return None
        return _unknown(number, error)


def _of_job(directory: RunDirectory, job: SlurmJob) -> LeftJob | None:
    # A Slurm that was set up anew counts from 1 again: then it is the job of somebody else.
    if job.ended or Path(job.output).parts[-2:] != (directory.id, directory.log_file.name):
        return None
    name = f"Slurm's job {job.id}"
    if not job.waits:
        return LeftJob(
            f"{name} still {job.words.rstrip('.')}",
            "Its workers save and end once they have heard nothing for three minutes.",
            f"Have them save and end now: scancel --signal=TERM {job.id}",
        )
    return LeftJob(
        f"{name} still waits in the queue: {job.why_waiting}",
        "Nobody is left who would give it work: it ends soon after it has begun.",
        f"Take it out of the queue: scancel {job.id}",
    )


def _unknown(number: str, error: SlurmError) -> LeftJob:
    return LeftJob(
        f"Slurm does not say whether its job {number} still waits ({error})",
        advice=f"Look once Slurm answers: squeue --jobs={number}",
    )


class LeftJobs:
    """The jobs that lost runs of a list have left behind: asked for together, now and then."""

    def __init__(self) -> None:
        self._over: set[str] = set()
        self._reasons: Mapping[str, str] = {}
        self._asked = float("-inf")

    def added_to(self, found: Sequence[Summary]) -> list[Summary]:
        """The summaries, with the job of a lost run as the reason of its state."""
        lost = {each.id: each for each in found if each.job and each.id not in self._over}
        if lost and time.monotonic() - self._asked >= ASK_AGAIN_S:
            self._reasons = self._ask(lost)
            self._asked = time.monotonic()  # after the answer, which may have taken long
        reasons = self._reasons
        return [
            replace(each, reason=reasons[each.id], left=True) if each.id in reasons else each
            for each in found
        ]

    def _ask(self, lost: Mapping[str, Summary]) -> dict[str, str]:
        """Once for all that are in the queue; those that are not are never asked after again."""
        try:
            queue = run(["squeue", "--me", "--noheader", "--format=%i"], seconds=PATIENCE_S).split()
        except SlurmMissingError:
            self._over |= lost.keys()
            return {}
        except SlurmError as error:
            return {name: _unknown(each.job, error).clause for name, each in lost.items()}
        there = {name: each for name, each in lost.items() if each.job in queue}
        left = {name: left_job(each.directory) for name, each in there.items()}
        self._over |= {name for name in lost if left.get(name) is None}
        return {
            name: job.clause.removeprefix("Slurm's ")  # a list has little space
            for name, job in left.items()
            if job is not None
        }
