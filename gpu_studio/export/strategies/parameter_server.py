"""Parameter server, in a script that is started for a coordinator, for workers and for servers."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill, functions_of, source_below_imports
from gpu_studio.export.strategies.written import Written
from gpu_studio.export.workers import helpers
from gpu_studio.plan import cluster_of
from gpu_studio.plan.cluster_values import Cluster

_MAKE = """\
WORKERS, SERVERS = $workers, $servers  # of a start without TF_CONFIG
START_WITHIN = $seconds  # seconds until all of them must be there


def cluster_named():
    \"\"\"The cluster in TF_CONFIG, if there is any, and which of its processes this is.\"\"\"
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if not config:
        return {}, {"type": "chief", "index": 0}
    cluster = config.get("cluster", {})
    wanting = [kind for kind in ("chief", "worker", "ps") if not cluster.get(kind)]
    wanting += [] if "task" in config else ["task"]
    if wanting:
        names = " and no ".join(wanting)
        raise SystemExit(f"TF_CONFIG has no {names}: see this script's first lines.")
    return cluster, config["task"]


def answers(address):
    \"\"\"Whether anybody listens at this address.\"\"\"
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def wait_for(what, address):
    \"\"\"Return once somebody listens there: TensorFlow would wait in silence.\"\"\"
    began = time.monotonic()
    while not answers(address):
        if time.monotonic() - began > START_WITHIN:
            raise SystemExit(f"{what} has not come: nobody listens at {address}.")
        time.sleep(0.2)


def serve(cluster, task):
    \"\"\"Compute, or hold variables, as the coordinator says, until that has ended.\"\"\"
    name, (coordinator,) = f"{task['type']} {task['index']}", cluster["chief"]
    server = tf.distribute.Server(
        cluster, job_name=task["type"], task_index=task["index"], protocol="grpc"
    )
    print(f"{name} waits for the coordinator", flush=True)
    wait_for("The coordinator", coordinator)
    # Slurm and Kubernetes tell all processes to stop: the coordinator heeds it for all.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    silent = 0
    while silent < 3:
        time.sleep(1)
        silent = 0 if answers(coordinator) else silent + 1
    print(f"{name} ends: the coordinator has ended", flush=True)
    del server  # it has served until here


def cluster_here():
    \"\"\"Workers and servers that are threads of this process, to try the script.\"\"\"
    held = [socket.socket() for _ in range(1 + WORKERS + SERVERS)]
    for each in held:
        each.bind(("", 0))
    me, *others = [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    cluster = {"chief": [me], "worker": others[:WORKERS], "ps": others[WORKERS:]}
    # All share the threads of one process: with fewer they would wait for each other.
    threads = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=2 * len(held))
    for kind in ("worker", "ps"):
        for number in range(len(cluster[kind])):
            tf.distribute.Server(
                cluster, job_name=kind, task_index=number, config=threads
            )
    return cluster


def make_strategy():
    \"\"\"Servers hold the variables, each of them whole; workers read and change them.

    This process is the coordinator: it makes the variables, reads the data, and gives
    the steps to the workers.
    \"\"\"
    cluster = cluster_named()[0] or cluster_here()
    for kind in ("worker", "ps"):
        for number, address in enumerate(cluster[kind]):
            wait_for(f"{kind} {number}", address)
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type="chief", task_id=0, rpc_layer="grpc"
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    spread_bytes(strategy.extended)
    # The coordinator reads and writes variables itself: TensorFlow would warn of it.
    strategy.extended._allow_run_without_coordinator = True
    return strategy


$spread$helpers
"""


def _functions(facts: ScriptFacts) -> str:
    cluster = cluster_of(facts.plan) or Cluster(servers=1)
    counting = source_below_imports("served/counting.py") if facts.apart else ""
    made = fill(
        _MAKE,
        workers=str(cluster.workers),
        servers=str(cluster.servers),
        seconds=str(cluster.start_within),
        spread=functions_of("strategies/parameter_server.py", "spread_bytes"),
        helpers=helpers(facts),
    )
    dispatch = source_below_imports("served/dispatch.py")
    return "\n\n\n".join(each.strip("\n") for each in (made, dispatch, counting) if each)


WRITTEN = Written(_functions, "on the servers, shared out by their bytes")
