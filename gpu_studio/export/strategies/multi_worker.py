"""Multi-worker mirrored, in a script that is started once for each worker."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill, listing, literal
from gpu_studio.export.strategies.written import Written
from gpu_studio.export.workers import helpers
from gpu_studio.plan import Plan, cpus

_MAKE = """\
def make_strategy():
    \"\"\"A copy of the model on each device of each worker, trained on its part.

    TF_CONFIG names the workers, and says which of them this process is. After each step
    all add up their gradients (the all-reduce) and make the same update, so that the
    copies stay equal: synchronous data parallelism.
    \"\"\"
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    workers = config.get("cluster", {}).get("worker", [])
    if len(workers) > 1:
        number = config["task"]["index"]
        print(f"worker {number} of {len(workers)} waits for the others", flush=True)
    else:
        print("TF_CONFIG names no other worker: this one trains alone", flush=True)
    $devices
    # $words
    kinds = tf.distribute.experimental.CommunicationImplementation
    options = tf.distribute.experimental.CommunicationOptions(implementation=kinds.$kind)
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


$helpers
"""

_DEVICES = """\
$names
# By itself TensorFlow takes one CPU of each worker, or all of its cards, and there is no
# public way to name others.
from tensorflow.python.distribute import collective_all_reduce_strategy as joined

joined.CollectiveAllReduceExtended._initialize_local_devices = lambda *given: (
    tuple(f"{given[-1]}/device:{name}" for name in devices),
    devices[0].partition(":")[0],
)"""

_KINDS = {
    "auto": ("AUTO", "NCCL joins whole cards, and a ring over gRPC all others."),
    "ring": ("RING", "The workers hand parts of the sums around in a ring, over gRPC."),
    "nccl": ("NCCL", "NCCL, NVIDIA's library, adds up gradients directly between cards."),
}


def _functions(facts: ScriptFacts) -> str:
    kind, words = _KINDS[facts.plan.distribution.all_reduce]
    return fill(_MAKE, kind=kind, words=words, helpers=helpers(facts), devices=_devices(facts.plan))


def _devices(plan: Plan) -> str:
    """Return the lines that name a worker's devices, where they are not TensorFlow's choice."""
    names = plan.distribution.devices or _logical_cpus(plan)
    if len(names) == 0:
        return ""
    return fill(_DEVICES, names=listing("devices = ", [literal(each) for each in names], indent=4))


def _logical_cpus(plan: Plan) -> tuple[str, ...]:
    """Return the CPUs that a carve makes several of, where the plan hides all cards."""
    if any(not each.startswith("CPU") for each in plan.devices.visible or ("GPU",)):
        return ()
    return tuple(each.name for each in cpus(plan.devices))


WRITTEN = Written(_functions, "a copy on each device of each worker")
