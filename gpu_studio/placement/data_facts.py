"""What data hold, as far as a person choosing a model wants to see it."""

from __future__ import annotations

from dataclasses import dataclass

PREVIEWED = 12
"""Samples shown of the training split, at most."""
ROW = 16
"""Numbers shown of a sample that is no image, at most."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample and its target in words. An image has `image`, `height × width × channels` bytes row by row.

    Any other sample has the first numbers of it in `row`.
    """

    label: str
    image: bytes | None = None
    height: int = 0
    width: int = 0
    channels: int = 0
    row: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Samples of each split, their shapes without the samples' axis, their kinds of numbers, and a few of them.

    `task` is "classes" or "values"; `classes` is None for values. `largest_token` is the largest token id, where a
    sample is a row of tokens, and None where it is measured. `bytes` is what all splits take in host memory. Where the
    data are not `here`, the first run downloads them, and there is no preview. `class_names` are those of the first
    classes, at most PREVIEWED, where classes have names. A model gets numbers from `lowest` to `highest` of the samples
    that were looked at, both 0 where none was; `pixels` are bytes that were divided by 255 for that. `notes` are
    sentences that a person should know of the splits, which are made as the plan's `split` says. `arrays` are the names
    of the arrays that a file has or a function returns, of those that are used.
    """

    name: str
    task: str
    classes: int | None
    train: int
    validation: int = 0
    test: int = 0
    x_shape: tuple[int, ...] = ()
    x_dtype: str = "float32"
    y_shape: tuple[int, ...] = ()
    y_dtype: str = "int32"
    largest_token: int | None = None
    bytes: int = 0
    here: bool = True
    preview: tuple[Sample, ...] = ()
    class_names: tuple[str, ...] = ()
    lowest: float = 0.0
    highest: float = 0.0
    pixels: bool = False
    split: str = "random"
    notes: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        """Samples of all splits."""
        return self.train + self.validation + self.test

    def steps(self, batch: int) -> int:
        """Steps of an epoch with `batch` samples each; the last one may have fewer."""
        return -(-self.train // max(1, batch))


def numbers_in_words(data: DataFacts) -> str:
    """What a model gets of a sample: `float32 in 0…1, bytes divided by 255`, `int32 ids up to 19`."""
    if data.largest_token is not None:
        return f"{data.x_dtype} ids up to {data.largest_token}"
    if data.pixels:
        return f"{data.x_dtype} in 0…1, bytes divided by 255"
    if data.lowest == data.highest:
        return data.x_dtype
    return f"{data.x_dtype} in {data.lowest:.3g}…{data.highest:.3g}"


def sample_in_words(data: DataFacts) -> str:
    """Shape and numbers of a sample: `28 × 28 × 1, float32 in 0…1, bytes divided by 255`."""
    shape = " × ".join(map(str, data.x_shape)) or "one number"
    return f"{shape}, {numbers_in_words(data)}"
