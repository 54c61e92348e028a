"""Mirrored: an equal replica on each logical device, by `tf.distribute.MirroredStrategy`."""

from __future__ import annotations

from gpu_studio.plan.strategies.strategy import TOGETHER, Strategy

MIRRORED = Strategy(
    name="mirrored",
    title="Mirrored",
    button="Mirrored",
    line="A replica on each logical device trains on its part of the batch; all share gradients.",
    pace="synchronous",
    pace_words=TOGETHER,
    variables="a copy on each device, kept equal",
    gradients="summed over all replicas in each step (all-reduce), then applied to each copy",
    batches="cut into even parts, one for each replica",
    when=(
        "Several cards of one kind, and a model that fits each of them: the "
        "usual way to use more than one card."
    ),
    costs=(
        "Each device holds all weights, gradients and slots. Each step waits for the slowest "
        "replica, and for the sum."
    ),
    devices="many",
    picture="summed",
    replicates=True,
    sums_gradients=True,
)
