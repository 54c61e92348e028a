"""The part `[cluster]` of a plan: the processes of its run, and what starts them.

Only a plan whose strategy runs as several processes has this part; where it leaves it out, the
defaults hold.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
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


CLUSTER_WORDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "cluster.start": (
        "what starts the processes: this machine, Slurm, or Kubernetes by an exported manifest",
        "",
        "When one machine is not enough.",
    ),
    "cluster.workers": (
        "the processes that train, each with its own part of every batch",
        "TF_CONFIG: the addresses of `worker`",
        "One for each machine, or for each group of cards. Losses stay the same.",
    ),
    "cluster.servers": (
        "the processes that hold the variables, with a strategy that has servers",
        "TF_CONFIG: the addresses of `ps`",
        "More when one cannot send weights as fast as workers ask for them.",
    ),
    "cluster.updates": (
        (
            "how workers update the variables on servers: each on its own as soon as it has "
            "gradients, or all together once a step"
        ),
        "ClusterCoordinator.schedule, with or without waiting for all",
        (
            '"sync" for the losses of one device; "async" where workers are of unequal speed, at '
            "the price of gradients of older weights."
        ),
    ),
    "cluster.port": (
        "",
        "TF_CONFIG: the port of each address",
        "When a firewall lets certain ports through only.",
    ),
    "cluster.start_within": (
        "",
        "",
        "Longer where a machine takes minutes to begin. TensorFlow would wait without a word.",
    ),
    "cluster.lost_after": (
        "",
        "the heartbeat of TensorFlow's coordination service",
        "Longer where machines are so busy that a living worker is called lost.",
    ),
    "cluster.restarts": (
        "",
        "",
        "0 to end at the first loss. A restart trains on to the same losses.",
    ),
    "cluster.with_fewer": (
        "start again without a worker that cannot come back",
        "",
        "When a slower run is better than none. Losses stay the same, for the batch does.",
    ),
    "cluster.trusted_network": (
        "only trusted programs reach the ports of the workers",
        "",
        (
            "TensorFlow's ports ask for no password, and whoever reaches one can run what they "
            "like as you: set it only behind a firewall."
        ),
    ),
    "cluster.slurm.folder": (
        "the folder of the run, shared by the nodes and the machine that submits",
        "",
        "When the folder of runs is not on a shared file system.",
    ),
    "cluster.slurm.time": (
        "how long the job may take, as Slurm writes it",
        "sbatch --time",
        "Longer for long trainings; a shorter job often begins sooner.",
    ),
    "cluster.slurm.partition": (
        "the queue that the job waits in",
        "sbatch --partition",
        "When the cards you want are in another.",
    ),
    "cluster.slurm.gpus_per_worker": (
        "",
        "sbatch --gpus-per-task",
        "To the cards of one node, if each node has one worker.",
    ),
    "cluster.slurm.cpus_per_worker": (
        "",
        "sbatch --cpus-per-task",
        "When the workers wait for their data.",
    ),
    "cluster.slurm.setup": (
        "lines of shell before the workers, such as `module load cuda` or `source bin/activate`",
        "",
        "As your site tells you.",
    ),
    "cluster.slurm.flags": (
        "further options of `sbatch`, such as `--account=abc123`",
        "",
        "As your site tells you.",
    ),
    "cluster.kubernetes.kind": (
        "an Indexed Job, which needs nothing else, or a JobSet, which starts all again by itself",
        "",
        '"jobset" where the cluster has JobSet installed.',
    ),
    "cluster.kubernetes.image": (
        "the container image that has GPU Studio and your code",
        "",
        "With each new version of your code.",
    ),
    "cluster.kubernetes.namespace": ("the job's namespace", "", "As your administrator tells you."),
    "cluster.kubernetes.claim": (
        "the PersistentVolumeClaim that keeps the run, mounted at `/runs`",
        "",
        "Give one: without it checkpoints are gone when the pods are.",
    ),
    "cluster.kubernetes.gpus_per_worker": (
        "",
        "the limit nvidia.com/gpu of each pod",
        "To the cards of one node, if each node has one worker.",
    ),
}
"""Of each key of the part what `key_words.WORDS` says of all keys."""
