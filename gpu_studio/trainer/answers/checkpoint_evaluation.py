"""How good a checkpoint is: loss and metrics of the test split, or where the plan has none of the validation split."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gpu_studio.trainer.answers.checkpoint import Answer, Progress, Rebuilt, in_words, rebuilt
from gpu_studio.trainer.answers.modesty import be_modest
from gpu_studio.trainer.errors import TrainerError

TOLD_TIMES = 20
"""How often progress is told of, at most: an evaluation is cut into so many calls."""


def answer(about: dict[str, Any], progress: Progress) -> Answer:
    """The figures of the checkpoint in `about`, and whether they hold as long as its files stay as they are.

    `batch` samples are evaluated at a time. The answer holds `split`, `metrics`, `samples`, `seconds` and `device`, or
    `problem` and `advice`.
    """
    if about["host"]:
        be_modest()
    told = in_words(lambda: _evaluated(rebuilt(about, progress), about["batch"], progress))
    return told, "problem" not in told


def _evaluated(built: Rebuilt, batch: int, progress: Progress) -> dict[str, Any]:
    name, split = _split(built.dataset)
    began = time.perf_counter()
    results = _results(built, split, batch, progress)
    return {
        "split": name,
        "metrics": {metric: value if np.isfinite(value) else None for metric, value in results.items()},
        "samples": len(split),
        "seconds": time.perf_counter() - began,
        "device": built.device,
    }


def _split(dataset: Any) -> tuple[str, Any]:
    if dataset.test:
        return "test", dataset.test
    if dataset.validation:
        return "validation", dataset.validation
    raise TrainerError(
        f"There is nothing to evaluate on: {dataset.name} has no test split, and the plan holds none out.",
        ["Train with data.test_fraction or data.validation_fraction above 0."],
    )


def _results(built: Rebuilt, split: Any, batch: int, progress: Progress) -> dict[str, float]:
    """The same sums that a run adds up, by the same compiled function, without a strategy."""
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
    meeting = keras_objects.Meeting.of(dataset, model)
    meters = Meters(keras_objects.make_metrics(training, dataset, meeting), example)
    loss = keras_objects.make_loss(training, dataset, meeting)
    # Nothing is trained: this optimizer has no variables to hold.
    return Program(tf.distribute.get_strategy(), model, keras.optimizers.SGD(), loss, meters, training.seed)
