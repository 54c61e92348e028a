"""A model that a function of the user's own makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
from keras.src.utils import naming

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.models.meeting import check_meeting
from gpu_studio.trainer.models.own_training import check_steps
from gpu_studio.trainer.user_code import Function, give
from gpu_studio.trainer.user_code.telling import kind_in_words


def python_model(text: str, options: Mapping[str, Any], dataset: Dataset, base: Path, seed: int) -> keras.Model:
    """The model that the function `text` (`models.py:build_model`) returns, built for the data.

    The function is called with `options`, and with what it names of: `input_shape` (one sample's), `outputs` (units of
    the last layer), `classes` (None for values) and `seed`. A model that is no graph becomes the only layer of one.
    Raises UserCodeError for whatever goes wrong in it, and ModelError for a model that does not fit the data or has
    steps of its own.
    """
    offered = {
        "input_shape": dataset.sample_shape,
        "outputs": dataset.outputs,
        "classes": dataset.classes,
        "seed": seed,
    }
    # Layers without a name of their own are numbered by Keras: the same in every process, however much it made before.
    naming.reset_uids()
    function, made = give("model", text, options, offered, base)
    if not isinstance(made, keras.Model):
        raise _no_model(function, made)
    check_steps(function.name, made)
    model = function.guarded(lambda: _as_graph(made, dataset))
    check_meeting(function.name, model, dataset)
    return model


def _as_graph(made: keras.Model, dataset: Dataset) -> keras.Model:
    samples = dataset.train.seen(slice(1))
    if isinstance(made, keras.Sequential):
        if not made.built:
            made.build((None, *dataset.sample_shape))
        return made
    if hasattr(made, "_nodes_by_depth"):  # as a graph has, and no other model
        return made
    # Called on numbers first: then its layers make their weights, however it calls them.
    made(samples)
    inputs = keras.Input(dataset.sample_shape, dtype=samples.dtype.name, name="inputs")
    return keras.Model(inputs, made(inputs), name=made.name)


def _no_model(function: Function, made: object) -> UserCodeError:
    return UserCodeError(
        f"{function.name} returned {kind_in_words(made)} where a keras.Model is needed.",
        [f"Let it end with: return model. It begins in line {function.line} of {function.file}."],
    )
