"""What TensorFlow's allocator really gives out for a plan on the CPU.

Prints the bytes of weights, slots, gradients and the batch, and the most in each step.

`python step_memory.py PLAN BATCH [BUSY_S]`. The CPU gets the allocator that cards have, which
counts every byte and its peak. The batch lies in memory before the step, because the data set does
on a CPU: it is told apart, as `input`. After the least number of steps more follow until all have
taken BUSY_S seconds of the processors, or are enough."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.plan import Plan, load
from gpu_studio.trainer import environment

WARM_UP = 2
STEPS, ENOUGH = 30, 1000
LIMIT_MIB = 8192


def main(path: Path, batch: int, busy_s: float = 0.0) -> None:
    """Measure the plan in the file with this batch."""
    plan = load(path)
    os.environ |= {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(LIMIT_MIB)}
    environment.settle(plan)
    sys.stdout.write(json.dumps(measured(plan, batch, busy_s)) + "\n")


def measured(plan: Plan, batch: int, busy_s: float) -> dict[str, Any]:
    """Bytes.

    Of the variables, the gradients and the batch, and those that each step held besides.
    """
    from gpu_studio.trainer import session

    made = session.build(plan, Path.cwd(), lambda _event: None)
    # The steps first, in memory as building the model has left it: so a run finds it too.
    return steps(made, batch, busy_s) | {
        "weights": sum(size(v.value) for v in made.model.variables),
        "slots": sum(size(v.value) for v in made.optimizer.variables),
        "gradients": sum(size(gradient) for gradient in gradients(made)),
    }


def size(tensor: Any) -> int:
    """The bytes of a tensor's or a variable's numbers, as they are in memory."""
    return int(np.asarray(tensor).nbytes)


def gradients(made: Any) -> list[Any]:
    """The gradients of one sample's loss, really computed."""
    import tensorflow as tf

    x, y = made.dataset.train.seen(slice(1)), made.dataset.train.wanted(slice(1))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(made.program.loss(y, made.model(x, training=True)))
    return [
        g
        for g in tape.gradient(loss, [v.value for v in made.model.trainable_variables])
        if g is not None
    ]


def steps(made: Any, batch: int, busy_s: float) -> dict[str, Any]:
    """`input`, the bytes of the batch, and `peaks`, the most that was given out in each step.

    That is all that the device holds: what is lost between the variables is in it.
    """
    import tensorflow as tf

    from gpu_studio.trainer.batches import Cut

    split = made.dataset.train
    x = np.resize(split.x, (batch, *split.x.shape[1:]))
    y = np.resize(split.y, (batch, *split.y.shape[1:]))
    weight = np.full(batch, 1 / batch, np.float32)
    # A placed model takes its micro-batches one after the other.
    rows = (slice(start, stop) for start, stop, _ in Cut(batch, batch, made.cut.replicas).parts())
    # The last is when a part was ready: it lies there from the beginning.
    tensors = [(placed(x[row]), placed(y[row]), (), weight[row], np.float64(0)) for row in rows]
    parts = [tf.data.Dataset.from_tensors(part) for part in tensors]
    stream = iter(reduce(tf.data.Dataset.concatenate, parts).repeat())
    peaks, until = list[int](), time.process_time() + busy_s
    for number in range(WARM_UP + ENOUGH):
        if number >= WARM_UP + STEPS and time.process_time() > until:
            break
        peaks.append(step(made.program, stream, number))
    return {"input": x.nbytes + y.nbytes + weight.nbytes, "peaks": peaks[WARM_UP:]}


def placed(array: Any) -> Any:
    """The same numbers in memory that the allocator gives out.

    TensorFlow takes an array's memory as it is, uncounted, if that happens to be aligned.
    """
    import tensorflow as tf

    return tf.constant(array.tolist(), array.dtype)


def step(program: Any, stream: Any, number: int) -> int:
    """Train one step; the most that the allocator had given out at once."""
    from tensorflow import config

    gc.collect()
    gc.freeze()  # what is there stays: only what a step leaves is looked through
    config.experimental.reset_memory_stats("CPU:0")
    program.train(stream, number, 1)
    return int(config.experimental.get_memory_info("CPU:0")["peak"])


main(Path(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:]))
