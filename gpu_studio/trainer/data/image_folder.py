"""Data from a folder of images."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpu_studio.plan.catalogue import COLOURS, IMAGES
from gpu_studio.trainer.data.image_files import ImageFiles, ImageFolder, images_in
from gpu_studio.trainer.data.room import check_room, free_bytes
from gpu_studio.trainer.data.values import Source, Split


def read_folder(folder: Path, options: Mapping[str, Any]) -> Source:
    """The images in `folder`, with the splits that it brings, and the classes by name.

    Samples are in the order of their classes, then of their files' names: x uint8, y int32. Raises DataError
    for a folder that gives no classes, an image that cannot be read, and images that do not fit into the memory, which
    is told before any of them is read.
    """
    found, shape = images_in(folder), sample_shape(options)
    check_room_for(found, shape, free_bytes())
    test = _split(found.test, shape) if found.test is not None else None
    validation = _split(found.validation, shape) if found.validation is not None else None
    return Source(_split(found.train, shape), validation, test, class_names=class_names(found))


def sample_shape(options: Mapping[str, Any]) -> tuple[int, int, int]:
    """Height, width and channels of a sample."""
    values = IMAGES.values(options)
    height, width = values["size"]
    return height, width, COLOURS[values["colours"]]


def class_names(found: ImageFolder) -> tuple[str, ...]:
    """The classes as texts that can be written anywhere: a file's name may be any bytes."""
    return tuple(os.fsencode(name).decode("utf-8", "replace") for name in found.classes)


def check_room_for(found: ImageFolder, shape: tuple[int, int, int], free: int) -> None:
    """Raises DataError if the images take more than `free` bytes."""
    check_room(
        f"The {len(found):,} images of {' × '.join(map(str, shape))} bytes",
        len(found) * math.prod(shape),
        free,
        [
            "Make data.options.size smaller: half the height and width take a quarter of it.",
            'Or keep one channel of grey: data.options.colours = "grey".',
            "Or take images out of the folder.",
        ],
    )


def _split(files: ImageFiles, shape: tuple[int, int, int]) -> Split:
    # Imported once there is something to read: what else is asked about data needs no TensorFlow.
    from gpu_studio.trainer.data.image_reading import read_images

    return Split(read_images(files.paths, shape), files.y)
