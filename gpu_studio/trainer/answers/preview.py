"""A few samples of a split as a person can look at them: small pictures, or the first numbers."""

from __future__ import annotations

import numpy as np

from gpu_studio.placement.data_facts import PREVIEWED, ROW, Sample
from gpu_studio.trainer.data.values import Array, Split

_SIDE = 96
"""Pixels of a previewed picture's longer side, at most: what is larger is thinned out."""


def previewed(split: Split) -> tuple[Sample, ...]:
    """The first samples of the split; of classes, those that show as many classes as there is room for come first."""
    places = _varied(split.y)
    x, labels = split.x[places], [_label(split.y[place]) for place in places]
    if _is_image(x):
        return tuple(_picture(image, label) for image, label in zip(_bytes(x), labels, strict=True))
    rows = x.reshape(len(x), -1)[:, :ROW]
    return tuple(Sample(label, row=tuple(map(float, row))) for row, label in zip(rows, labels, strict=True))


def _varied(y: Array) -> list[int]:
    """Places of samples with as many different class ids as possible, each id's first sample first."""
    if not np.issubdtype(y.dtype, np.integer):
        return list(range(min(PREVIEWED, len(y))))
    _, firsts = np.unique(y, return_index=True)
    # No more than it takes to fill up, so that a million samples are not sorted for twelve of them.
    others = [place for place in range(min(len(y), 2 * PREVIEWED)) if place not in set(firsts)]
    return [int(place) for place in [*firsts, *others][:PREVIEWED]]


def _is_image(x: Array) -> bool:
    return x.ndim == 4 and x.shape[3] in (1, 3) and min(x.shape[1:3]) > 1


def _bytes(images: Array) -> Array:
    """The images, thinned out where they are large, scaled together so that 0…1, or else all there is, fills 0…255."""
    step = max(1, -(-max(images.shape[1:3]) // _SIDE))
    thin = images[:, ::step, ::step]
    low, high = min(0.0, float(thin.min())), max(1.0, float(thin.max()))
    scaled: Array = np.rint((thin - low) * (255 / (high - low))).astype(np.uint8)
    return scaled


def _picture(image: Array, label: str) -> Sample:
    height, width, channels = image.shape
    return Sample(label, image.tobytes(), height, width, channels)


def _label(target: Array) -> str:
    value = np.asarray(target).reshape(-1)[0]
    return str(int(value)) if np.issubdtype(value.dtype, np.integer) else f"{float(value):.4g}"
