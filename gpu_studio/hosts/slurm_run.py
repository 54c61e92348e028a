"""A run whose workers are the tasks of a job of Slurm: the job's script, and what it is ordered.

The run's supervisor stays on the machine that submits, and the job works on its nodes; both see the
run's directory. There the supervisor writes an order for each start of all workers, and the job
heeds it: so nodes that were given once stay the run's own when all start again.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Final

from gpu_studio.common.processes import module_command
from gpu_studio.contract import (
    RunDirectory,
    make_own_directory,
    plain_slug,
    write_private,
)
from gpu_studio.hosts.slurm import FORGOTTEN, SlurmError, SlurmJob, job_of, pairs_in, run, submit
from gpu_studio.plan import Plan, Slurm, cluster_of, slurm_options
from gpu_studio.plan.cluster_values import lead_seconds

MEMBER: Final = "gpu_studio.trainer.cluster.member"
ORDERS: Final = "orders"
MAIL: Final = "said.jsonl"
"""What a worker says to its supervisor, beside its log."""
ALONE: Final = 69
"""How a worker ends whose supervisor is gone, as sysexits.h has it for what is not there."""
WITHOUT_ORDERS_S: Final = 300
"""So long a job that has nothing to do waits for its supervisor; then that is gone."""
ASK_S: Final = 2.0
OVER: Final = "over"


class _Piece(Template):
    """Shell with holes: `@{name}`, for a `$` is the shell's."""

    delimiter = "@"


_SCRIPT: Final = _Piece(r"""#!/bin/bash
#SBATCH --requeue
@{options}
#SBATCH --open-mode=append
#SBATCH --output=@{log}
# So many seconds before the time limit, the workers are told.
#SBATCH --signal=USR1@@@{lead}
@{setup}
set -u
[ -z "${SLURM_CPUS_PER_TASK:-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
python=${PYTHON:-@{python}}
run=@{folder}
export run
cd @{base} 2> /dev/null || cd "$run" || exit

# A task is a worker. What it leaves as its last word is how it ended.
worker='
    trap : TERM
    trap "" USR1 USR2  # until the worker heeds them
    own=$run/workers/$START-worker-$SLURM_PROCID
    [ "$SLURM_PROCID" -eq 0 ] || exec >> "$own/trainer.log" 2>&1
    "$0" "$@@" --index "$SLURM_PROCID" --attempt "$START" --count "$SLURM_NTASKS" "$run"
    status=$?
    printf "\n{\"type\":\"gone\",\"status\":%d}\n" $status >> "$own/@{mail}"
    [ $status -ne @{alone} ] || exit @{alone}'

# An order names a start of all workers, how many there are, and how often Slurm had put this job
# back into its queue by then: what was ordered before that is no order any more.
done=none
idle=0
while [ "$idle" -lt @{patience} ]; do
    start= count= restarts=
    read -r start count restarts 2> /dev/null < "$run/workers/@{orders}"
    [ "$start" != @{over} ] || exit "$count"
    if [ -z "$restarts" ] || [ "$start" = "$done" ] ||
        [ "$restarts" -ne "${SLURM_RESTART_COUNT:-0}" ]; then
        sleep 1
        idle=$((idle + 1))
        continue
    fi
    START=$start srun --ntasks="$count" --kill-on-bad-exit=0 \
        bash -c "$worker" "$python" @{words}
    [ $? -ne @{alone} ] || break  # nobody is left to give orders
    done=$start
    idle=0
done
echo "The supervisor of this run is gone, and so is this job." >&2
exit 1
""")


def shell_of(plan: Plan) -> tuple[str, ...]:
    """The lines of shell that the plan gives Slurm where a run starts by that; they run as you."""
    cluster = cluster_of(plan)
    if cluster is None or cluster.start != "slurm" or cluster.slurm is None:
        return ()
    return (*cluster.slurm.setup, *cluster.slurm.flags)


def can_be_named(folder: Path) -> bool:
    """Whether a script for Slurm can name this folder as that of its output.

    What stands behind a line break would be shell; sbatch drops backslashes.
    """
    return "\\" not in str(folder) and str(folder).splitlines() == [str(folder)]


def run_script(plan: Plan, folder: Path, python: str = sys.executable) -> str:
    """The script of the job that trains the run in `folder`. The plan has a cluster."""
    cluster = cluster_of(plan)
    wanted = (cluster.slurm if cluster else None) or Slurm()
    workers = cluster.workers if cluster else 1
    options = slurm_options(wanted, plain_slug(plan.name), workers)
    return _SCRIPT.substitute(
        options="\n".join(f"#SBATCH {each}" for each in options),
        log=shlex.quote(str(RunDirectory(folder).log_file)).replace("%", "%%"),
        lead=lead_seconds(wanted.time),
        setup="\n".join(wanted.setup),
        python=shlex.quote(python),
        folder=shlex.quote(str(folder)),
        base=shlex.quote(str(Path.cwd())),
        mail=MAIL,
        patience=WITHOUT_ORDERS_S,
        orders=ORDERS,
        alone=ALONE,
        over=OVER,
        words=shlex.join(module_command(MEMBER)[1:]),
    )


class RunJob:
    """The job of a run, from its first order on."""

    def __init__(self, directory: RunDirectory, script: str) -> None:
        self._script = script
        self._workers = directory.path / "workers"
        self._asked = float("-inf")
        self.ordered = 0
        self.job: SlurmJob | None = None

    @property
    def number(self) -> str:
        """Its number in Slurm; empty before it is submitted."""
        return self.job.id if self.job else ""

    def order(self, start: int, count: int) -> None:
        """Have `count` workers started, by a new job if there is none.

        Raises SlurmError, OSError.
        """
        make_own_directory(self._workers)
        self.ordered = self.job.restarts if self.job and not self.job.ended else 0
        self._write(f"{start} {count} {self.ordered}")
        if self.job is None or self.job.ended:
            number = submit([], text=self._script)
            self.job = SlurmJob(number, "", "PENDING", "None", "", "")

    def look(self) -> SlurmJob:
        """How the job is, asked for every other second; as it was, if Slurm does not answer.

        One that Slurm has forgotten has ended.
        """
        assert self.job is not None
        if time.monotonic() - self._asked >= ASK_S:
            try:
                self.job = job_of(self.job.id)
            except SlurmError as error:
                if "Invalid job id" in str(error) and not self.job.ended:
                    self.job = SlurmJob(self.job.id, "", FORGOTTEN, "None", "", "")
            self._asked = time.monotonic()  # after the answer, which may have taken long
        return self.job

    def look_anew(self) -> SlurmJob:
        """How the job is now, however lately it was asked for."""
        self._asked = float("-inf")
        return self.look()

    def ask_to_stop(self) -> bool:
        """Have the workers keep their state after the same step; return whether Slurm told them."""
        try:
            run(["scancel", "--signal=TERM", self.number])
        except SlurmError:
            return False
        return True

    def end_workers(self) -> None:
        """End the workers, and not the job."""
        if not self.number:  # squeue would take that for all jobs
            return
        with suppress(SlurmError):
            steps = run(["squeue", "--steps", f"--jobs={self.number}", "--noheader", "--format=%i"])
            numbers = [each for each in steps.split() if re.fullmatch(r"\d+\.\d+", each)]
            if numbers:
                run(["scancel", "--signal=KILL", *numbers])

    def close(self, status: int) -> None:
        """Let the job end with this status; one that waits is cancelled."""
        self._let_end(status)
        if self.job is not None and self.look_anew().state == "PENDING":
            self.cancel()

    def cancel(self) -> None:
        """End it at once, whatever it does; one that is only being submitted ends as it begins."""
        self._let_end(1)
        if self.number:
            with suppress(SlurmError):
                run(["scancel", self.number])

    def _let_end(self, status: int) -> None:
        with suppress(OSError):
            self._write(f"{OVER} {status} 0")

    def _write(self, order: str) -> None:
        write_private(self._workers / ORDERS, f"{order}\n".encode())


def addresses_of(nodes: Sequence[str]) -> dict[str, str]:
    """What the nodes are reached by, as Slurm reaches them. Raises SlurmError."""
    return _values_of(nodes, "NodeAddr")


def down_among(nodes: Sequence[str]) -> list[str]:
    """Those of the nodes that are down, or do not answer Slurm; none if it does not tell."""
    try:
        states = _values_of(nodes, "State") if nodes else {}
    except SlurmError:
        return []
    return [node for node, state in states.items() if re.search(r"DOWN|FAIL|\*|NOT_RESP", state)]


def _values_of(nodes: Sequence[str], what: str) -> dict[str, str]:
    """What Slurm tells of each node under this name. Raises SlurmError."""
    said = run(["scontrol", "-o", "show", "node", ",".join(dict.fromkeys(nodes))])
    rows = (dict(pairs_in(line)) for line in said.splitlines())
    values = {row.get("NodeName", ""): row.get(what, "").strip() for row in rows}
    return {node: value for node, value in values.items() if node and value}
