"""Multi-worker mirrored: equal replicas in several processes, by MultiWorkerMirroredStrategy."""

from __future__ import annotations

from gpu_studio.plan.strategies.strategy import TOGETHER, Strategy

MULTI_WORKER = Strategy(
    name="multi_worker",
    title="Multi-worker mirrored",
    button="Workers",
    line=(
        "As Mirrored, over several processes: a replica on each device of "
        "each worker; all share gradients."
    ),
    pace="synchronous",
    pace_words=TOGETHER,
    variables="a copy on each device of each worker, kept equal",
    gradients="summed over all workers in each step, through the network",
    batches="each worker has its part, cut again for its devices",
    when=(
        "To train on several machines, whose network is fast, by an exported script; here, to "
        "practise that, for on one machine Mirrored is faster."
    ),
    costs=(
        "Each step waits for the slowest worker and for the network. When one is lost, all start "
        "again from the newest checkpoint."
    ),
    devices="many",
    picture="workers",
    replicates=True,
    sums_gradients=True,
    all_reduces=("auto", "nccl", "ring"),
    clusters=True,
)
