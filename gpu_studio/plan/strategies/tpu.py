"""TPU: a replica on each core of a TPU. It does not run in this version."""

from __future__ import annotations

from gpu_studio.plan.strategies.strategy import TOGETHER, Strategy

TPU = Strategy(
    name="tpu",
    title="TPU",
    button="TPU",
    line="As Mirrored, over the cores of a TPU.",
    pace="synchronous",
    pace_words=TOGETHER,
    variables="a copy on each core, kept equal",
    gradients="summed over the TPU's own links in each step",
    batches="cut into even parts, one for each core",
    when="A TPU in Google's cloud.",
    costs=(
        "XLA compiles the whole step, so every shape must be fixed, and the "
        "last batch as large as the others."
    ),
    devices="many",
    picture="cores",
    why_not=("The package tensorflow has no kernels for a TPU (it lacks ConfigureDistributedTPU)."),
)
