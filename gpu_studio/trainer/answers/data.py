"""Describe the data that a plan names: their shapes, their number and a few samples to look at.

The samples are small pictures, or the first numbers. Built-in data and `.npz` files need no
TensorFlow. Of a folder of images, only the images shown are decoded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio import plan as plans
from gpu_studio.common.figures import grouped
from gpu_studio.common.paths import expanded
from gpu_studio.common.shown_values import PREVIEWED, DataSample, Value
from gpu_studio.placement.plan_facts import (
    ArrayFacts,
    DataFacts,
    PlanFacts,
    encoded,
)
from gpu_studio.plan.catalogue import DATA, scale_of
from gpu_studio.plan.data import IMAGES, folder_entry
from gpu_studio.trainer.answers.checkpoint import HOST
from gpu_studio.trainer.data import Dataset, built_in, load_data
from gpu_studio.trainer.data.free_memory import Look, bytes_for_data, share
from gpu_studio.trainer.data.image_folder import (
    ImageFiles,
    ImageFolder,
    class_names,
    images_in,
    said_of,
    sample_shape,
)
from gpu_studio.trainer.data.in_files import PictureFiles
from gpu_studio.trainer.data.loading import held_out, missing_classes, refuse_unnamed, split_indices
from gpu_studio.trainer.data.trees import Path as TreePath
from gpu_studio.trainer.data.trees import called, flat, is_nested, leaves
from gpu_studio.trainer.data.values import Array, Split, samples_in, type_name
from gpu_studio.trainer.environment import limit_memory, settle
from gpu_studio.trainer.errors import TrainedBeforeError, TrainerError, UserCodeError


def image_facts(data: plans.Data, seed: int) -> DataFacts:
    """Describe the folder that `data` names by an absolute path. Raises DataError as a run would.

    An image that cannot be decoded is found by the run, unless it is among those shown here.
    """
    folder = expanded(data.folder or "")
    found, shape = images_in(folder), sample_shape(data.options)
    files = [PictureFiles(each.paths, shape) for each in found.splits]
    streamed = sum(each.nbytes for each in files) > bytes_for_data()
    names, y = class_names(found), found.train.y
    training, validation, held = _split(data, found, seed)
    shown = replace(_shown(found.train, training, shape), scale=scale_of(data))
    lowest, highest = shown.range()
    return DataFacts(
        name=folder.name,
        task="classes",
        classes=len(names),
        train=len(training),
        validation=len(validation if found.validation is None else found.validation),
        test=len(held if found.test is None else found.test),
        x_shape=shape,
        x_dtype="float32",
        y_dtype=y.dtype.name,
        ids=len(names),
        inputs=(ArrayFacts((), shape, scaled=shown.pixels),),
        targets=(ArrayFacts((), (), y.dtype.name, ids=len(names)),),
        bytes=len(found) * (math.prod(shape) + y.itemsize),
        preview=previewed(shown, names),
        class_names=names[:PREVIEWED],
        lowest=lowest,
        highest=highest,
        pixels=shown.pixels,
        in_memory=not streamed,
        notes=(
            *(said_of(files) if streamed else ()),
            *_notes(found, _targets(found, training, validation, held), data, names),
        ),
    )


def _split(data: plans.Data, found: ImageFolder, seed: int) -> tuple[Array, ...]:
    """The images for training, validation and testing of those that no folder sets apart."""
    y = found.train.y
    test_fraction = data.test_fraction if found.test is None else 0.0
    validation_fraction = data.validation_fraction if found.validation is None else 0.0
    return split_indices(len(y), test_fraction, validation_fraction, seed, data.split, y)


def _notes(
    found: ImageFolder, targets: tuple[Array | None, ...], data: plans.Data, names: tuple[str, ...]
) -> tuple[str, ...]:
    own = (False, found.validation is not None, found.test is not None)
    return tuple(missing_classes(targets, data.split, names, own))


def _targets(
    found: ImageFolder, training: Array, validation: Array, held: Array
) -> tuple[Array | None, ...]:
    """The classes of the images in the splits for training, validation and testing."""
    y = found.train.y
    cut = [y[places] if len(places) else None for places in (training, validation, held)]
    own = [None if each is None else each.y for each in (None, found.validation, found.test)]
    return tuple(mine if mine is not None else its for mine, its in zip(own, cut, strict=True))


def _shown(files: ImageFiles, training: Array, shape: tuple[int, int, int]) -> Split:
    """The training samples that are shown."""
    from gpu_studio.trainer.data.image_reading import read_images

    places = training[varied(files.y[training])]
    return Split(read_images([files.paths[place] for place in places], shape), files.y[places])


_BROUGHT_TEST = 10_000
"""Test samples of each of the data sets that are downloaded: MNIST, Fashion-MNIST, CIFAR-10."""


_MADE_UP = ("synthetic", "regression")
_ENOUGH = 10_000
"""The samples of synthetic data that are made for a preview: more would only take longer."""
_FEWER = "Give fewer samples, or smaller ones."


class NotHereError(Exception):
    """The data would have to be downloaded, which looking at them does not justify."""


def answer(about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """Describe the data of the plan in `about`.

    Also say whether the answer lasts with its files.
    """
    limit_memory()
    share(Look.now(), about.get("together", 1))
    plan = plans.loads(about["plan"])
    if plan.data.python or plan.data.folder or plan.data.table:
        settle(replace(plan, devices=HOST))  # a look must not occupy a card
    progress("reading the data")
    # This process only looks at the data.
    built_in._download = _no_download  # type: ignore[assignment]  # noqa: SLF001
    try:
        with training_as_asked(about, progress):
            facts = replace(_looked_at(plan.data, plan.training.seed), split=plan.data.split)
        return encoded(PlanFacts(data=facts)), True
    except TrainerError as error:
        if _is_to_come(error):
            return encoded(PlanFacts(data=announced(plan.data))), False
        details = error.trace if isinstance(error, UserCodeError) else ""
        refused = PlanFacts(data_error=error.message, advice=error.suggestions, details=details)
        return encoded(replace(refused, of_the_moment=_may_be_trained(error))), False
    except MemoryError as error:
        said = f"The data do not fit into memory: {error}."
        return encoded(PlanFacts(data_error=said, advice=(_FEWER,), of_the_moment=True)), False


def _may_be_trained(error: TrainerError) -> bool:
    return isinstance(error, TrainedBeforeError) or isinstance(error.__cause__, MemoryError)


def training_as_asked(
    about: dict[str, Any], progress: Callable[[str], None]
) -> AbstractContextManager[object]:
    """Return within what a script may train before a later call of `fit`: if asked, on the CPU."""
    if not about.get("trains"):
        return nullcontext()
    import tensorflow as tf

    from gpu_studio.trainer.user_code.earlier_fits import trained_in

    return trained_in(lambda: tf.device("CPU:0"), lambda said: progress(said.rstrip(".")))


def _is_to_come(error: BaseException | None) -> bool:
    """Return whether the error's root cause is data that the first run will download.

    Whoever needed the data may have wrapped the error in others.
    """
    while error is not None and not isinstance(error, NotHereError):
        error = error.__cause__
    return error is not None


def _looked_at(data: plans.Data, seed: int) -> DataFacts:
    refuse_unnamed(data)
    if data.folder is not None and data.file is None and folder_entry(data) is IMAGES:
        return image_facts(data, seed)
    count = data.options.get("samples", 0)
    if data.name not in _MADE_UP or not isinstance(count, int) or count <= _ENOUGH:
        return facts_of(load_data(data, seed, Path()))
    few = facts_of(
        load_data(replace(data, options={**data.options, "samples": _ENOUGH}), seed, Path())
    )
    test = held_out(count, data.test_fraction)
    return replace(
        _divided(few, count - test, data.validation_fraction),
        test=test,
        bytes=few.bytes // _ENOUGH * count,
    )


def _divided(facts: DataFacts, samples: int, validation_fraction: float) -> DataFacts:
    """Return `facts` for as many training and validation samples."""
    validation = held_out(samples, validation_fraction)
    return replace(facts, train=samples - validation, validation=validation)


def facts_of(dataset: Dataset) -> DataFacts:
    """What the window wants to know of these data."""
    train = dataset.train
    lowest, highest = train.range()
    alone = not dataset.nested
    inputs, targets, weights = arrays_of(dataset)
    return DataFacts(
        name=dataset.name,
        task=dataset.task,
        classes=dataset.classes if alone else None,
        train=samples_in(train) or 0,
        validation=samples_in(dataset.validation) or 0,
        test=samples_in(dataset.test) or 0,
        x_shape=dataset.sample_shape if alone else (),
        x_dtype=inputs[0].dtype,
        y_shape=dataset.target.shape if alone else (),
        y_dtype=targets[0].dtype if targets else "",
        ids=targets[0].ids if alone else None,
        one_hot=alone and targets[0].one_hot,
        inputs=inputs,
        targets=targets,
        weights=weights,
        largest_token=dataset.largest_token if dataset.tokens else None,
        bytes=0 if train.stream else dataset.bytes,
        preview=previewed(train, dataset.class_names),
        class_names=dataset.class_names[:PREVIEWED],
        lowest=lowest,
        highest=highest,
        pixels=train.pixels,
        notes=dataset.notes,
        arrays=dataset.arrays,
        streamed=train.stream.in_words if train.stream else "",
        varies=bool(train.stream and train.stream.varies),
        in_memory=not train.streamed,
        fit=dataset.fit,
        lacking=tuple(dict.fromkeys(each.words for s in dataset.splits for each in s.lacking)),
    )


def arrays_of(dataset: Dataset) -> tuple[tuple[ArrayFacts, ...], ...]:
    """Describe each array of a sample, of its targets and of its weights."""
    train, known = dataset.train, dict(dataset.targets)
    types = train.seen_type, train.wanted_type, train.weighted_type
    kinds = {path: type_name(kind) for path, kind in leaves(types)}

    def described(path: TreePath, array: Array, kind: str) -> ArrayFacts:
        return ArrayFacts(path, tuple(int(size) for size in array.shape[1:]), kind)

    inputs = [
        replace(described(path, x, kinds[(0, *path)]), scaled=train.is_scaled(number))
        for number, (path, x) in enumerate(leaves(train.x))
    ]
    targets = [
        replace(
            described(path, y, kinds[(1, *path)]),
            ids=known[path].ids,
            one_hot=known[path].one_hot,
            sparse=known[path].sparse,
            between=(known[path].lowest, known[path].highest),
            missing=known[path].missing,
        )
        for path, y in leaves(train.y)
    ]
    weights = [described(path, each, kinds[(2, *path)]) for path, each in leaves(train.weights)]
    return tuple(inputs), tuple(targets), tuple(weights)


def announced(data: plans.Data) -> DataFacts:
    """Return what the catalogue says about data that are not downloaded yet."""
    entry = DATA[str(data.name)]
    facts = DataFacts(
        entry.name,
        entry.task,
        entry.classes,
        0,
        test=_BROUGHT_TEST,
        x_shape=entry.shape or (),
        here=False,
    )
    return _divided(facts, (entry.samples or 0) - _BROUGHT_TEST, data.validation_fraction)


def _no_download(*_: Any) -> None:
    raise NotHereError("it is downloaded by the first run")


def previewed(split: Split, class_names: Sequence[str] = ()) -> tuple[DataSample, ...]:
    """Return the first samples of the split.

    Samples of classes come in an order that shows as many classes as fit. Targets are given by
    their `class_names` if there are any.
    """
    classes = not is_nested(split.y) and split.y.ndim == 1
    places = varied(split.wanted(slice(None))) if classes else _first(len(split))
    x, y, weights = split.given(places)
    if is_nested(x) or is_nested(y) or flat(weights):
        columns = [
            values_of(each, called(part, path))
            for part, tree in (("x", x), ("y", y), ("sample_weight", weights))
            for path, each in leaves(tree)
        ]
        return tuple(DataSample(values=row) for row in zip(*columns, strict=True))
    wanted = values_of(y)
    if class_names:
        wanted = [Value(_class_of(target, class_names)) for target in y]
    if is_picture(x) and not any(value.drawn for value in wanted):
        return tuple(
            DataSample(value.text, image.tobytes(), *image.shape)
            for image, value in zip(as_bytes(x), wanted, strict=True)
        )
    given = values_of(x, most=_WHOLE_ROW)
    return tuple(DataSample(values=row) for row in zip(given, wanted, strict=True))


def _class_of(target: Array, class_names: Sequence[str]) -> str:
    values = np.asarray(target).reshape(-1)
    return class_names[int(values[0])] if len(values) == 1 else numbers_in_words(values)


def varied(y: Array) -> list[int]:
    """Return the places of samples with as many different class ids as possible, in turn."""
    if y.dtype.kind not in "biu":
        return _first(len(y))
    order = np.argsort(y, kind="stable")
    _, firsts, counts = np.unique(y[order], return_index=True, return_counts=True)
    classes = list(zip(firsts[:PREVIEWED], counts[:PREVIEWED], strict=True))
    turns = (
        order[first + turn] for turn in range(PREVIEWED) for first, count in classes if turn < count
    )
    return [int(place) for place in islice(turns, PREVIEWED)]


def _first(count: int) -> list[int]:
    return list(range(min(PREVIEWED, count)))


def is_picture(x: Array) -> bool:
    """Whether `x` are pictures: (samples, height, width, 1 or 3 channels)."""
    return x.ndim == 4 and x.shape[3] in (1, 3) and min(x.shape[1:3]) > 1


_SIDE = 96
"""Pixels of a previewed picture's longer side, at most: what is larger is thinned out."""


def as_bytes(images: Array) -> Array:
    """Return the images as bytes, thinned out where they are large.

    All are scaled together, so that 0…1, or else their whole range, maps to 0…255.
    """
    step = max(1, -(-max(images.shape[1:3]) // _SIDE))
    thin = np.nan_to_num(images[:, ::step, ::step])
    low, high = min(0.0, float(thin.min())), max(1.0, float(thin.max()))
    scaled: Array = np.rint((thin - low) * (255 / (high - low))).astype(np.uint8)
    return scaled


_NUMBERS, _WHOLE_ROW = 6, 16
"""Numbers that are written of a vector: among others, and of one that is shown alone."""
_LETTERS = 200
_LEAST_SIDE = 8
"""Of what is drawn as a picture though it has no channels: less is a short sequence."""
_POINTS, _FEATURES = 96, 3
"""What is drawn of a sequence, at most."""


def values_of(
    arrays: Array, name: str = "", span: tuple[float, float] | None = None, most: int = _NUMBERS
) -> list[Value]:
    """Return each sample's part of an array in words, and drawn where it is a picture or sequence.

    `span` is the lowest and the highest number of a drawn sequence, `most` how many numbers are
    written.
    """
    arrays = np.asarray(arrays)
    if arrays.dtype.kind in "OSU":
        return [Value(_letters(each), name) for each in arrays]
    arrays = arrays.astype(np.float32) if arrays.dtype.kind not in "iub" else arrays
    pictures = _pictures(arrays)
    if pictures is not None:
        size = " × ".join(map(grouped, arrays.shape[1:]))
        drawn = as_bytes(pictures)
        return [Value(size, name, each.tobytes(), *each.shape) for each in drawn]
    words = [numbers_in_words(each, most) for each in arrays]
    curves = _curves(arrays, span) if _is_sequence(arrays) else [()] * len(words)
    return [Value(text, name, curves=each) for text, each in zip(words, curves, strict=True)]


def _pictures(arrays: Array) -> Array | None:
    """Return the arrays with 1 or 3 channels if they are pictures, masks or grids; else None."""
    sides = arrays.shape[1:3]
    if is_picture(arrays):
        return arrays
    if arrays.ndim == 4 and min(sides) >= _LEAST_SIDE and arrays.shape[3]:
        return arrays[..., : 3 if arrays.shape[3] > 3 else 1]
    if arrays.ndim == 3 and min(sides) >= _LEAST_SIDE and max(sides) <= 2 * min(sides):
        return arrays[..., None]
    return None


def _is_sequence(arrays: Array) -> bool:
    """Whether a sample is (steps, features), or more numbers in a row than can be read."""
    if arrays.dtype.kind != "f" or not np.isfinite(arrays).all():
        return False
    if arrays.ndim == 3:
        return bool(arrays.shape[1] >= _LEAST_SIDE and arrays.shape[2])
    return bool(arrays.ndim == 2 and arrays.shape[1] > _WHOLE_ROW)


def _curves(arrays: Array, span: tuple[float, float] | None) -> list[tuple[bytes, ...]]:
    steps = (arrays if arrays.ndim == 3 else arrays[..., None])[..., :_FEATURES]
    steps = steps[:, :: max(1, -(-steps.shape[1] // _POINTS))]
    low, high = span or (float(steps.min()), float(steps.max()))
    heights = np.rint((steps - low) * (255 / ((high - low) or 1.0)))
    drawn = np.clip(heights, 0, 255).astype(np.uint8)
    return [tuple(each[:, place].tobytes() for place in range(each.shape[1])) for each in drawn]


def numbers_in_words(array: Array, most: int = _NUMBERS) -> str:
    """Return the first numbers, and how many there are if that is not all of them."""
    values = np.asarray(array).reshape(-1)
    words = " ".join(f"{float(value):.4g}" for value in values[:most])
    return words if len(values) <= most else f"{words} … ({grouped(len(values))} numbers)"


def _letters(array: Array) -> str:
    """The first text of a sample, without what cannot be printed."""
    texts = np.asarray(array).reshape(-1)
    first = texts[0] if len(texts) else ""
    text = first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)
    shown = "".join(each if each.isprintable() else " " for each in text[: _LETTERS + 1])
    return shown if len(text) <= _LETTERS else f"{shown[:_LETTERS]}…"
