"""The model and data of a plan under plain Keras `model.fit`.

Prints when each epoch ended, by the monotonic clock.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gpu_studio.plan import Plan, load
from gpu_studio.plan.keras_objects import optimizer_named
from gpu_studio.trainer import environment


def main(path: Path) -> None:
    """Train the plan in the file as its owner would without GPU Studio."""
    plan = load(path)
    environment.settle(plan)
    sys.stdout.write(json.dumps({"epoch_ends": fit(plan)}) + "\n")


def fit(plan: Plan) -> list[float]:
    """Fit; the times of the epochs' ends."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer import devices
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.models import build_model

    logical = devices.set_up(plan)
    data = load_data(plan.data, plan.training.seed, Path.cwd())
    ends: list[float] = []
    with _scope(plan, [device.name for device in logical], tf):
        model = build_model(plan.model, data, Path.cwd(), plan.training.seed)
        model.compile(
            optimizer=keras.optimizers.get(optimizer_named(plan.training.optimizer)),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["sparse_categorical_accuracy"],
        )
    clock = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: ends.append(time.monotonic()))
    settings = {"batch_size": plan.training.batch_size, "epochs": plan.training.epochs}
    everything = slice(None)
    model.fit(
        data.train.seen(everything),
        data.train.wanted(everything),
        verbose=0,
        callbacks=[clock],
        **settings,
    )
    return ends


def _scope(plan: Plan, logical: list[str], tf: Any) -> Any:
    if plan.distribution.strategy == "none":
        return nullcontext()
    cards = [name for name in logical if name.startswith("GPU")]
    return tf.distribute.MirroredStrategy([f"/device:{name}" for name in cards or logical]).scope()


main(Path(sys.argv[1]))
