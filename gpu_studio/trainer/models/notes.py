"""What of a model of the user's own goes otherwise here than its author may think: told, and trained all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import keras

from gpu_studio.placement.plan_facts import SCALED_AGAIN, ModelNote
from gpu_studio.plan.references import reference
from gpu_studio.plan.values import Model
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.own_training import compiled_with
from gpu_studio.trainer.models.rescaling import own_scaling

SMALL = 1.0
"""Samples within ±1 need no scaling. Bytes that nobody has scaled go up to 255."""


def notes_on(named: Model, model: keras.Model, dataset: Dataset, seen: tuple[float, float]) -> tuple[ModelNote, ...]:
    """What to tell of the `model` that a plan's `named` part became for these data; nothing of a built-in one.

    `seen` is between which numbers the model's samples are.
    """
    if named.name is not None:
        return ()
    name = PurePath(name_of(named)).name
    return (*_compiled(name, model), *_scaled_again(name, model, dataset, seen))


def name_of(named: Model) -> str:
    """What the model is called by whoever reads of it: `models.py:build_model`, the file's name, or the built-in's."""
    code = reference(named.python) if named.python else None
    return f"{code.file_name}:{code.function}" if code else named.name or named.file or "the model"


def _compiled(name: str, model: keras.Model) -> Iterator[ModelNote]:
    found = compiled_with(model)
    if found:
        yield ModelNote(
            "compiled model",
            f"{name} is compiled with {found}, which does not count here.",
            "It is trained with the plan's optimizer, loss and metrics: set those to what you mean.",
        )


def _scaled_again(name: str, model: keras.Model, dataset: Dataset, seen: tuple[float, float]) -> Iterator[ModelNote]:
    low, high = seen
    if dataset.tokens or low == high or max(-low, high) > SMALL:
        return
    found = own_scaling(model, dataset.sample_shape)
    if found:
        yield ModelNote(
            SCALED_AGAIN,
            f"{name} {found}, but they are in {low:.2g}…{high:.2g} already.",
            "It sees nearly the same number everywhere, and learns little. Leave that out of the model, or give it the "
            'bytes as they are: data.options.scale = "none" for an .npz file or a folder of images.',
        )
