"""Predict a few samples with the model of a checkpoint, on the host's CPU.

They are of the test split, else of the validation split; where nothing is held out, of the training
split, which is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gpu_studio.common.figures import share
from gpu_studio.common.shown_values import Value
from gpu_studio.contract.predictions import (
    SHOWN,
    OutputOfSample,
    Predictions,
    SamplePrediction,
)
from gpu_studio.trainer.answers.checkpoint import (
    Answer,
    Progress,
    Rebuilt,
    held_out_split,
    in_words,
    other_data,
    rebuilt,
)
from gpu_studio.trainer.answers.data import is_picture, numbers_in_words, values_of
from gpu_studio.trainer.environment import limit_memory
from gpu_studio.trainer.errors import TrainerError

Array = Any
_HALF = 0.5


def predict(about: dict[str, Any], progress: Progress) -> Answer:
    """Predict some samples with the checkpoint in `about`; lasting while its files do.

    The answer holds the fields of `Predictions`, or `problem` and `advice`.
    """
    limit_memory()
    reported = in_words(lambda: _predicted(about, rebuilt(about, progress), progress))
    return reported, "problem" not in reported


def _predicted(about: dict[str, Any], built: Rebuilt, progress: Progress) -> dict[str, Any]:
    from gpu_studio.trainer import devices

    name, split, seen = _split(built.dataset)
    count, checkpoint = len(split), Path(about["checkpoint"])
    if split.stream is None:
        places = np.unique(np.linspace(0, count - 1, min(SHOWN, count)).astype(int))
    else:  # held are the first samples of the stream, and more are not read
        places = np.arange(min(SHOWN, count))
    if not len(places):
        raise TrainerError(
            f"There is nothing to predict: the {name} split has no samples.",
            ["Give the split some samples."],
        )
    progress("predicting")
    with devices.on_host():
        samples = _samples(built, split, places)
    found = Predictions(
        checkpoint.name,
        name,
        None if split.stream is not None else count,
        tuple(samples),
        " ".join(filter(None, (seen, other_data(checkpoint, built.dataset)))),
    )
    answer: dict[str, Any] = msgspec.to_builtins(found)
    return answer


def _split(dataset: Any) -> tuple[str, Any, str]:
    """Return the split to take samples of, its name first, and a warning if it was trained on."""
    if dataset.test or dataset.validation:
        return *held_out_split(dataset), ""
    return "training", dataset.train, "No samples are held out: the model was trained on these."


def _samples(built: Rebuilt, split: Any, places: Array) -> list[SamplePrediction]:
    from gpu_studio.trainer.data.trees import called, leaves

    x = split.seen(places)
    alone = len(list(leaves(x))) == 1
    inputs = [values_of(each, "" if alone else called("x", path)) for path, each in leaves(x)]
    outputs = _outputs(built, split, places, _called(built.model, x))
    return [
        SamplePrediction(
            int(place),
            tuple(each[row] for each in inputs),
            tuple(each[row] for each in outputs),
        )
        for row, place in enumerate(places)
    ]


def _called(model: Any, x: Any) -> list[Array]:
    """Return the model's outputs for these samples, laid out in Keras' order, as NumPy arrays."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.models.own_training import call_as_fit

    given = keras.tree.map_structure(tf.convert_to_tensor, x)
    try:
        made = call_as_fit(model, given, training=False)
    except NotImplementedError as error:
        raise TrainerError(
            "The model has no call that predicts: it only has steps of its own.",
            ["Define call(inputs) in its class, and what it returns is shown."],
        ) from error
    return [np.asarray(each) for each in keras.tree.flatten(made)]


def _outputs(
    built: Rebuilt, split: Any, places: Array, made: Sequence[Array]
) -> list[list[OutputOfSample]]:
    """Return for each output what it gives for each sample."""
    from gpu_studio.trainer.data.trees import flat
    from gpu_studio.trainer.keras_objects import learners_of
    from gpu_studio.trainer.models.own_training import own_in_steps

    if own_in_steps(built.model):
        # What such a model learns, only its steps know.
        names = [""] if len(made) == 1 else [f"output {place + 1}" for place in range(len(made))]
        return [_unlearnt(each, name) for each, name in zip(made, names, strict=True)]
    targets = flat(split.wanted(places))
    learners = {
        each.end.place: each
        for each in learners_of(built.plan.training, built.dataset, built.model)
    }
    names = _names(built.model, len(made))
    return [
        _learnt(names[place], array, targets[learner.target], learner)
        if (learner := learners.get(place)) is not None
        else _unlearnt(array, names[place])
        for place, array in enumerate(made)
    ]


def _names(model: Any, count: int) -> list[str]:
    from gpu_studio.trainer.model_ends import outputs_of

    ends = {end.place: end.name for end in outputs_of(model)}
    return [ends.get(place, "") if count > 1 else "" for place in range(count)]


def _unlearnt(made: Array, name: str) -> list[OutputOfSample]:
    return [OutputOfSample(value) for value in values_of(made, name)]


def _learnt(name: str, made: Array, target: Array, learner: Any) -> list[OutputOfSample]:
    made = np.asarray(made, np.float32)
    kind, logits, names = learner.form.kind, learner.form.logits, learner.data.class_names
    if kind in ("classes", "one_hot"):
        made = _softmax(made) if logits else made
        ids = np.argmax(target, -1) if kind == "one_hot" else _without_last_axis(target, made)
        return _of_classes(name, made, ids, names)
    if kind == "binary":
        return _of_two(
            name, _sigmoid(made) if logits else made, np.reshape(target, made.shape), names
        )
    same = np.reshape(target, made.shape) if np.size(target) == made.size else target
    span = min(made.min(), same.min()), max(made.max(), same.max())
    pairs = zip(values_of(made, name, span), values_of(same, name, span), strict=True)
    return [OutputOfSample(predicted, wanted) for predicted, wanted in pairs]


def _of_classes(name: str, shares: Array, ids: Array, names: Sequence[str]) -> list[OutputOfSample]:
    """Classes: one a sample is named with its probability; a row or a mask of them is compared."""
    guessed = np.argmax(shares, -1)
    if guessed.ndim > 1:
        return _of_many(name, guessed, ids, shares.shape[-1] - 1)
    return [
        OutputOfSample(
            Value(f"{_class(one, names)} ({share(shares[row, one])})", name),
            Value(_class(int(ids[row]), names), name),
            int(ids[row]) == one,
        )
        for row, one in enumerate(map(int, guessed))
    ]


def _of_two(name: str, shares: Array, target: Array, names: Sequence[str]) -> list[OutputOfSample]:
    """0 or 1 of each unit."""
    guessed, wanted = shares > _HALF, target > _HALF
    if is_picture(shares if shares.ndim == 4 else shares[..., None]):
        return _of_many(name, guessed.astype(int), wanted.astype(int), 1, shares)
    several = shares.size > len(shares)

    def words(row: int, of: Array) -> str:
        if not several:
            return _class(int(of[row].reshape(-1)[0]), names)
        return ", ".join(_class(int(each), names) for each in np.flatnonzero(of[row])) or "none"

    found = []
    for row in range(len(shares)):
        sure = shares[row].reshape(-1)
        how_sure = "" if several else f" ({share(sure[0] if sure[0] > _HALF else 1 - sure[0])})"
        right = bool(np.array_equal(guessed[row], wanted[row]))
        predicted = Value(words(row, guessed) + how_sure, name)
        found.append(OutputOfSample(predicted, Value(words(row, wanted), name), right))
    return found


def _of_many(
    name: str, guessed: Array, wanted: Array, most: int, shares: Array | None = None
) -> list[OutputOfSample]:
    """A class of each place of a mask or a row: drawn, and how many places are right."""
    drawn = guessed / max(most, 1) if shares is None else shares
    aims = np.reshape(wanted, guessed.shape) / max(most, 1)
    if guessed.ndim == 3:  # (samples, height, width)
        drawn, aims = drawn[..., None], aims[..., None]
    pairs = zip(values_of(drawn, name), values_of(aims, name), strict=True)
    return [
        OutputOfSample(
            replace(
                predicted if predicted.pixels else Value(numbers_in_words(guessed[row]), name),
                text=f"{share(np.mean(guessed[row] == wanted[row]))} of the places right",
            ),
            target if target.pixels else Value(numbers_in_words(wanted[row]), name),
        )
        for row, (predicted, target) in enumerate(pairs)
    ]


def _class(number: int, names: Sequence[str]) -> str:
    return names[number] if 0 <= number < len(names) else str(number)


def _softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def _sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(scores, -60, 60)))


def _without_last_axis(target: Array, made: Array) -> Array:
    """Ids may come with an axis of their own, of one number."""
    return target[..., 0] if target.ndim == made.ndim and target.shape[-1] == 1 else target
