"""The workers' addresses in TF_CONFIG, the variable by which TensorFlow knows its cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gpu_studio.plan import Plan, cluster_of

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


def local_addresses(plan: Plan) -> list[str]:
    """An address on this machine for each worker, with ports one after the other."""
    port = first_port(plan)
    return [f"127.0.0.1:{port + index}" for index in range(worker_count(plan))]


def config(addresses: Sequence[str], index: int) -> str:
    """TF_CONFIG of one worker, as JSON on one line."""
    task = {"type": "worker", "index": index}
    return json.dumps({"cluster": {"worker": list(addresses)}, "task": task})


def configs(plan: Plan) -> str:
    """TF_CONFIG of each worker, a line each, in their order."""
    addresses = local_addresses(plan)
    return "".join(f"{config(addresses, index)}\n" for index in range(len(addresses)))
