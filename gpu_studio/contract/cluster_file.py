"""`cluster.json`: the processes that take part in a run now, and in which start of them."""

from __future__ import annotations

import msgspec

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import WorkerPlace
from gpu_studio.contract.files import json_line, read_json, write_private
from gpu_studio.contract.numbers import Whole


class ClusterMember(WorkerPlace, frozen=True):
    """One process; `started` and `boot` tell it from a later one with its number.

    See `kernel.started` and `kernel.boot_id`; None and empty where the system does not tell.
    """

    started: Whole | None = None
    boot: str = ""


class ClusterFile(msgspec.Struct, kw_only=True, frozen=True):
    """The content of `cluster.json`: `attempt` counts the starts, `job` is Slurm's number."""

    start: str
    attempt: Whole
    members: list[ClusterMember]
    job: str = ""


_decoder = msgspec.json.Decoder(ClusterFile)


def write(run: RunDirectory, cluster: ClusterFile) -> None:
    """Write who takes part. Raises OSError."""
    write_private(run.cluster_file, json_line(cluster))


def read(run: RunDirectory) -> ClusterFile | None:
    """Who takes part; None in a run of a single process, or if the file cannot be made out."""
    try:
        return read_json(run.cluster_file, _decoder.decode)
    except OSError:
        return None


def job_of(run: RunDirectory) -> str:
    """The number that Slurm gave its job, as the run wrote it down; empty if it had none."""
    known = read(run)
    return known.job if known is not None and known.job.isdecimal() else ""
