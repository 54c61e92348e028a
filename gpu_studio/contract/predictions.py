"""What a checkpoint's model gives for a few samples, as the trainer tells it and a window shows it.

Every value stands there in words, so that a table can show it; what can be drawn comes as pixels or
curves besides.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.common.shown_values import Value

SHOWN = 12
"""Samples that are predicted, at most."""


@dataclass(frozen=True, slots=True)
class OutputOfSample:
    """What one output gives for a sample.

    `target` is None for an output that learns nothing. `right` says whether they are the same,
    where they are classes; None where that has no meaning.
    """

    predicted: Value
    target: Value | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class SamplePrediction:
    """A sample's `place` in its split, its inputs, and what each output makes of them."""

    place: int
    inputs: tuple[Value, ...]
    outputs: tuple[OutputOfSample, ...]


@dataclass(frozen=True, slots=True)
class Predictions:
    """Some samples of a `split` of `of` samples, None if unknown.

    The split is `test`, else `validation`, else `training`. `warning` says why they may mislead, as
    that of an evaluation; normally it is empty.
    """

    checkpoint: str
    split: str
    of: int | None
    samples: tuple[SamplePrediction, ...]
    warning: str = ""
