"""Whether a model of the user's own has one input and one output, which meet the data."""

from __future__ import annotations

from typing import Any

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError

Shape = tuple[int | None, ...]


def check_meeting(source: str, model: keras.Model, dataset: Dataset) -> None:
    """Raises ModelError, naming both shapes, if the model that `source` brought does not fit the data."""
    taken = _one_shape(source, "inputs", getattr(model, "inputs", None))
    given = dataset.sample_shape
    if len(taken) != len(given) or any(size not in (None, own) for size, own in zip(taken, given, strict=True)):
        raise ModelError(
            f"{source} takes samples of shape {taken}, but one of {dataset.name} has the shape {given}.",
            ["Choose data of that shape, or build the model with keras.Input for this one."],
        )
    _check_output(source, _one_shape(source, "outputs", getattr(model, "outputs", None)), dataset)


def _check_output(source: str, shape: Shape, dataset: Dataset) -> None:
    if shape == (dataset.outputs,):
        return
    if len(shape) > 1:
        raise ModelError(
            f"{source} gives outputs of shape {shape} for each sample, where GPU Studio trains one class or one value.",
            [
                "Put a layer before the last one that makes one row of a sample, such as GlobalAveragePooling2D.",
                "What learns an output for each pixel or step is trained by Keras' own fit, in a script.",
            ],
        )
    needed = f"one output for each of its {dataset.classes} classes" if dataset.classes else "one output, the value"
    raise ModelError(
        f"{source} ends in outputs of shape {shape}, but {dataset.name} needs {needed}: ({dataset.outputs},).",
        [f"Give the model's last layer {dataset.outputs} units.", "Choose other data."],
    )


def _one_shape(source: str, what: str, tensors: Any) -> Shape:
    """The shape of the model's only input or output, without the samples' axis."""
    if not tensors or len(tensors) != 1:
        raise ModelError(
            f"{source} has {len(tensors or [])} {what}; a model that GPU Studio trains has one.",
            ["Give a model with one input and one output, built or called once."],
        )
    return tuple(tensors[0].shape[1:])
