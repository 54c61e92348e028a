"""Multi-worker mirrored: equal replicas on several machines. It does not run in this version."""

from __future__ import annotations

from gpu_studio.plan.strategies.strategy import TOGETHER, Strategy

MULTI_WORKER = Strategy(
    name="multi_worker",
    title="Multi-worker mirrored",
    button="Workers",
    line=(
        "As Mirrored, over several machines: a replica on each device of "
        "each worker; all share gradients."
    ),
    pace="synchronous",
    pace_words=TOGETHER,
    variables="a copy on each device of each worker, kept equal",
    gradients="summed over all workers in each step, through the network",
    batches="each worker has its part, cut again for its devices",
    when="One machine's cards are not enough, and the network between the machines is fast.",
    costs=(
        "Each step waits for the slowest machine and for the network, and a lost worker stops all. "
        "Every process needs a TF_CONFIG that names all of them."
    ),
    devices="many",
    picture="workers",
    why_not="A run of this version is one process; one of several workers comes with a later one.",
    replicates=True,
    sums_gradients=True,
    all_reduces=("auto", "nccl", "ring"),
    clusters=True,
)
