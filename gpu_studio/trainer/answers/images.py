"""A look into a folder of images: all are counted, and only those decoded that are shown."""

from __future__ import annotations

import math
from dataclasses import replace

from gpu_studio import plan as plans
from gpu_studio.placement.data_facts import PREVIEWED, DataFacts
from gpu_studio.plan.catalogue import scale_of
from gpu_studio.trainer.answers.preview import previewed, varied
from gpu_studio.trainer.data.image_files import ImageFiles, ImageFolder, images_in
from gpu_studio.trainer.data.image_folder import check_room_for, class_names, sample_shape
from gpu_studio.trainer.data.missing_classes import missing_classes
from gpu_studio.trainer.data.room import free_bytes
from gpu_studio.trainer.data.splits import split_indices
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.user_paths import expanded


def image_facts(data: plans.Data, seed: int) -> DataFacts:
    """The facts of the folder that `data` names, by an absolute path. Raises DataError as a run of them would.

    An image that cannot be decoded is found by the run, unless it is among those that are shown.
    """
    folder = expanded(data.folder or "")
    found, shape = images_in(folder), sample_shape(data.options)
    check_room_for(found, shape, free_bytes())
    names, y = class_names(found), found.train.y
    test_fraction = data.test_fraction if found.test is None else 0.0
    validation_fraction = data.validation_fraction if found.validation is None else 0.0
    training, validation, held = split_indices(len(y), test_fraction, validation_fraction, seed, data.split, y)
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
        bytes=len(found) * (math.prod(shape) + y.itemsize),
        preview=previewed(shown, names),
        class_names=names[:PREVIEWED],
        lowest=lowest,
        highest=highest,
        pixels=shown.pixels,
        notes=_notes(found, _targets(found, training, validation, held), data, names),
    )


def _notes(
    found: ImageFolder, targets: tuple[Array | None, ...], data: plans.Data, names: tuple[str, ...]
) -> tuple[str, ...]:
    own = (False, found.validation is not None, found.test is not None)
    return tuple(missing_classes(targets, data.split, names, own))


def _targets(found: ImageFolder, training: Array, validation: Array, held: Array) -> tuple[Array | None, ...]:
    """The classes of the images in the splits for training, validation and testing."""
    y = found.train.y
    cut = [y[places] if len(places) else None for places in (training, validation, held)]
    own = [None if each is None else each.y for each in (None, found.validation, found.test)]
    return tuple(mine if mine is not None else its for mine, its in zip(own, cut, strict=True))


def _shown(files: ImageFiles, training: Array, shape: tuple[int, int, int]) -> Split:
    """Those of the training samples that are shown."""
    from gpu_studio.trainer.data.image_reading import read_images

    places = training[varied(files.y[training])]
    return Split(read_images([files.paths[place] for place in places], shape), files.y[places])
