"""The part `[cluster]` of a plan: the processes of its run, and what starts them.

Only a plan whose strategy runs as several processes has this part; where it leaves it out, the
defaults hold.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final, Literal

StartedBy = Literal["local", "slurm", "kubernetes"]
JobKind = Literal["job", "jobset"]
Updates = Literal["async", "sync"]

MOST_WORKERS: Final = 1024
"""The most workers of a plan."""
MOST_REPLICAS: Final = 512 * MOST_WORKERS
"""So many are reckoned with for all workers, whatever a file says."""


@dataclass(frozen=True, slots=True)
class Slurm:
    """What Slurm is asked for. `folder` is shared by the nodes and the machine that submits.

    `time` is the limit as Slurm writes it, `04:00:00` or `1-12:00:00`. `setup` are lines of shell
    that come before the workers, `flags` further options of `sbatch`.
    """

    folder: str | None = None
    time: str = "01:00:00"
    partition: str | None = None
    gpus_per_worker: int = 0
    cpus_per_worker: int = 0
    setup: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """What the exported manifest asks for: an Indexed Job, or a JobSet where that is installed.

    `claim` is a PersistentVolumeClaim, mounted at `/runs`; None keeps nothing.
    """

    kind: JobKind = "job"
    image: str | None = None
    namespace: str | None = None
    claim: str | None = None
    gpus_per_worker: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """The processes of a run. Times are in seconds.

    `port` is the first of those that the workers listen on; 0 chooses free ones. A run fails if not
    all are there `start_within` so long. A worker that has been silent for `lost_after` is lost:
    then all start again from the newest checkpoint, `restarts` times, `with_fewer` workers if one
    cannot come back. TensorFlow's ports are open to whoever reaches them: `trusted_network` says
    that only trusted programs do. `servers` hold the variables, where the strategy has some; then
    `updates` says whether each worker updates them as soon as it has gradients ("async"), or all
    share each step ("sync").
    """

    start: StartedBy = "local"
    workers: int = 2
    servers: int = 0
    updates: Updates = "async"
    port: int = 0
    start_within: int = 300
    lost_after: int = 30
    restarts: int = 3
    with_fewer: bool = False
    trusted_network: bool = False
    slurm: Slurm | None = None
    kubernetes: Kubernetes | None = None

    @property
    def workers_counted(self) -> int:
        """From one to the most of a plan, whatever its file says: for what is made for each."""
        return min(max(1, self.workers), MOST_WORKERS)

    @property
    def processes(self) -> int:
        """How many processes listen on a port: with servers, a chief too."""
        return self.workers + self.servers + (1 if self.servers > 0 else 0)


def minutes(time: str) -> float:
    """A time as Slurm writes it (`30`, `30:00`, `04:00:00`, `1-12`, `1-12:30:00`), in minutes."""
    days, _, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days:
        hours, more, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, more, seconds = parts
    else:
        hours, (more, seconds) = 0, [*parts, 0][:2]
    return (int(days or 0) * 24 + hours) * 60 + more + seconds / 60


LEAD_S: Final = 120


def lead_seconds(time: str) -> int:
    """How long before the time limit the workers are told: two minutes, or half of a short one."""
    return min(LEAD_S, int(minutes(time) * 30))


def slurm_options(wanted: Slurm, name: str, workers: int) -> list[str]:
    """The options of a job called `name`, as the lines of a script give them to sbatch."""
    options = [f"--job-name={name}", f"--ntasks={workers}", f"--time={wanted.time}"]
    if wanted.partition is not None:
        options.append(f"--partition={shlex.quote(wanted.partition)}")
    if wanted.gpus_per_worker:
        options.append(f"--gpus-per-task={wanted.gpus_per_worker}")
    if wanted.cpus_per_worker:
        options.append(f"--cpus-per-task={wanted.cpus_per_worker}")
    return [*options, *wanted.flags]
