"""Train the built-in mlp in so many processes by a bare loop of TensorFlow's; print its pace.

    bare_workers.py WORKERS SAMPLES BATCH

The parent starts the workers, and prints what worker 0 measured over three epochs after the first.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from gpu_studio.plan.catalogue import MODELS

STEPS_A_CALL = 8
EPOCHS = 3


def main() -> None:
    """Start the workers, and pass on what the first says."""
    count = int(sys.argv[1])
    with ExitStack() as held:
        ports = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in ports:
            each.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in ports]
    processes = []
    for index in range(count):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = {"TF_CONFIG": json.dumps(task), "CUDA_VISIBLE_DEVICES": "-1"}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-P", __file__, *sys.argv[1:], "worker"],
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    said = [each.communicate()[0] for each in processes]
    if any(each.returncode for each in processes):
        sys.exit("a worker of the bare loop failed")
    print(said[0].splitlines()[-1])


def work(count: int, samples: int, batch: int) -> None:
    """Train as one of the workers, and print the pace."""
    import keras
    import tensorflow as tf

    ring = tf.distribute.experimental.CommunicationImplementation.RING
    options = tf.distribute.experimental.CommunicationOptions(implementation=ring)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    keras.utils.set_random_seed(1)
    hidden = MODELS["mlp"].values({})["hidden"]
    layers = [keras.layers.Dense(units, activation="relu") for units in hidden]
    with strategy.scope():
        model = keras.Sequential([keras.Input((784,)), *layers, keras.layers.Dense(10)])
        optimizer = keras.optimizers.Adam(0.001)
        optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    each = batch // count
    x = tf.random.normal((samples // count, 784))
    y = tf.random.uniform((samples // count,), maxval=10, dtype=tf.int64)
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).repeat().batch(each)
    local = data.prefetch(8)
    stream = iter(strategy.distribute_datasets_from_function(lambda _context: local))

    def replica(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(loss_of(b, model(a, training=True))) / batch
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    def steps(batches: Any, many: Any) -> Any:
        losses = tf.zeros(())
        for _ in tf.range(many):
            losses += strategy.reduce("SUM", strategy.run(replica, next(batches)), axis=None)
        return losses

    train = tf.function(steps)
    many = tf.constant(STEPS_A_CALL)
    calls = samples // batch // STEPS_A_CALL
    for _ in range(calls):
        float(train(stream, many))
    began = time.perf_counter()
    for _ in range(EPOCHS * calls):
        float(train(stream, many))
    seconds = time.perf_counter() - began
    done = EPOCHS * calls * STEPS_A_CALL * batch
    print(json.dumps({"samples_per_second": done / seconds}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[-1] == "worker":
        work(*map(int, sys.argv[1:4]))
    else:
        main()
