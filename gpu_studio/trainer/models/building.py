"""From the model that a plan names to a Keras model for the data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import keras

from gpu_studio.plan.catalogue import MODELS
from gpu_studio.plan.values import Model
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.models.cifar_cnn import cifar_cnn
from gpu_studio.trainer.models.cnn import cnn
from gpu_studio.trainer.models.fitting import check_fit
from gpu_studio.trainer.models.keras_file import load_file
from gpu_studio.trainer.models.lenet import lenet
from gpu_studio.trainer.models.linear import linear
from gpu_studio.trainer.models.mlp import mlp
from gpu_studio.trainer.models.python_model import python_model
from gpu_studio.trainer.models.resnet import resnet20
from gpu_studio.trainer.models.transformer import transformer
from gpu_studio.user_paths import expanded

_BUILT_IN: dict[str, Callable[..., keras.Model]] = {
    "mlp": mlp,
    "lenet": lenet,
    "cnn": cnn,
    "cifar_cnn": cifar_cnn,
    "resnet20": resnet20,
    "transformer": transformer,
    "linear": linear,
}


def build_model(model: Model, dataset: Dataset, base: Path, seed: int) -> keras.Model:
    """The model of a plan, built for `dataset`; call it inside the strategy's scope.

    It takes (batch, *sample shape) and gives (batch, classes) logits or (batch, 1) values in float32. Equal seeds give
    equal initial weights under every strategy: the process' random state is set from `seed`, and every initialiser and
    every dropout draws its own seed from it in the order in which the layers are made. A file's path is relative to
    `base`, the plan's folder. Raises ModelError if the model cannot be had or does not fit the data, and UserCodeError
    for what goes wrong in a Python function that makes it.
    """
    keras.utils.set_random_seed(seed)
    if model.file is not None:
        return load_file(base / expanded(model.file), dataset)
    if model.python is not None:
        return python_model(model.python, model.options, dataset, base, seed)
    if model.name not in _BUILT_IN:
        raise _unknown(model)
    check_fit(model.name, dataset)
    return _BUILT_IN[model.name](dataset, **MODELS[model.name].values(model.options))


def _unknown(model: Model) -> ModelError:
    shown = f'name = "{model.name}"' if model.name is not None else "an empty model part"
    return ModelError(
        f"This version of GPU Studio trains built-in models, .keras files and Python functions, not {shown}.",
        [
            f"Set model.name to one of {', '.join(_BUILT_IN)}.",
            "Save your own model as a .keras file and name it in model.file.",
            "Or name the Python function that makes it in model.python.",
        ],
    )
