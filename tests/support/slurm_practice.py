"""A real Slurm of some nodes on this machine, in one folder, as this user, for tests of jobs.

It needs the Debian packages slurmctld, slurmd and slurm-client, but no service of the system and no
root. A job runs as the user of the test. Each node pretends to have two cores and 4 GB.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import PATIENCE_S
from training_runs import until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
MISSING = "needs Slurm; on Debian: sudo apt-get install slurmctld slurmd slurm-client"
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
_DEBIAN_SBIN = "/usr/sbin"

_CONF = """\
ClusterName=practice
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={spool}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=60
SlurmctldTimeout=300
MessageTimeout=60
BatchStartTimeout=120
InactiveLimit=0
FirstJobId={port}
MinJobAge=300
KillWait=5
{nodes}
PartitionName=debug Nodes=ALL Default=YES MaxTime=01:00:00 State=UP
"""
# By the numbers of their jobs tasks choose their ports: those of two clusters differ.
# Slurm 22.05 knows no "disabled", which later versions want.
_CGROUP = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def is_installed() -> bool:
    """Whether Slurm's programs are there. A user's path may lack the folder of its daemons."""
    return all(map(_found, PROGRAMS))


def _found(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=_DEBIAN_SBIN)


@dataclass(frozen=True)
class PracticeSlurm:
    """A cluster that is up, and the environment in which its commands find it."""

    folder: Path
    environment: Mapping[str, str]
    daemons: Mapping[str, subprocess.Popen[bytes]]

    def run(self, *command: str, folder: Path | None = None) -> str:
        """What a command of Slurm writes to stdout; the test fails if it does."""
        done = subprocess.run(
            command,
            env=dict(self.environment),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def facts(self, job: str) -> dict[str, str]:
        """What Slurm says of a job, such as JobState, Reason and ExitCode."""
        words = self.run("scontrol", "-o", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def state(self, job: str) -> str:
        """The state of a job: `PENDING`, `RUNNING`, …"""
        return self.facts(job)["JobState"]

    def ended(self, job: str, timeout: float = PATIENCE_S) -> str:
        """Wait for a job's end: its last state."""
        until(lambda: self.state(job) in ENDED, timeout)
        return self.state(job)


@contextmanager
def practice_slurm(
    folder: Path, nodes: int = 3, environment: Mapping[str, str] | None = None
) -> Iterator[PracticeSlurm]:
    """A cluster of nodes n0, n1, …, all idle; skips the test where Slurm is not installed.

    Its commands run in `environment`, and jobs get that from them; by default the test's own.
    """
    if not is_installed():
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as spool:
        # Sockets lie there, whose paths may have 107 letters: those of a test's folder have more.
        _write(folder, nodes, Path(spool))
        with _running(folder, nodes, environment) as cluster:
            yield cluster


@contextmanager
def _running(
    folder: Path, nodes: int, environment: Mapping[str, str] | None
) -> Iterator[PracticeSlurm]:
    """The cluster that is written there, until it has ended."""
    given = os.environ if environment is None else environment
    environment = {**given, "SLURM_CONF": str(folder / "slurm.conf")}
    daemons: dict[str, subprocess.Popen[bytes]] = {}
    try:
        with (folder / "daemons.log").open("wb") as log:
            for name, command in _commands(nodes):
                daemons[name] = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        cluster = PracticeSlurm(folder, environment, daemons)
        until(lambda: _idle(environment) == nodes, PATIENCE_S)
        assert _idle(environment) == nodes, (folder / "daemons.log").read_text()
        yield cluster
    finally:
        _end(daemons, environment)


def _commands(nodes: int) -> Iterator[tuple[str, list[str]]]:
    yield "slurmctld", [str(_found("slurmctld")), "-D", "-c"]
    for number in range(nodes):
        yield f"n{number}", [str(_found("slurmd")), "-D", "-N", f"n{number}"]


def _write(folder: Path, nodes: int, spool: Path) -> None:
    (folder / "state").mkdir(parents=True)
    host, (port, *ports) = socket.gethostname(), _free_ports(nodes + 1)
    lines = []
    for number, of_node in enumerate(ports):
        (spool / f"n{number}").mkdir()
        lines.append(
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={of_node} "
            "CPUs=2 RealMemory=4000 State=UNKNOWN"
        )
    text = _CONF.format(
        host=host,
        port=port,
        user=getpass.getuser(),
        folder=folder,
        spool=spool,
        nodes="\n".join(lines),
    )
    (folder / "slurm.conf").write_text(text)
    (folder / "cgroup.conf").write_text(_CGROUP)


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


def _idle(environment: Mapping[str, str]) -> int:
    """How many nodes are idle now."""
    command = ["sinfo", "-h", "-N", "-o", "%T"]
    done = subprocess.run(command, env=dict(environment), capture_output=True, text=True)
    return done.stdout.split().count("idle")


def _end(daemons: Mapping[str, subprocess.Popen[bytes]], environment: Mapping[str, str]) -> None:
    """End jobs first, whose steps outlive a node's daemon, then the daemons."""
    user = getpass.getuser()
    subprocess.run(["scancel", "--full", "--signal=KILL", f"--user={user}"], env=dict(environment))
    subprocess.run(["scancel", f"--user={user}"], env=dict(environment), capture_output=True)
    listed = ["squeue", "-h", "-o", "%i"]

    def none_left() -> bool:
        done = subprocess.run(listed, env=dict(environment), capture_output=True, text=True)
        return not done.stdout.strip()

    until(none_left, PATIENCE_S)
    for daemon in reversed(list(daemons.values())):
        daemon.send_signal(signal.SIGTERM)
    end = time.monotonic() + 10
    for daemon in daemons.values():
        try:
            daemon.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
