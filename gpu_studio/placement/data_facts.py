"""Facts about data that help a person choose a model: samples, shapes, numbers, classes."""

from __future__ import annotations

from dataclasses import dataclass

PREVIEWED = 12
"""Samples shown of the training split, at most."""
ROW = 16
"""Numbers shown of a sample that is no image, at most."""


@dataclass(frozen=True, slots=True)
class DataSample:
    """One sample and its target in words.

    An image has `image`, `height × width × channels` bytes by rows. For any other sample `row` has
    its first numbers.
    """

    label: str
    image: bytes | None = None
    height: int = 0
    width: int = 0
    channels: int = 0
    row: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Samples of each split, their shapes without the samples' axis, their types, and a preview.

    `task` is "classes" or "values"; `classes` is None for values. `largest_token` is the largest
    token id if a sample is a row of tokens, and None if it is measured numbers. `bytes` is the size
    of all splits in host memory. If the data are not `here`, the first run downloads them, and
    there is no preview. `class_names` are those of the first classes, at most PREVIEWED, if classes
    have names. The model receives numbers from `lowest` to `highest`, judged by the samples that
    were examined, both 0 if none was; `pixels` are bytes that were divided by 255. `notes` are
    sentences about the splits, made as the plan's `split` says. `arrays` are the names of the used
    arrays of a file or of a function's result.
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
    preview: tuple[DataSample, ...] = ()
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
        """Steps of an epoch with `batch` samples each; the last one may be smaller."""
        return -(-self.train // max(1, batch))


def numbers_in_words(data: DataFacts) -> str:
    """A model's input in words: `float32 in 0…1, bytes divided by 255`, `int32 ids up to 19`."""
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
