"""What a person is shown of a sample of data: words and, where it can be drawn, a picture."""

from __future__ import annotations

from dataclasses import dataclass

PREVIEWED = 12
"""Samples shown of the training split, at most."""


@dataclass(frozen=True, slots=True)
class Value:
    """One array of a sample, a target or a prediction, in words.

    `name` is its path in the data or that of the model's output, empty where there is only one. A
    picture has `pixels`: `height × width × channels` bytes by rows, of 1 or 3 channels. A sequence
    has `curves`: for each of its first features a byte per point, 255 the highest of all samples.
    """

    text: str
    name: str = ""
    pixels: bytes = b""
    height: int = 0
    width: int = 0
    channels: int = 0
    curves: tuple[bytes, ...] = ()

    @property
    def drawn(self) -> bool:
        """Whether it is shown as a picture or as curves rather than in words."""
        return bool(self.pixels or self.curves)


@dataclass(frozen=True, slots=True)
class DataSample:
    """One sample and its target.

    An image alone has its target in words, `label`, and `image`, `height × width × channels` bytes
    by rows. Any other sample has `values`: of each of its arrays, then of its targets, then of its
    weights.
    """

    label: str = ""
    image: bytes | None = None
    height: int = 0
    width: int = 0
    channels: int = 0
    values: tuple[Value, ...] = ()
