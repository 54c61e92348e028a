"""Plain commands that start the workers of a script on one machine."""

from __future__ import annotations

import shlex

from gpu_studio.export.jobs.addresses import SCRIPT, restarts, worker_count
from gpu_studio.export.jobs.shell_text import filled
from gpu_studio.export.script_text import comment
from gpu_studio.plan import Plan, cluster_of

_LAUNCH = r"""#!/usr/bin/env bash
# @name@
#
# Starts the workers of @script@ on this machine. When one is lost, all start again from what
# they kept: they cannot take a lost one back. GPU Studio wrote it from a plan, and is not
# needed to run it.
#
#     bash @file@                 trains from the beginning
#     bash @file@ --resume        goes on from what was kept in ./trained
#     PYTHON=/opt/tf/bin/python bash @file@ --epochs 50 --output elsewhere
#
# Ctrl+C or SIGTERM: all workers end after the same step; --resume goes on from what they kept.
# On several machines, start @script@ on each of them by hand, with its own TF_CONFIG:
#
#     TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:23456", "10.0.0.2:23456"]},
#                 "task": {"type": "worker", "index": 0}}' python @script@
#
# TensorFlow listens on all interfaces, whatever the address, and asks for no password:
# whoever reaches a port can run what they like as you. Keep the ports behind a firewall.
set -u
cd "$(dirname "$0")" || exit
python=${PYTHON:-python3}
workers=@workers@
restarts=@restarts@
@cards@
if [ "${#cards[@]}" -gt 0 ] && [ "${#cards[@]}" -lt "$workers" ]; then
    echo "There are ${#cards[@]} cards for $workers workers: each needs at least one." >&2
    exit 2
fi

ports() {
@ports@
}

worker() {  # takes its number and the words for the script; it has its part of the cards
    local index=$1 cluster each=$((${#cards[@]} / workers))
    shift
    cluster=$(printf ', "127.0.0.1:%s"' "${listen[@]}")
    export TF_CONFIG="{\"cluster\": {\"worker\": [${cluster#, }]},
        \"task\": {\"type\": \"worker\", \"index\": $index}}"
    export no_grpc_proxy=127.0.0.1  # or they ask a proxy for each other, and wait for ever
    if [ "$each" -gt 0 ]; then
        CUDA_VISIBLE_DEVICES=$(IFS=, && echo "${cards[*]:index * each:each}")
        export CUDA_VISIBLE_DEVICES
    fi
    [ "$index" -eq 0 ] || exec >> "worker-$index.log" 2>&1
    exec "$python" @script@ "$@"
}

start() {  # all workers
    local index
    mapfile -t listen < <(ports)
    pids=()
    for ((index = 0; index < workers; index++)); do
        worker "$index" "$@" &
        pids+=($!)
    done
}

finish() {  # waits for all; when one fails, the others are ended, for they cannot go on
    local left=$workers code status=0
    while [ "$left" -gt 0 ]; do
        interrupted=
        wait -n
        code=$?
        [ -z "$interrupted" ] || continue
        [ "$code" -ne 127 ] || break
        left=$((left - 1))
        if [ "$code" -ne 0 ] && [ "$status" -eq 0 ]; then
            status=$code
            echo "A worker ended with status $code: see above, and worker-*.log." >&2
            kill -KILL "${pids[@]}" 2> /dev/null
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
    echo "All workers start again from what they kept." >&2
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
' "$workers\""""

_ALL_CARDS = """\
mapfile -t cards < <(nvidia-smi --query-gpu=uuid --format=csv,noheader 2> /dev/null)"""


def launch(plan: Plan, file: str = "launch.sh") -> str:
    """A shell script that starts all workers here, ends them together, and restarts them."""
    cluster = cluster_of(plan)
    port = cluster.port if cluster else 0
    count = worker_count(plan)
    return filled(
        _LAUNCH,
        name=comment(plan.name),
        script=SCRIPT,
        file=comment(file),
        workers=str(count),
        restarts=str(restarts(plan)),
        cards=_cards(plan),
        ports=f"    seq {port} {port + count - 1}" if port else _FREE_PORTS,
    )


def _cards(plan: Plan) -> str:
    """The line that lists the cards which the workers share out."""
    visible = plan.devices.visible
    if not visible:
        return _ALL_CARDS
    named = [each.removeprefix("GPU:") for each in visible if not each.startswith("CPU")]
    return f"cards=({' '.join(map(shlex.quote, named))})"
