"""Examine what a cluster plan needs before it starts: here, or on the nodes that Slurm gives.

Findings are those of the doctor: each says what was found, and what to type.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import psutil

from gpu_studio.hardware.doctor.findings import Finding
from gpu_studio.hosts import agent, slurm
from gpu_studio.hosts.judging import findings_of
from gpu_studio.hosts.views import HostView, views_in
from gpu_studio.plan import AbsolutePlan, Cluster, Plan, Slurm, cluster_of, reference
from gpu_studio.plan.cluster_values import minutes

LOCAL: Final = "127.0.0.1"
AGENT_S: Final = 60.0
"""So long the agents on the nodes have, besides the time that Slurm takes to start them."""
_MOST_OF_NODES: Final = 64 << 20
"""The answers of a thousand nodes are less."""
_LOCAL_DISKS: Final = frozenset({"ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs", "f2fs", "ext3"})

Tell = Callable[[str], None]


def examined(plan: AbsolutePlan, runs: Path, script: str = "") -> list[Finding]:
    """What would keep the plan's workers from training, found out here in less than two seconds.

    `runs` is the folder of runs. `script` is what would be submitted to Slurm, where Slurm starts
    the workers. Empty for a plan of a single process.
    """
    cluster = cluster_of(plan)
    if cluster is None:
        return []
    if cluster.start == "slurm":
        return [*_of_slurm(cluster, script), *_of_folder(cluster, runs)]
    if cluster.start == "kubernetes":
        found = "Nothing can be known of the pods here: kubectl apply --dry-run=server asks."
        return [Finding("kubernetes", "good", "Kubernetes", found)]
    return findings_of(cluster, _local_views(plan, cluster, runs))


def _local_views(plan: AbsolutePlan, cluster: Cluster, runs: Path) -> list[HostView]:
    """The view of each worker on this machine, which listens and is reached in this process."""
    folder = next(each for each in (runs.absolute(), *runs.absolute().parents) if each.exists())
    facts = agent.facts(str(folder), *named_files(plan)) | {"interfaces": own_addresses()}
    with ExitStack() as held:
        ports = [cluster.port and cluster.port + index for index in range(cluster.processes)]
        listeners = [agent.Listener(port) for port in ports]
        for each in listeners:
            held.callback(each.close)
        heard = [each for each in listeners if not each.error]
        links = {each: agent.reached(LOCAL, each.port) for each in heard}
        lines = []
        for index, own in enumerate(listeners):
            others = {str(n): links[one] for n, one in enumerate(listeners) if one in links}
            others.pop(str(index), None)
            port = 0 if own.error else own.port
            more = {"index": index, "address": LOCAL, "port": port, "port_error": own.error}
            lines.append(json.dumps({**facts, **more, "reached": others}))
    return views_in(lines, cluster.processes)


def own_addresses() -> list[str]:
    """The addresses of this machine's interfaces."""
    kinds = (socket.AF_INET, socket.AF_INET6)
    held = psutil.net_if_addrs().values()
    return [one.address for each in held for one in each if one.family in kinds]


def named_files(plan: AbsolutePlan) -> tuple[list[str], list[str]]:
    """The plan's data, and its code, by their paths."""
    data = [plan.data.file, plan.data.folder, plan.data.table, plan.model.file, plan.model.weights]
    training = plan.training
    names = (
        plan.model.python,
        plan.data.python,
        training.optimizer,
        training.loss.name,
        *(each.name for each in training.metrics),
        *(each.name for each in training.callbacks),
    )
    found = (reference(name) for name in names if name is not None)
    code = sorted({each.file for each in found if each is not None})
    return [each for each in data if each is not None], code


# Slurm: what it says without a job, and what its nodes say.


def _of_slurm(cluster: Cluster, script: str) -> list[Finding]:
    wanted = cluster.slurm or Slurm()
    try:
        said = slurm.would_start(script)
    except slurm.SlurmError as error:
        found, mend = slurm.no_job_words(error)
        return [Finding("request", "bad", "Slurm", found, (mend,))]
    return [Finding("request", "good", "Slurm", f"{said}."), *_of_time(wanted)]


def _of_time(wanted: Slurm) -> list[Finding]:
    try:
        most = slurm.most_minutes(wanted.partition)
    except (slurm.SlurmError, ValueError):
        return []
    if most is None or minutes(wanted.time) <= most:
        return []
    found = (
        f"The job asks for {wanted.time}, and its partition gives {most:.0f} minutes at most: it "
        "would wait for ever."
    )
    return [Finding("time", "bad", "Time limit", found, (f'cluster.slurm.time = "{most:.0f}"',))]


def _of_folder(cluster: Cluster, runs: Path) -> list[Finding]:
    folder = Path((cluster.slurm or Slurm()).folder or runs)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        found = f"{folder} is no folder that can be written to here."
        return [
            Finding(
                "folder", "bad", "Shared folder", found, (f"mkdir -p {shlex.quote(str(folder))}",)
            )
        ]
    kind = filesystem_of(folder)
    if kind in _LOCAL_DISKS:
        found = (
            f"{folder} lies on a disk of this machine ({kind}): other machines do not see it. "
            "--on-nodes looks from there."
        )
        mend = "Name a shared folder in cluster.slurm.folder."
        return [Finding("folder", "warning", "Shared folder", found, (mend,))]
    return [Finding("folder", "good", "Shared folder", f"{folder} ({kind or 'unknown disk'}).")]


def filesystem_of(path: Path) -> str:
    """The kind of a path's file system, such as `nfs4`; empty where the kernel does not say."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines.splitlines():
        fields = line.split()
        place = fields[4].replace("\\040", " ")
        inside = path.resolve().is_relative_to(place)
        if inside and len(place) >= len(best):
            best, kind = place, fields[fields.index("-") + 1]
    return kind


def examined_on_nodes(plan: AbsolutePlan, runs: Path, tell: Tell) -> list[Finding]:
    """What the nodes say: a task for each worker examines its node, by a short job of its own.

    Raises SlurmError if Slurm does not start it.
    """
    cluster = cluster_of(plan) or Cluster()
    folder = Path((cluster.slurm or Slurm()).folder or runs).absolute()
    data, code = named_files(plan)
    with tempfile.TemporaryDirectory(prefix=".examined-", dir=folder) as shared:
        wanted: dict[str, Any] = {"folder": str(folder), "shared": shared, "data": data}
        wanted |= {"code": code, "count": cluster.workers, "within": 20.0}
        tell("waiting until Slurm starts the examination")
        lines = _ran(_command(cluster, json.dumps(wanted)), tell)
    return findings_of(cluster, views_in(lines, cluster.processes))


def _command(cluster: Cluster, wanted: str) -> list[str]:
    chosen = cluster.slurm or Slurm()
    options = [f"--ntasks={cluster.workers}", "--time=2", "--job-name=examine"]
    options += [f"--partition={chosen.partition}"] if chosen.partition else []
    options += [f"--gpus-per-task={chosen.gpus_per_worker}"] if chosen.gpus_per_worker else []
    lines = "\n".join([*chosen.setup, 'exec "${PYTHON:-python3}" "$0" "$1"'])
    return ["srun", *options, *chosen.flags, "bash", "-c", lines, agent.__file__, wanted]


def _ran(command: Sequence[str], tell: Tell) -> list[str]:
    """The lines that a job of Slurm writes, however long Slurm lets it wait. Raises SlurmError."""
    job = slurm.answer_of(command, seconds=math.inf, most=_MOST_OF_NODES)
    lines, said = job.stdout, job.stderr
    if job.returncode != 0 and not lines.strip():
        raise slurm.SlurmError(slurm.words_of(said) or "srun failed")
    if queued := re.search(r"job \d+ queued", said):
        tell(queued[0])
    return lines.splitlines()


def needs_slurm(plan: Plan) -> bool:
    """Whether Slurm would start the plan's workers."""
    cluster = cluster_of(plan)
    return cluster is not None and cluster.start == "slurm"
