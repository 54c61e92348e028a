"""Build the Keras model that a plan names, for the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import keras

from gpu_studio.common.paths import expanded
from gpu_studio.plan import ModelSettings, Plan, shown
from gpu_studio.plan.catalogue import MODELS, ModelEntry
from gpu_studio.plan.freezing import FROZEN, THAW, frozen_layers, unknown_entry
from gpu_studio.plan.targets import in_words
from gpu_studio.plan.values import Phase
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.data.trees import is_nested
from gpu_studio.trainer.data.values import is_text
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.keras_objects.named import sentence
from gpu_studio.trainer.model_layers import placeable_layers
from gpu_studio.trainer.models.given_weights import load_given_weights
from gpu_studio.trainer.models.own_models import classes_are_known, load_file, python_model


def build_model(model: ModelSettings, dataset: Dataset, base: Path, seed: int) -> keras.Model:
    """The model of a plan, built for `dataset`; call it inside the strategy's scope.

    It takes (batch, *sample shape) and gives (batch, classes) logits or (batch, 1) values in
    float32. Equal seeds give equal initial weights under every strategy: the process' random state
    is set from `seed`, and every initialiser and every dropout draws its own seed from it in the
    order in which the layers are made. A file's path is relative to `base`, the plan's folder.
    It has the weights of the file that the plan names, and the layers are frozen that it freezes.
    Raises ModelError if the model cannot be had or
    does not fit the data, and UserCodeError for what goes wrong in a Python function that makes it.
    """
    keras.utils.set_random_seed(seed)
    made = _made(model, dataset, base, seed)
    if model.weights is not None:
        load_given_weights(made, base / expanded(model.weights))
    freeze(made, model.frozen)
    return made


def _made(model: ModelSettings, dataset: Dataset, base: Path, seed: int) -> keras.Model:
    if model.file is not None:
        return load_file(base / expanded(model.file), dataset)
    if model.python is not None:
        return python_model(model.python, model.options, dataset, base, seed)
    if model.name not in MODELS:
        raise _unknown(model)
    check_fit(model.name, model.options, dataset)
    return _built_in(model.name, _arguments(model, dataset), dataset)


_made_frozen: WeakKeyDictionary[keras.Model, dict[str, bool]] = WeakKeyDictionary()


def freeze(model: keras.Model, entries: Sequence[str]) -> None:
    """Freeze and thaw the layers of `model` as these entries of `model.frozen` say.

    It is Keras' `trainable`: a frozen layer has no gradients, and a frozen batch normalisation
    works as in inference. What no entry names is as the model was made. Raises ModelError for an
    entry that names no layer, and if nothing is left to train.
    """
    layers = {each.path: each.layer for each in placeable_layers(model)}
    models = dict(_models_in(model))
    if model not in _made_frozen:
        if not entries:
            return
        _made_frozen[model] = {
            path: _is_frozen(path, each, models) for path, each in {**models, **layers}.items()
        }
    made = _made_frozen[model]
    refuse_unknown_layers(model, entries, FROZEN)
    after = frozen_layers(entries, made)
    for path, outer in models.items():
        # Not by `trainable`, which would thaw all that is in it.
        outer._trainable = True  # noqa: SLF001
        for weight in outer._trainable_variables:  # noqa: SLF001
            weight.trainable = not after[path]
    for path, layer in layers.items():
        if after[path] or made[path] or not layer.trainable:  # else it stays as it is inside
            layer.trainable = not after[path]
    if entries and model.weights and not model.trainable_weights:
        raise ModelError(
            f"{FROZEN} freezes every layer of {model.name} that has weights, so that there is "
            "nothing to train.",
            ["Leave out an entry.", f'Or thaw some layers by one that begins with "{THAW}".'],
        )


def made_frozen(model: keras.Model, path: str, *, now: bool) -> bool:
    """Return whether the layer was frozen before the plan froze or thawed any.

    It still is as it is `now` where the plan did not.
    """
    return _made_frozen.get(model, {}).get(path, now)


def _models_in(model: keras.Model, path: str = "") -> Iterator[tuple[str, keras.Model]]:
    """Yield the model, with an empty path, and those in it, each before those in it again."""
    yield path, model
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _models_in(layer, f"{path}/{layer.name}".lstrip("/"))


def _is_frozen(path: str, layer: Any, models: Mapping[str, keras.Model]) -> bool:
    """Return whether the layer is frozen, or a model that it is in."""
    around = [models.get(name) for name in ("", *accumulate(path.split("/"), "{}/{}".format))]
    return not all(each.trainable for each in (layer, *filter(None, around)))


def refuse_unknown_layers(model: keras.Model, entries: Sequence[str], field: str) -> None:
    """Raises ModelError for an entry of the plan's `field` that names no layer of `model`."""
    unknown = unknown_entry(entries, [each.path for each in placeable_layers(model)])
    if unknown is not None:
        entry, advice = unknown
        raise ModelError(
            f"{field} names {shown(entry)}, and {model.name} has no such layer.",
            [sentence(advice), "The Model tab lists the layers, and so does gpu-studio model."],
        )


def refuse_layers_of_phases(model: keras.Model, phases: Sequence[Phase]) -> None:
    """Raises ModelError for a phase that names no layer of `model`, and not only once it begins."""
    for place, phase in enumerate(phases):
        refuse_unknown_layers(model, phase.frozen, f"training.phases[{place}].frozen")


def freeze_for_most(model: keras.Model, plan: Plan) -> None:
    """Freeze the layers that the phase of the plan freezes that trains the most weights.

    Raises ModelError as `freeze` does, naming the phase.
    """
    chosen, most = plan.model.frozen, _trained_weights(model)
    refuse_layers_of_phases(model, plan.training.phases)
    for phase in plan.training.phases:
        freeze(model, phase.frozen)
        if (trained := _trained_weights(model)) > most:
            chosen, most = phase.frozen, trained
    if plan.training.phases:
        freeze(model, chosen)


def _trained_weights(model: keras.Model) -> int:
    return sum(math.prod(each.shape) for each in model.trainable_weights)


def _built_in(name: str, arguments: dict[str, Any], dataset: Dataset) -> keras.Model:
    """The model whose builder is the function `name` in the file of that name beside this one.

    The last layer gives one number for each class (logits), or the value. It computes in float32
    also under mixed precision, so that the loss does.
    """
    builder: Callable[..., keras.KerasTensor] = getattr(
        import_module(f"{__package__}.{name}"), name
    )
    inputs = keras.Input(
        dataset.sample_shape, name="inputs", dtype="int32" if dataset.tokens else None
    )
    x = builder(inputs, **arguments)
    outputs = keras.layers.Dense(dataset.outputs, dtype="float32", name="outputs")(x)
    return keras.Model(inputs, outputs, name=name)


def _arguments(model: ModelSettings, dataset: Dataset) -> dict[str, Any]:
    """The builder's arguments: the model's options, and a vocabulary for data of tokens only."""
    entry = MODELS[str(model.name)]
    values = entry.values(model.options)
    if entry.reads_tokens and dataset.tokens:
        return values | {"vocabulary": values["vocabulary"] or 1 + dataset.largest_token}
    return values | {"vocabulary": 0} if entry.reads_tokens else values


def _unknown(model: ModelSettings) -> ModelError:
    shown = f'name = "{model.name}"' if model.name is not None else "an empty model part"
    return ModelError(
        "This version of GPU Studio trains built-in models, .keras files "
        f"and Python functions, not {shown}.",
        [
            f"Set model.name to one of {', '.join(MODELS)}.",
            "Save your own model as a .keras file and name it in model.file.",
            "Or name the Python function that makes it in model.python.",
        ],
    )


_RANKS = {1: "(features,)", 2: "(steps, features)", 3: "(rows, columns, channels)"}


def check_fit(name: str, options: Mapping[str, Any], dataset: Dataset) -> None:
    """Raises ModelError if the model `name` cannot learn the data, and says what would fit."""
    entry = MODELS[name]
    if is_nested(dataset.train.x) or is_nested(dataset.target) or dataset.sample_shape == ():
        raise _several(name, dataset)
    if is_text(dataset.train.x.dtype):
        raise _text(name, dataset)
    if not classes_are_known(dataset):
        raise _unknown_classes(name, dataset)
    if dataset.task not in entry.tasks:
        raise _task(name, dataset)
    if len(dataset.target.shape) > 1:
        raise _one_row(name, dataset)
    if entry.ranks and len(dataset.sample_shape) not in entry.ranks:
        raise _rank(entry, dataset)
    if dataset.tokens and not entry.reads_tokens:
        raise _tokens(name, dataset)
    if min(dataset.sample_shape[:2]) < entry.smallest_side:
        raise _small(name, dataset)
    if entry.reads_tokens:
        _check_positions(entry, entry.values(options), dataset)


def _unknown_classes(name: str, dataset: Dataset) -> ModelError:
    return ModelError(
        f"The {name} has an output for each class, and how many classes {dataset.name} has is "
        f"unknown: its first targets go up to {(dataset.target.ids or 1) - 1}.",
        [
            "State their number in data.options.classes, and let the function take classes.",
            "Or give one-hot targets.",
            "Or name a model of your own in model.python.",
        ],
    )


def _check_positions(entry: ModelEntry, values: Mapping[str, Any], dataset: Dataset) -> None:
    """Raises ModelError if samples are no sequences, or if the model's sizes do not fit them."""
    width, heads, vocabulary = values.get("width", 0), values.get("heads", 1), values["vocabulary"]
    if width % heads:
        raise ModelError(
            f"The {entry.name}'s width {width} is no multiple of its {heads} heads.",
            [
                f"Set model.options.width to {heads * max(1, round(width / heads))}.",
                "Choose another number of heads.",
            ],
        )
    if not dataset.tokens and len(dataset.sample_shape) == 1:
        raise _vector(entry, dataset)
    if dataset.tokens and 0 < vocabulary <= dataset.largest_token:
        raise ModelError(
            f"{dataset.name} holds the token {dataset.largest_token}, but the "
            f"{entry.name}'s vocabulary has "
            f"{vocabulary} tokens.",
            [
                (
                    f"Set model.options.vocabulary to {1 + dataset.largest_token} or "
                    "more, or to 0 to count the tokens."
                )
            ],
        )


def _several(name: str, dataset: Dataset) -> ModelError:
    return ModelError(
        f"{name} takes one array of shape (samples, …) and learns one target, but {dataset.name} "
        "has others.",
        [
            "Name a model of your own, with as many inputs and outputs: model.python.",
            "Give one x of shape (samples, features), and one y.",
        ],
    )


def _text(name: str, dataset: Dataset) -> ModelError:
    return ModelError(
        f"{name} cannot read the texts of {dataset.name}.",
        [
            "Name a model of your own that begins with a TextVectorization: model.python.",
            "Or number the words: token ids, as integers of shape (samples, length).",
        ],
    )


def _tokens(name: str, dataset: Dataset) -> ModelError:
    return ModelError(
        f"{name} cannot read the token ids of {dataset.name}: their size means nothing.",
        [
            'Use model.name = "transformer", which looks tokens up.',
            (
                "Save measured values as floats; for bytes of flattened pixels "
                'set data.options.scale = "unit".'
            ),
        ],
    )


def _vector(entry: ModelEntry, dataset: Dataset) -> ModelError:
    return ModelError(
        f"The {entry.name} needs a sequence, but a sample of {dataset.name} is a vector of "
        f"{dataset.sample_shape[0]} "
        "numbers.",
        [
            'Use model.name = "mlp".',
            "Save tokens as integers, or sequences with the shape (steps, features).",
        ],
    )


def _task(name: str, dataset: Dataset) -> ModelError:
    learns, has = (
        ("values", "class ids") if dataset.task == "classes" else ("classes", "measured values")
    )
    fitting = ", ".join(entry.name for entry in MODELS.values() if dataset.task in entry.tasks)
    return ModelError(
        f"{name} learns {learns}, but the targets of {dataset.name} are {has}.",
        [
            f"Choose a model that fits: {fitting}.",
            "Save class ids as integers and values as floats.",
        ],
    )


def _one_row(name: str, dataset: Dataset) -> ModelError:
    return ModelError(
        f"{name} gives one row of outputs for a sample, but a target of {dataset.name} is "
        f"{in_words(dataset.target)}.",
        [
            "Name a model of your own, which gives an output for each of them: model.python.",
            "Or choose other data.",
        ],
    )


def _rank(entry: ModelEntry, dataset: Dataset) -> ModelError:
    wanted = " or ".join(_RANKS[rank] for rank in entry.ranks)
    return ModelError(
        f"{entry.name} needs samples of shape {wanted}, but {dataset.name} has "
        f"{dataset.sample_shape}.",
        [
            'Use model.name = "mlp", which takes any shape.',
            "Give the samples that shape; grey images need one channel.",
        ],
    )


def _small(name: str, dataset: Dataset) -> ModelError:
    side = MODELS[name].smallest_side
    return ModelError(
        f"{name} needs images of at least {side} × {side} pixels, but one "
        f"of {dataset.name} has the shape "
        f"{dataset.sample_shape}.",
        ['Use model.name = "resnet20", "cifar_cnn" or "mlp".', "Enlarge the images."],
    )
