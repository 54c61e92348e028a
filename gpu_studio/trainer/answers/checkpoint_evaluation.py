"""Evaluate a checkpoint: its loss and metrics on the test split.

A plan without a test split is evaluated on the validation split.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.contract.checkpoints import STATE_FILE
from gpu_studio.contract.files import read_json
from gpu_studio.trainer.answers.checkpoint import Answer, Progress, Rebuilt, in_words, rebuilt
from gpu_studio.trainer.answers.memory_limit import limit_memory
from gpu_studio.trainer.errors import TrainerError

TOLD_TIMES = 20
"""How often progress is told of, at most: an evaluation is cut into so many calls."""


def answer(about: dict[str, Any], progress: Progress) -> Answer:
    """Evaluate the checkpoint in `about`; also say whether the answer lasts while its files do.

    `batch` samples are evaluated at a time. The answer holds `split`, `metrics`, `samples`,
    `seconds`, `device` and `warning` (of data other than the checkpoint's, else empty), or
    `problem` and `advice`.
    """
    if about["host"]:
        limit_memory()
    reported = in_words(lambda: _evaluated(about, rebuilt(about, progress), progress))
    return reported, "problem" not in reported


def _evaluated(about: dict[str, Any], built: Rebuilt, progress: Progress) -> dict[str, Any]:
    name, split = _split(built.dataset)
    began = time.perf_counter()
    results = _results(built, split, about["batch"], progress)
    return {
        "split": name,
        "metrics": {
            metric: value if np.isfinite(value) else None for metric, value in results.items()
        },
        "samples": len(split),
        "seconds": time.perf_counter() - began,
        "device": built.device,
        "warning": _other_data(Path(about["checkpoint"]), built.dataset),
    }


def _other_data(checkpoint: Path, dataset: Any) -> str:
    """Return a warning if these are not the data that the checkpoint was trained on.

    An old checkpoint does not record its data.
    """
    from gpu_studio.trainer.data.fingerprint import fingerprints

    state = read_json(checkpoint / STATE_FILE, json.loads)
    if all(state.get(name, digest) == digest for name, digest in fingerprints(dataset).items()):
        return ""
    return (
        f"The data are not those that {checkpoint.name} was trained with: these figures do not "
        "compare with the run's, "
        "and samples that test the model now may have been trained on."
    )


def _split(dataset: Any) -> tuple[str, Any]:
    if dataset.test:
        return "test", dataset.test
    if dataset.validation:
        return "validation", dataset.validation
    raise TrainerError(
        f"There is nothing to evaluate on: {dataset.name} has no test "
        "split, and the plan holds none out.",
        ["Train with data.test_fraction or data.validation_fraction above 0."],
    )


def _results(built: Rebuilt, split: Any, batch: int, progress: Progress) -> dict[str, float]:
    """Compute the sums that a run computes, by the same compiled function, without a strategy."""
    import tensorflow as tf

    from gpu_studio.trainer import batches
    from gpu_studio.trainer.meters import Tally

    program = _program(built)
    cut = batches.Cut(len(split), batch, 1)
    stream = batches.distribute(tf.distribute.get_strategy(), batches.evaluation_stream(split, cut))
    sizes = np.minimum(batch, len(split) - np.arange(0, len(split), batch))
    tally = Tally(program.meters)
    at_once = -(-len(sizes) // TOLD_TIMES)
    for first in range(0, len(sizes), at_once):
        progress(f"{first * 100 // len(sizes)} %")
        some = sizes[first : first + at_once]
        losses, deltas = program.evaluate(stream, first, len(some))
        tally.add(float(losses @ some), int(some.sum()), deltas)
    return tally.results()


def _program(built: Rebuilt) -> Any:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer import keras_objects
    from gpu_studio.trainer.meters import Meters
    from gpu_studio.trainer.program import Program
    from gpu_studio.trainer.sole_output import output_shape

    training, dataset, model = built.plan.training, built.dataset, built.model
    outputs = np.zeros((1, *output_shape(model)), np.float32)
    example = tf.constant(dataset.train.wanted(slice(1))), tf.constant(outputs)
    form = keras_objects.OutputForm.of(dataset, model)
    meters = Meters(keras_objects.make_metrics(training, dataset, form), example)
    loss = keras_objects.make_loss(training, dataset, form)
    # Nothing is trained: this optimizer has no variables to hold.
    return Program(
        tf.distribute.get_strategy(), model, keras.optimizers.SGD(), loss, meters, training.seed
    )
