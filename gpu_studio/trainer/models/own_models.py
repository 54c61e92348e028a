"""Models of the user's own: from a Python function or a `.keras` file, and notes on them.

A note says how the model is trained, or that it scales its samples itself. A run reports it and
trains the model all the same.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.utils import naming

from gpu_studio.contract.user_files import hint
from gpu_studio.placement.plan_facts import SCALED_AGAIN, ModelNote
from gpu_studio.plan import (
    Data,
    ModelSettings,
    Plan,
    Shape,
    Target,
    fitting_outputs,
    kinds_between,
    listed,
    printable,
    reference,
)
from gpu_studio.plan.archives import overlong
from gpu_studio.plan.targets import in_words
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import MissingTargetsError, ModelError, UserCodeError
from gpu_studio.trainer.keras_objects import is_lone_softmax
from gpu_studio.trainer.keras_objects.as_compiled import (
    aligns_by_itself,
    came_from,
    compiled_model,
    compiled_notes,
    ends_with_loss,
    given_seed,
    seed_notes,
)
from gpu_studio.trainer.model_ends import End, as_graph, check_inputs, met, outputs_of
from gpu_studio.trainer.models.own_training import built, check_steps, own_in_steps
from gpu_studio.trainer.user_code import give
from gpu_studio.trainer.user_code.remedies import advice_on_module
from gpu_studio.trainer.user_code.scripts import (
    as_given_to_fit,
    given_otherwise,
    not_compiled,
    with_others,
)
from gpu_studio.trainer.user_code.telling import kind_in_words


def python_model(
    text: str, options: Mapping[str, Any], dataset: Dataset, base: Path, seed: int
) -> keras.Model:
    """Return the model that the function `text` (`models.py:build_model`) builds for the data.

    The function is called with `options`, and with those of these that its signature names:
    `input_shape` (one sample's), `outputs` (units of the last layer), `classes` (None for values)
    and `seed`. A model that is no graph becomes the only layer of one, except if it brings a
    training step or parts of it, which is then trained itself. Raises UserCodeError for whatever
    goes wrong in the function, and ModelError for a model that does not fit the data.
    """
    offered = {"input_shape": dataset.sample_shape, "seed": seed}
    if classes_are_known(dataset):
        offered |= {"outputs": dataset.outputs, "classes": dataset.classes}
    _know_shapes_of_texts()
    # Keras numbers layers without a name: restart the numbers, so that every process gets the same.
    naming.reset_uids()
    # The strategy is one of this graph: clear_session of Keras would take it away.
    kept = (tf.compat.v1, "reset_default_graph", lambda: None)
    function, made = with_others([kept], lambda: give("model", text, options, offered, base))
    if not isinstance(made, keras.Model):
        what = f"{kind_in_words(made)} where a keras.Model is needed"
        begins = f"The function begins in line {function.line} of {function.file}."
        advice = ["Let it end with: return model."]
        if isinstance(made, tf.Module):
            advice = advice_on_module(type(made).__name__, function.file)
        raise UserCodeError(f"{function.name} returned {what}.", [*advice, begins])
    check_steps(function.name, made)
    if "seed" in function.arguments and "seed" not in options:
        given_seed(PurePath(function.name).name, made, function.default_of("seed"), seed)
    samples, size = dataset.train.seen(slice(1)), dataset.train.size
    if own_in_steps(made):
        return built(made, dataset.train.given(slice(1)), size)
    model = function.guarded(lambda: as_graph(made, samples, dataset.sample_shape, size))
    check_shapes(function.name, model, dataset)
    came_from(model, function.guarded)
    return model


def _know_shapes_of_texts() -> None:
    """Let TextVectorization say the shape that its outputs have.

    Keras 3.15 forgets that texts (None, 1) lose their second axis before they are split: it says
    (None, 1, words) where words are counted, and gives (None, words). `fit` goes by the outputs.
    """
    layer = keras.layers.TextVectorization
    said = layer.compute_output_shape
    if said.__module__ == __name__:
        return

    def compute_output_shape(self: Any, input_shape: tuple[int | None, ...]) -> Any:
        shape = said(self, input_shape)
        surplus = len(shape) > len(input_shape) > 1 and input_shape[-1] == 1
        return said(self, input_shape[:-1]) if surplus else shape

    layer.compute_output_shape = compute_output_shape


def classes_are_known(dataset: Dataset) -> bool:
    """Return whether the number of classes is known, if there are any.

    The first batches of a stream need not show all of them.
    """
    stream, target = dataset.train.stream, dataset.target
    if stream is None or stream.classes is not None:
        return True
    if not isinstance(target, Target):  # of several
        return False
    return target.task != "classes" or target.one_hot or target.labels


_LAMBDA = "Requested the deserialization of a"
"""How Keras 3 begins where its safe mode refuses a `Lambda` layer, or a lambda anywhere else."""
_INNERMOST = "Exception encountered:"
_OBJECTS = re.compile(
    r"^A total of \d+ objects could not be loaded\. Example error message for object (.+?):\s+(.+)",
    re.S,
)
_ARRAYS = re.compile(r"\s*Target variable: .*", re.S)
_LONGEST = 300
_SAVE = "Save the whole model with model.save('model.keras') in Keras 3."


def load_file(path: Path, dataset: Dataset) -> keras.Model:
    """The model saved in `path`, if it fits the data.

    Raises ModelError if the file is missing, cut off, no `.keras` file, needs code of its own, or
    if the model's input or output does not fit.
    """
    if not path.is_file():
        advice = [
            "Put it back there, or change model.file in the plan; it is relative to the plan."
        ]
        raise ModelError(f"There is no model file {path}{hint(path) or '.'}", advice)
    if path.suffix != ".keras" or not zipfile.is_zipfile(path):
        raise ModelError(
            f"{path} is no .keras file, or it is cut off.",
            [_SAVE, "If it was copied, copy it again."],
        )
    _check_description(path)
    _know_shapes_of_texts()
    model = _loaded(path)
    check_shapes(path.name, model, dataset)
    return model


def _check_description(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            refused = overlong(archive)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise _refused(path, error) from error
    if refused:
        raise ModelError(f"{path.name} cannot be loaded: {refused}.", [_SAVE])


def _loaded(path: Path) -> keras.Model:
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras passes on whatever error a damaged file causes
        raise _refused(path, error) from error


def _refused(path: Path, error: Exception) -> ModelError:
    if str(error).startswith(_LAMBDA):
        return ModelError(
            f"{path.name} holds a Lambda layer, Python code that would run when loaded; Keras' "
            "safe mode refuses it.",
            ["Replace Lambda layers by Keras' own layers or keras.ops and save the model again."],
        )
    return ModelError(
        f"Keras cannot load {path.name}: {load_reason(error)}",
        [
            _SAVE,
            "Layers of your own classes cannot be loaded: their code is not in the file.",
            "The file may be damaged.",
        ],
    )


def load_reason(error: Exception) -> str:
    """Return the reason in Keras' message.

    The innermost error, without configurations and arrays.
    """
    message = str(error)
    if _INNERMOST in message:
        message = message.rpartition(_INNERMOST)[2]
    elif objects := _OBJECTS.match(message):
        message = f"{objects[1]}: {_ARRAYS.sub('', objects[2])}"
    words = printable(" ".join(message.split()))
    cut = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
    return cut or type(error).__name__


def check_shapes(source: str, model: keras.Model, dataset: Dataset) -> None:
    """Raises ModelError, naming both shapes, if the model from `source` does not fit the data."""
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        raise ModelError(
            f"{source} has no inputs and outputs; a model that GPU Studio trains has some.",
            ["Give a model that was built or called once."],
        )
    held = (("validation", dataset.validation), ("test", dataset.test))
    names = {f"the {kind} data of {dataset.name}": split for kind, split in held if split}
    for name, split in {dataset.name: dataset.train, **names}.items():
        check_inputs(source, model, name, split)
    ends = ends_with_loss(model, outputs_of(model), len(dataset.targets))
    found = met(ends, dataset.target)
    if isinstance(found, str):
        raise ModelError(
            f"{source} {found} in {dataset.name}.",
            ["Give a target for each output: a dictionary by the outputs' names, or a tuple."],
        )
    for end, path in () if aligns_by_itself(model) else found:
        _check_output(source, end, dataset.of_target(path), alone=len(model.outputs) == 1)


def _check_output(source: str, end: End, dataset: Dataset, *, alone: bool) -> None:
    target, shape = dataset.target, end.shape
    if kinds_between(target, shape):
        return
    what = "ends in outputs" if alone else f"has the output {end.name}"
    if target.missing is not None:  # else they may be classes, which would fit
        then = f"so they number no classes, and {source} {what} of shape {shape}"
        raise MissingTargetsError(f"The targets of {dataset.name}", target.missing, then)
    fitting = fitting_outputs(target)
    words = " or ".join(map(str, fitting))
    raise ModelError(
        f"{source} {what} of shape {shape}, but a target of {dataset.name} is "
        f"{in_words(target)}, which needs {words}.",
        _mends(shape, fitting, dataset),
    )


_VOID = 255
"""What masks often hold where nobody said what a pixel is."""


def _mends(shape: Shape, fitting: Sequence[Shape], dataset: Dataset) -> list[str]:
    (likeliest, *_), target = fitting, dataset.target
    if target.ids == _VOID + 1 and shape and 1 < (shape[-1] or 0) <= _VOID:
        loss = f"keras.losses.SparseCategoricalCrossentropy(ignore_class={_VOID})"
        return [
            f"If {_VOID} is no class but marks what is left out, compile the model with {loss}.",
            f"Give the model's last layer {target.ids} units.",
        ]
    if target.lowest == 1 and shape and 2 < (target.ids or 0) == (shape[-1] or 0) + 1:
        return [
            "If the classes are numbered from 1, number them from 0: y - 1.",
            f"Give the model's last layer {target.ids:,} units.",
        ]
    if len(shape) == len(likeliest) and shape[:-1] == likeliest[:-1]:
        return [f"Give the model's last layer {likeliest[-1]:,} units.", "Choose other data."]
    if len(likeliest) == 1 and len(shape) > 1:
        one_row = "Put a layer before the last one that makes one row of a sample, such as"
        each = "What learns an output for each pixel or step needs targets of shape"
        return [f"{one_row} GlobalAveragePooling2D.", f"{each} {shape[:-1]} (ids), or of {shape}."]
    return [
        f"Let the model end in outputs of shape {likeliest}.",
        f"Or give targets that fit its outputs: now one has the shape {target.shape}.",
    ]


SMALL = 1.0
"""Samples within ±1 need no scaling. Bytes that nobody has scaled go up to 255."""


def notes_on(
    plan: Plan, model: keras.Model, dataset: Dataset, seen: tuple[float, float], *, whole: bool
) -> tuple[ModelNote, ...]:
    """Return the notes on `model`, built for these data as the plan says.

    A built-in model has none. `seen` is the lowest and the highest number that the model sees. The
    plan is `whole` if it says how long it trains and on which batches.
    """
    if plan.model.name is not None:
        return ()
    name = PurePath(name_of(plan.model)).name
    compiled = () if own_in_steps(model) else compiled_notes(name, plan.training, model)
    return (
        *seed_notes(model),
        *compiled,
        *as_given_to_fit(plan),
        *(not_compiled(plan) if compiled_model(model) is None else ()),
        *(given_otherwise(plan) if whole else ()),
        *_always_one(name, model),
        *_never_training(name, model),
        *_scaled_again(name, plan.data, model, dataset, seen),
    )


def _always_one(name: str, model: keras.Model) -> Iterator[ModelNote]:
    if not getattr(model, "outputs", None):
        return
    if found := [
        end.name for end in outputs_of(model) if is_lone_softmax(model.outputs[end.place])
    ]:
        yield ModelNote(
            "softmax over one unit",
            f"{name} ends in a softmax over the one unit of {listed(found)}: that is always 1, "
            "so it learns nothing.",
            'For yes or no, end in activation="sigmoid". For classes, give it a unit for each.',
        )


_OF_TRAINING = (
    keras.layers.BatchNormalization,
    keras.layers.Dropout,
    keras.layers.GaussianDropout,
    keras.layers.GaussianNoise,
)
"""Layers that work otherwise while a model trains."""


def _never_training(name: str, model: keras.Model) -> Iterator[ModelNote]:
    """Yield a note where layers never learn that the model trains, as they do not by `fit`."""
    if model._call_has_training_arg or own_in_steps(model):  # noqa: SLF001 (no public name)
        return
    layers = model._flatten_layers()  # noqa: SLF001 (no public name)
    work = (each for each in layers if isinstance(each, _OF_TRAINING))
    # Attention has a Dropout also where nothing is dropped.
    if found := [each.name for each in work if getattr(each, "rate", 1)]:
        yield ModelNote(
            "call without training",
            f"The call of {name} takes no training, so that its {listed(found)} work as in "
            "inference throughout, as by Keras' own fit.",
            "Let it be call(self, inputs, training=None): then dropout drops, and batch "
            "normalisation is that of the batch.",
        )


def name_of(named: ModelSettings) -> str:
    """Return the model's name for a reader.

    `models.py:build_model`, a file's or a built-in model's.
    """
    code = reference(named.python) if named.python else None
    return f"{code.file_name}:{code.function}" if code else named.name or named.file or "the model"


def _scaled_again(
    name: str, data: Data, model: keras.Model, dataset: Dataset, seen: tuple[float, float]
) -> Iterator[ModelNote]:
    low, high = seen
    floats = getattr(dataset.train.seen_type, "kind", "") == "f"
    if not floats or low == high or max(-low, high) > SMALL:
        return
    found = own_scaling(model, dataset.sample_shape)
    as_they_are = 'data.options.scale = "none" for an .npz file or a folder of images.'
    if data.python is not None:
        as_they_are = f'let {data.python} return x.astype("float32").'
    if found:
        yield ModelNote(
            SCALED_AGAIN,
            f"{name} {found}, but they are in {low:.2g}…{high:.2g} already.",
            "It sees nearly the same number everywhere, and learns little. Leave that out of the "
            f"model, or give it the bytes as they are: {as_they_are}",
        )


_PASSED = (
    {"Cast", "ConcatV2", "ExpandDims", "GatherV2", "Identity", "Pack", "Reshape", "ReverseV2"}
    | {"MirrorPad", "Pad", "PadV2", "Squeeze", "StridedSlice", "Transpose"}
    | {"ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor", "ScaleAndTranslate"}
)
"""Operations that leave the size of the numbers as it is."""
_LEAST_DIVISOR = 127
_LEAST_MEAN = 50
"""Caffe's `preprocess_input` subtracts the mean brightness of each channel, about 104 to 124."""


def own_scaling(model: keras.Model, shape: tuple[int, ...]) -> str:
    """Return what the model does that only suits bytes, as a verb with its object; or nothing.

    A sample has this `shape`, and is float32. What `Rescaling(1 / 255)` and Keras'
    `preprocess_input` do is found in the traced model, where layers, operations and nested models
    look alike.
    """
    try:
        graph = _traced(model, shape)
    # A note must not cost a run: what is wrong with the model shows when it trains.
    except Exception:  # noqa: BLE001
        return ""
    return next(filter(None, map(_scaling, _first(graph.inputs[0]))), "")


def _traced(model: keras.Model, shape: tuple[int, ...]) -> Any:
    called = tf.function(lambda samples: model(samples, training=False), autograph=False)
    return called.get_concrete_function(tf.TensorSpec((None, *shape), tf.float32))


def _first(tensor: Any) -> Iterator[tuple[Any, Any]]:
    """Return the first operations on the samples, each with the tensor of samples it takes."""
    for operation in tensor.consumers():
        if operation.type in _PASSED and not operation.outputs[0].dtype.is_integer:
            yield from _first(operation.outputs[0])
        else:
            yield operation, tensor


def _scaling(found: tuple[Any, Any]) -> str:
    operation, samples = found
    if operation.type == "Cast":
        return "makes whole numbers of its samples"
    if len(operation.inputs) != 2:
        return ""
    left, right = operation.inputs
    other = _constant(right if left is samples else left)
    if other is None or not other.size:
        return ""
    size = float(np.abs(other).max())
    if operation.type == "Mul" and 0 < size <= 1 / _LEAST_DIVISOR:
        return f"divides its samples by {1 / size:g}"
    if operation.type in ("RealDiv", "DivNoNan") and left is samples and size >= _LEAST_DIVISOR:
        return f"divides its samples by {size:g}"
    if operation.type in ("Sub", "AddV2", "Add", "BiasAdd") and size >= _LEAST_MEAN:
        return f"takes about {size:.0f} from its samples"
    return ""


def _constant(tensor: Any) -> Any:
    if tensor.op.type in ("Reshape", "Squeeze", "Cast", "ExpandDims", "Identity"):
        return _constant(tensor.op.inputs[0])
    value = tf.get_static_value(tensor)
    return (
        value if value is not None and np.issubdtype(np.asarray(value).dtype, np.number) else None
    )
