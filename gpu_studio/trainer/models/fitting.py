"""Whether a built-in model fits the data, said before Keras would say it in a traceback."""

from __future__ import annotations

from gpu_studio.plan.catalogue import MODELS, ModelEntry
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError

_RANKS = {1: "(features,)", 2: "(steps, features)", 3: "(rows, columns, channels)"}


def check_fit(name: str, dataset: Dataset) -> None:
    """Raises ModelError, naming the shape of a sample and what would fit, if the model `name` cannot learn the data."""
    entry = MODELS[name]
    if dataset.task not in entry.tasks:
        raise _task(name, dataset)
    if entry.ranks and len(dataset.sample_shape) not in entry.ranks:
        raise _rank(entry, dataset)
    if dataset.tokens and name != "transformer":
        raise ModelError(
            f"{name} cannot read the token ids of {dataset.name}: their size means nothing.",
            [
                'Use model.name = "transformer", which looks tokens up.',
                'Save measured values as floats; for bytes of flattened pixels set data.options.scale = "unit".',
            ],
        )
    if min(dataset.sample_shape[:2]) < entry.smallest_side:
        raise _small(name, dataset)


def _task(name: str, dataset: Dataset) -> ModelError:
    learns, has = ("values", "class ids") if dataset.task == "classes" else ("classes", "measured values")
    fitting = ", ".join(entry.name for entry in MODELS.values() if dataset.task in entry.tasks)
    return ModelError(
        f"{name} learns {learns}, but the targets of {dataset.name} are {has}.",
        [f"Choose a model that fits: {fitting}.", "Save class ids as integers and values as floats."],
    )


def _rank(entry: ModelEntry, dataset: Dataset) -> ModelError:
    wanted = " or ".join(_RANKS[rank] for rank in entry.ranks)
    return ModelError(
        f"{entry.name} needs samples of shape {wanted}, but {dataset.name} has {dataset.sample_shape}.",
        [
            'Use model.name = "mlp", which takes any shape.',
            "Give the samples that shape; grey images need one channel.",
        ],
    )


def _small(name: str, dataset: Dataset) -> ModelError:
    side = MODELS[name].smallest_side
    return ModelError(
        f"{name} needs images of at least {side} × {side} pixels, but one of {dataset.name} has the shape "
        f"{dataset.sample_shape}.",
        ['Use model.name = "resnet20", "cifar_cnn" or "mlp".', "Enlarge the images."],
    )
