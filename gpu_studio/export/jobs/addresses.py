"""The addresses in TF_CONFIG, the variable by which TensorFlow knows its cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice

from gpu_studio.plan import Plan, cluster_of, strategy_of

SCRIPT = "train.py"
"""The script that is started; it lies beside the file that starts it."""
FIRST_PORT = 23456
"""Where the plan leaves the port open: an export cannot know which ones will be free."""


def worker_count(plan: Plan) -> int:
    """How many workers the plan has; 1 without a cluster."""
    cluster = cluster_of(plan)
    return cluster.workers if cluster else 1


def first_port(plan: Plan) -> int:
    """The port of the first worker."""
    cluster = cluster_of(plan)
    return (cluster.port if cluster else 0) or FIRST_PORT


def restarts(plan: Plan) -> int:
    """How often all workers are started again after one was lost."""
    cluster = cluster_of(plan)
    return cluster.restarts if cluster else 0


def counts(plan: Plan) -> dict[str, int]:
    """How many processes of each kind TensorFlow's cluster has, in their order."""
    cluster = cluster_of(plan)
    if cluster is None or not strategy_of(plan).serves:
        return {"worker": worker_count(plan)}
    return {"chief": 1, "worker": cluster.workers, "ps": cluster.servers}


def shared_out(addresses: Sequence[str], plan: Plan) -> dict[str, list[str]]:
    """The cluster of these addresses, one for each process, by kind."""
    left = iter(addresses)
    return {kind: list(islice(left, count)) for kind, count in counts(plan).items()}


def local_addresses(plan: Plan) -> list[str]:
    """An address on this machine for each process, with ports one after the other."""
    port = first_port(plan)
    return [f"127.0.0.1:{port + index}" for index in range(sum(counts(plan).values()))]


def config(cluster: Mapping[str, Sequence[str]], kind: str, index: int) -> str:
    """TF_CONFIG of one process, as JSON on one line."""
    task = {"type": kind, "index": index}
    return json.dumps({"cluster": cluster, "task": task})


def configs(plan: Plan) -> str:
    """TF_CONFIG of each process, a line each, in their order."""
    cluster = shared_out(local_addresses(plan), plan)
    return "".join(
        f"{config(cluster, kind, index)}\n"
        for kind, addresses in cluster.items()
        for index in range(len(addresses))
    )


def cluster_in_shell(plan: Plan) -> str:
    """Lines of bash that put the addresses `all` into `CLUSTER`, as TF_CONFIG wants them."""
    begun, parts = 0, []
    for kind, count in counts(plan).items():
        parts.append(f'\\"{kind}\\": [$(listed "${{all[@]:{begun}:{count}}}")]')
        begun += count
    joined = ", \\\n        ".join(parts)
    return f'    export CLUSTER="{joined}"'


def task_in_shell(plan: Plan, place: str) -> str:
    """Lines of bash that say which process is the one whose place in `all` a variable holds."""
    if not strategy_of(plan).serves:
        return f"kind=worker number=${place}"
    workers = counts(plan)["worker"]
    return "\n".join(
        [
            "kind=chief number=0",
            f'[ "${place}" -lt 1 ] || kind=worker number=$(({place} - 1))',
            f'[ "${place}" -le {workers} ] || kind=ps number=$(({place} - {workers + 1}))',
        ]
    )
