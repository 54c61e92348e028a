"""Targets and outputs that a loss of Keras' takes without a word, though it is not made for them.

Keras trains them; what comes of it is seldom what is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gpu_studio.common.figures import rounded
from gpu_studio.plan.targets import Target

SPARSE = "sparse_categorical_crossentropy"
BINARY = ("binary_crossentropy", "binary_focal_crossentropy")
PROBABILITIES = {
    SPARSE: "softmax",
    "categorical_crossentropy": "softmax",
    "categorical_focal_crossentropy": "softmax",
    **dict.fromkeys(BINARY, "sigmoid"),
}
"""What the outputs have to end in for these losses, unless these take logits."""
DISTANCES = ("mean_squared_error", "mean_absolute_error", "huber", "log_cosh")
FAR = 10_000
"""Outputs begin near 0; Adam's usual rate moves them by some thousandths a step."""
MANY_DIGITS = 1e9
"""Numbers from here on are written with an exponent."""


@dataclass(frozen=True, slots=True)
class KerasLoss:
    """A loss of Keras' own: its name, whether it takes logits, and the class that it leaves out."""

    name: str
    from_logits: bool = False
    ignored: int | None = None


@dataclass(frozen=True, slots=True)
class Oddity:
    """What is odd, in a sentence, what comes of it, and what to do; `name` tells it from others."""

    name: str
    text: str
    why: str
    advice: str


def oddities(
    target: Target, called: str, loss: KerasLoss, units: int, ending: str
) -> Iterator[Oddity]:
    """What is odd about a target, `called` so, that outputs of so many `units` learn by a loss.

    `ending` is what the outputs end in: softmax, sigmoid, or empty for neither.
    """
    low, high = target.lowest, target.highest
    span = f"{called} go from {_figure(low)} to {_figure(high)}"
    if loss.name in BINARY and (low < 0 or high > 1):
        yield Oddity(
            "labels of yes or no",
            f"The targets {span}, and the loss {loss.name} is made for 0 to 1.",
            "It sinks below 0 for such targets, and drives the outputs to one end.",
            _between_0_and_1(target),
        )
    if loss.name == SPARSE and loss.ignored not in (low, high) and (low < 0 or high >= units):
        yield Oddity(
            "labels beyond the outputs",
            f"The targets {span}, and {units} outputs are for the classes 0 to {units - 1}.",
            "On a CPU the run ends at such a label; a card goes on, with a loss that is no number.",
            _from_0(target, units),
        )
    yield from _squashed(loss, ending)
    if loss.name in DISTANCES and FAR <= max(-low, high) < math.inf:
        scale = 10 ** int(math.log10(max(-low, high)))
        yield Oddity(
            "targets far from 0",
            f"The targets {span}, and outputs begin near 0.",
            "Steps of a usual learning rate take very long to get there, or overshoot.",
            f"Divide the targets by {_figure(scale)}, or end the model in "
            f"keras.layers.Rescaling({scale if scale < MANY_DIGITS else f'{scale:.0e}'}).",
        )


def _figure(number: float) -> str:
    if abs(number) >= MANY_DIGITS:
        return f"{number:.3g}"
    return rounded(number) if number >= 0 else f"-{rounded(-number)}"


def _squashed(loss: KerasLoss, ending: str) -> Iterator[Oddity]:
    """Logits though the loss takes outputs for probabilities, or the other way round."""
    wanted = PROBABILITIES.get(loss.name)
    if wanted is None or loss.from_logits == (not ending):
        return
    if ending:
        yield Oddity(
            "probabilities as logits",
            f"The model ends in a {ending}, and its loss {loss.name} has from_logits=True.",
            f"Keras looks for what went into the {ending}, and squashes twice where it finds none.",
            "Leave out from_logits, or the activation.",
        )
        return
    yield Oddity(
        "logits as probabilities",
        f"The loss {loss.name} takes outputs for probabilities, and the model ends in no {wanted}.",
        "Outputs outside 0 to 1 are cut off there, and learn nothing.",
        f'End the model in activation="{wanted}", or give the loss from_logits=True.',
    )


def _between_0_and_1(target: Target) -> str:
    low, high = target.lowest, target.highest
    if target.ids is not None and high - low == 1:
        return f"Give 0 and 1: y - {rounded(low)}."
    if (low, high) == (-1, 1):
        return "Give 0 and 1, (y + 1) / 2, or learn by the loss hinge."
    if low >= 0 and high == 255:
        return "Divide the targets by 255."
    return (
        "Give 0 and 1. For several classes, end the model in a softmax with a unit for each, and "
        f"learn by {SPARSE}; for values by mean_squared_error."
    )


def _from_0(target: Target, units: int) -> str:
    low, high = target.lowest, target.highest
    if low > 0 and high - low < units:
        return f"Number the classes from 0: y - {rounded(low)}."
    if low < 0:
        return "Number the classes from 0. To leave one out, give the loss its ignore_class."
    return f"Give the last layer {rounded(high + 1)} units, or number the classes from 0."
