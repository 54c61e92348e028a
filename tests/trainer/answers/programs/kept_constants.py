"""What a run's first steps leave in memory on this CPU, and what is foreseen of its constants.

`python kept_constants.py PLAN`. Prints both in pieces of the allocator, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from gpu_studio.placement.step_memory import UNIT
from gpu_studio.plan import load
from gpu_studio.trainer import session
from gpu_studio.trainer.answers.constants import constants_of
from gpu_studio.trainer.answers.traced_step import trace_step

SAMPLES, STEPS = 8, 3


def in_use() -> int:
    """Return the bytes that are given out now."""
    return int(tf.config.experimental.get_memory_info("CPU:0")["current"])


def main(path: Path) -> None:
    """Train three steps of the plan in the file."""
    made = session.build(load(path), Path.cwd(), lambda _event: None)
    some, split = slice(SAMPLES), made.dataset.train
    weight = np.full(SAMPLES, 1 / SAMPLES, np.float32)
    batch = (split.seen(some), split.wanted(some), (), weight, np.float64(0))
    stream = iter(tf.data.Dataset.from_tensors(batch).repeat())
    before = in_use()
    for number in range(STEPS):
        made.program.train(stream, number, 1)
    held = in_use() - before
    foreseen = constants_of(trace_step(made.program, made.dataset, []).graph)
    pieces = [sum(-(-size // UNIT) for size in foreseen), held / UNIT]
    sys.stdout.write(json.dumps(dict(zip(("foreseen", "held"), pieces, strict=True))) + "\n")


main(Path(sys.argv[1]))
