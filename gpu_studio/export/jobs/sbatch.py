"""A script for Slurm's `sbatch`, which starts the workers of a script as the tasks of a job."""

from __future__ import annotations

import shlex

from gpu_studio.export.jobs.addresses import (
    SCRIPT,
    cluster_in_shell,
    counts,
    restarts,
    task_in_shell,
)
from gpu_studio.export.jobs.shell_text import filled
from gpu_studio.export.script_text import comment, indented
from gpu_studio.plan import Plan, Slurm, cluster_of, slurm_options, strategy_of
from gpu_studio.plan.cluster_values import lead_seconds

_SBATCH = r"""#!/bin/bash
# @name@
#
#     sbatch @file@
#     sbatch @file@ --resume          goes on from what was kept in @kept@
#     scancel --signal=TERM JOB       @ended@
#
# The same happens when the time limit is near: then submit it with --resume.
# Its folder, with @script@, must be the same on all nodes. GPU Studio wrote it from a plan,
# and is not needed to run it.
#
@options@
# The first output stays when Slurm starts the job again.
#SBATCH --open-mode=append --output=%x-%j.out
# So many seconds before the time limit, the workers are told.
#SBATCH --signal=USR1@@lead@
@setup@
set -u
[ -z "${SLURM_CPUS_PER_TASK:-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
python=${PYTHON:-python3}
restarts=@restarts@
spared=${no_grpc_proxy:-}

# A line for each task: the address of its node, and a port that nothing listens on there. Those
# of the tasks of one job differ, and each job looks from a number of its own on.
addresses() {
    local task node port
    srun --label "$python" -c '
import os, socket

port = 10000 + int(os.environ["SLURM_JOB_ID"]) * 100 % 20000 + int(os.environ["SLURM_PROCID"])
while True:
    try:
        socket.socket().bind(("", port))
        break
    except OSError:
        port += int(os.environ["SLURM_NTASKS"])
print(os.environ["SLURMD_NODENAME"], port)' | sort -n | while read -r task node port; do
        printf '%s:%s\n' "$(scontrol -o show node "$node" |
            sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p')" "$port"
    done
}

listed() {  # addresses in JSON
    local text
    text=$(printf ', "%s"' "$@")
    echo "${text#, }"
}

@each@
workers() {
    mapfile -t all < <(addresses)
    [ "${#all[@]}" -eq "$SLURM_NTASKS" ] || return 1
@cluster@
    # Or they ask a proxy for each other, and wait for ever.
    no_grpc_proxy=$(printf '%s,' "${all[@]%:*}")$spared
    export no_grpc_proxy
    @run@srun --kill-on-bad-exit=1 bash -c '
        trap "" USR1  # until the script heeds it
@task@
        export TF_CONFIG="{\"cluster\": {$CLUSTER},
            \"task\": {\"type\": \"$kind\", \"index\": $number}}"
        exec "$0" "$@"' "$python" @script@ @output@"$@"
}

# Slurm has started the job again: after a node failed, or another job went first.
[ "${SLURM_RESTART_COUNT:-0}" -eq 0 ] || set -- --resume "$@"
started=0
@start@
"""

_EQUAL = "# Each task is a worker. One that ends badly ends all: they cannot go on without it."
_SERVED = """\
# The first task is the coordinator; workers follow, then servers. They end when it has ended.
# One that ends badly ends all, which go on from what the coordinator kept."""
_WORDS = ("workers", "they kept", "all workers end after the same step")
_WORDS_SERVED = (
    "processes",
    "the coordinator kept",
    "the coordinator keeps its state, and all end",
)
"""All processes, what they go on from, and how they end."""
_ONCE = 'workers "$@"'
_AGAIN = """\
until workers "$@"; do
    status=$?
    [ "$started" -lt "$restarts" ] || exit "$status"
    started=$((started + 1))
    echo "All @all@ start again from what @kept@." >&2
    set -- --resume "$@"
done"""


def sbatch(plan: Plan, name: str, file: str = "job.sbatch") -> str:
    """The script of a job. `name` is the plan's name as Slurm takes one.

    It has a task for each of the plan's processes, starts all again when one is lost, and ends
    with the processes' own exit status.
    """
    cluster = cluster_of(plan)
    wanted = (cluster.slurm if cluster else None) or Slurm()
    again, serves = restarts(plan), strategy_of(plan).serves
    all_, kept, ended = _WORDS_SERVED if serves else _WORDS
    options = slurm_options(wanted, name, sum(counts(plan).values()))
    return filled(
        _SBATCH,
        name=comment(plan.name),
        file=comment(file),
        script=SCRIPT,
        ended=ended,
        each=_SERVED if serves else _EQUAL,
        cluster=cluster_in_shell(plan),
        task=indented(task_in_shell(plan, "SLURM_PROCID"), 8),
        options="\n".join(f"#SBATCH {each}" for each in options),
        setup="\n".join(wanted.setup),
        restarts=str(again),
        lead=str(lead_seconds(wanted.time)),
        output=f"--output {shlex.quote(f'{wanted.folder}/{name}')} " if wanted.folder else "",
        kept=f"{wanted.folder}/{name}" if wanted.folder else "./trained",
        run="" if again else "exec ",
        start=filled(_AGAIN, all=all_, kept=kept) if again else _ONCE,
    )
