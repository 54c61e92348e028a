"""Decide which byte arrays are images, to be scaled.

Bytes may also be tokens, categories or counts.
"""

from __future__ import annotations

from collections.abc import Sequence

BRIGHTEST = 255
"""What a byte of a picture is divided by, so that a model sees 0…1."""
CHANNELS = (1, 3, 4)
"""Grey, colours, and colours with what is transparent: the last axis of a picture, or of a film."""
SMALLEST_SIDE = 8
"""Pixels.

Less is a table: a sequence of a few features at each step has the same axes as a grey picture.
"""


SCALES = ("auto", "unit", "none")
"""What `data.options.scale` may be: pictures as 0…1 and other bytes as they are; all bytes as 0…1.

All as they are.
"""


def are_scaled(dtype: str, shape: Sequence[int], scale: str) -> bool:
    """Whether samples of this NumPy type and `shape` are bytes to be divided by 255 for the model.

    `scale` is the plan's setting.
    """
    if scale == "auto":
        return are_pixels(dtype, shape)
    return dtype == "uint8" and scale == "unit"


def are_pixels(dtype: str, shape: Sequence[int]) -> bool:
    """Whether samples of this NumPy type and `shape` (samples first) are images made of bytes.

    Images are (samples, rows, columns, channels), grey ones also (samples, rows, columns); films
    have one more axis.
    """
    if dtype != "uint8":
        return False
    if len(shape) == 3:
        return min(shape[1:]) >= SMALLEST_SIDE
    return len(shape) > 3 and shape[-1] in CHANNELS
