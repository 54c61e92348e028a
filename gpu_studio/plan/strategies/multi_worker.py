"""Multi-worker mirrored: equal replicas in several processes, by MultiWorkerMirroredStrategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.strategies.strategy import TOGETHER, Strategy
from gpu_studio.plan.values import Distribution, Plan


class _MultiWorker(Strategy):
    def instead_of(self, chosen: Distribution) -> Distribution:
        """Without the cards that the plan names: workers of one machine share all of them."""
        kept = Strategy.instead_of(self, chosen)
        on_cards = any(name.startswith("GPU") for name in kept.devices)
        return replace(kept, devices=() if on_cards else kept.devices)

    def template(self, first: Plan, devices: Sequence[str]) -> Plan:
        """A worker for each card, or two where there is none."""
        slices = [len(each.slices_mib) for each in first.devices.carve if each.device != "CPU:0"]
        cards = sum(name.startswith("GPU") for name in devices) - sum(slices) + len(slices)
        cluster = Cluster(workers=cards) if cards else Cluster()
        return replace(Strategy.template(self, first, devices), cluster=cluster)


MULTI_WORKER = _MultiWorker(
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
