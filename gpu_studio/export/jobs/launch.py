"""Plain commands that start the workers of a script on one machine."""

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
from gpu_studio.plan import Plan, cluster_of, strategy_of

_LAUNCH = r"""#!/usr/bin/env bash
# @name@
#
@about@
#
#     bash @file@                 trains from the beginning
#     bash @file@ --resume        goes on from what was kept in ./trained
#     PYTHON=/opt/tf/bin/python bash @file@ --epochs 50 --output elsewhere
#
@by_hand@
#
# TensorFlow listens on all interfaces, whatever the address, and asks for no password:
# whoever reaches a port can run what they like as you. Keep the ports behind a firewall.
set -u
cd "$(dirname "$0")" || exit
python=${PYTHON:-python3}
processes=@processes@
restarts=@restarts@
@cards@

ports() {
@ports@
}

listed() {  # addresses in JSON
    local text
    text=$(printf ', "%s"' "$@")
    echo "${text#, }"
}

@process@

start() {  # all of them
    local index
    mapfile -t all < <(ports | sed 's/^/127.0.0.1:/')
@cluster@
    pids=()
    for ((index = 0; index < processes; index++)); do
        process "$index" "$@" &
@noted@
    done
}

finish() {  # waits for all; when one fails, @others@
    local left=$processes code status=0
    while [ "$left" -gt 0 ]; do
        interrupted=
        wait -n
        code=$?
        [ -z "$interrupted" ] || continue
        [ "$code" -ne 127 ] || break
        left=$((left - 1))
        if [ "$code" -ne 0 ] && [ "$status" -eq 0 ]; then
            status=$code
            echo "@one@ ended with status $code: see above, and *.log." >&2
            kill -KILL "${pids[@]}" 2> /dev/null
@ended@
        fi
    done
    return "$status"
}

stop() {
    interrupted=yes
    asked=yes
    kill -TERM "${pids[@]}" 2> /dev/null
}

asked=
pids=()
trap stop INT TERM
start "$@"
until finish; do
    status=$?
    if [ -n "$asked" ] || [ "$restarts" -eq 0 ]; then
        exit "$status"
    fi
    restarts=$((restarts - 1))
    echo "All @all@ start again from what @kept@." >&2
    start --resume "$@"
done
"""

_FREE_PORTS = """\
    "$python" -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for each in held:
    each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in held), sep="\\n")
' "$processes\""""

_ALL_CARDS = """\
mapfile -t cards < <(nvidia-smi --query-gpu=uuid --format=csv,noheader 2> /dev/null)"""


_ABOUT = """\
# Starts the workers of @script@ on this machine. When one is lost, all start again from what
# they kept: they cannot take a lost one back. GPU Studio wrote it from a plan, and is not
# needed to run it."""
_ABOUT_SERVED = """\
# Starts the coordinator, the workers and the servers of @script@ on this machine. A worker that
# is lost starts again, while the others go on. When the coordinator or a server is lost, all
# start again from what the coordinator kept. GPU Studio wrote it from a plan, and is not needed
# to run it."""
_BY_HAND = """\
# Ctrl+C or SIGTERM: all workers end after the same step; --resume goes on from what they kept.
# On several machines, start @script@ on each of them by hand, with its own TF_CONFIG:
#
#     TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:23456", "10.0.0.2:23456"]},
#                 "task": {"type": "worker", "index": 0}}' python @script@"""
_BY_HAND_SERVED = """\
# Ctrl+C or SIGTERM: the coordinator keeps its state after a step, and all end; --resume goes on.
# On several machines, start @script@ by hand, with the TF_CONFIG that its first lines show."""
_WORKER = r"""process() {  # takes its number and the words for the script; has its cards
    local index=$1 kind number each=$((${#cards[@]} / processes))
    shift
@task@
@config@
    if [ "$each" -gt 0 ]; then
        CUDA_VISIBLE_DEVICES=$(IFS=, && echo "${cards[*]:index * each:each}")
        export CUDA_VISIBLE_DEVICES
    fi
    [ "$index" -eq 0 ] || exec >> "worker-$index.log" 2>&1
    exec "$python" @script@ "$@"
}"""
_SERVED = r"""process() {  # takes its place among all, and the words for the script
    local index=$1 kind number left=$restarts
    shift
@task@
@config@
    [ "$kind" = chief ] || exec >> "$kind-$number.log" 2>&1
    [ "$kind" = worker ] || exec "$python" @script@ "$@"
    trap "" INT TERM  # a worker ends when the coordinator does
    trap 'kill -KILL $(jobs -p); wait; exit 1' USR2  # or when that has failed
    while :; do
        "$python" @script@ "$@" &
        wait "$!" && exit
        [ "$left" -gt 0 ] || exit 1
        echo "Worker $number starts again: the others have gone on."
        left=$((left - 1))
    done
}"""
_CONFIG = r"""    export TF_CONFIG="{\"cluster\": {$CLUSTER},
        \"task\": {\"type\": \"$kind\", \"index\": $number}}"
    export no_grpc_proxy=127.0.0.1  # or they ask a proxy for each other, and wait for ever"""
_ENOUGH_CARDS = r"""
if [ "${#cards[@]}" -gt 0 ] && [ "${#cards[@]}" -lt "$processes" ]; then
    echo "There are ${#cards[@]} cards for $processes workers: each needs at least one." >&2
    exit 2
fi"""
_NOTED = "        pids+=($!)"
_NOTED_SERVED = """\
        [ "$index" -gt 0 ] && [ "$index" -le @workers@ ] || pids+=($!)"""
_ENDED_SERVED = """\
            # Workers would wait for a coordinator that has failed before it listened.
            kill -USR2 $(jobs -p) 2> /dev/null"""


def launch(plan: Plan, file: str = "launch.sh") -> str:
    """A shell script that starts all processes here, ends them together, and restarts them."""
    cluster = cluster_of(plan)
    port = cluster.port if cluster else 0
    count = sum(counts(plan).values())
    serves = strategy_of(plan).serves
    task = indented(task_in_shell(plan, "index"), 4)
    noted = filled(_NOTED_SERVED, workers=str(counts(plan)["worker"])) if serves else _NOTED
    return filled(
        _LAUNCH,
        about=filled(_ABOUT_SERVED if serves else _ABOUT, script=SCRIPT),
        by_hand=filled(_BY_HAND_SERVED if serves else _BY_HAND, script=SCRIPT),
        process=filled(_SERVED if serves else _WORKER, task=task, config=_CONFIG, script=SCRIPT),
        cluster=cluster_in_shell(plan),
        noted=noted,
        ended=_ENDED_SERVED if serves else "",
        others="all end" if serves else "the others are ended, for they cannot go on",
        one="One" if serves else "A worker",
        all="processes" if serves else "workers",
        kept="the coordinator kept" if serves else "they kept",
        name=comment(plan.name),
        script=SCRIPT,
        file=comment(file),
        processes=str(count),
        restarts=str(restarts(plan)),
        cards="" if serves else _cards(plan) + _ENOUGH_CARDS,
        ports=f"    seq {port} {port + count - 1}" if port else _FREE_PORTS,
    )


def _cards(plan: Plan) -> str:
    """The line that lists the cards which the workers share out."""
    visible = plan.devices.visible
    if not visible:
        return _ALL_CARDS
    named = [each.removeprefix("GPU:") for each in visible if not each.startswith("CPU")]
    return f"cards=({' '.join(map(shlex.quote, named))})"
