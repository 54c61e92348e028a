"""A few samples of a split in a form to look at: small pictures, or the first numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from gpu_studio.placement.data_facts import PREVIEWED, ROW, DataSample
from gpu_studio.trainer.data.values import Array, Split

_SIDE = 96
"""Pixels of a previewed picture's longer side, at most: what is larger is thinned out."""


def previewed(split: Split, class_names: Sequence[str] = ()) -> tuple[DataSample, ...]:
    """Return the first samples of the split.

    Samples of classes come in an order that shows as many classes as fit. Targets are given by
    their `class_names` if there are any.
    """
    places = varied(split.wanted(slice(None)))
    x, labels = split.seen(places), [_label(target, class_names) for target in split.wanted(places)]
    if _is_image(x):
        return tuple(_picture(image, label) for image, label in zip(_bytes(x), labels, strict=True))
    rows = x.reshape(len(x), -1)[:, :ROW]
    return tuple(
        DataSample(label, row=tuple(map(float, row)))
        for row, label in zip(rows, labels, strict=True)
    )


def varied(y: Array) -> list[int]:
    """Return the places of samples with as many different class ids as possible, in turn."""
    if not np.issubdtype(y.dtype, np.integer):
        return list(range(min(PREVIEWED, len(y))))
    order = np.argsort(y, kind="stable")
    _, firsts, counts = np.unique(y[order], return_index=True, return_counts=True)
    classes = list(zip(firsts[:PREVIEWED], counts[:PREVIEWED], strict=True))
    turns = (
        order[first + turn] for turn in range(PREVIEWED) for first, count in classes if turn < count
    )
    return [int(place) for place in islice(turns, PREVIEWED)]


def _is_image(x: Array) -> bool:
    return x.ndim == 4 and x.shape[3] in (1, 3) and min(x.shape[1:3]) > 1


def _bytes(images: Array) -> Array:
    """Return the images as bytes, thinned out where they are large.

    All are scaled together, so that 0…1, or else their whole range, maps to 0…255.
    """
    step = max(1, -(-max(images.shape[1:3]) // _SIDE))
    thin = images[:, ::step, ::step]
    low, high = min(0.0, float(thin.min())), max(1.0, float(thin.max()))
    scaled: Array = np.rint((thin - low) * (255 / (high - low))).astype(np.uint8)
    return scaled


def _picture(image: Array, label: str) -> DataSample:
    height, width, channels = image.shape
    return DataSample(label, image.tobytes(), height, width, channels)


def _label(target: Array, class_names: Sequence[str]) -> str:
    value = np.asarray(target).reshape(-1)[0]
    if not np.issubdtype(value.dtype, np.integer):
        return f"{float(value):.4g}"
    return class_names[int(value)] if class_names else str(int(value))
