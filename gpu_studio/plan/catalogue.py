"""What a plan can name: built-in models, data and schedules with their options, and Keras' own.

The rules check plans against these tables, the trainer takes defaults from them, and the window
builds its forms from them. The learning rate that a schedule sets at each step of a run is computed
here too, in advance, by Keras' formulas. The options of a user's own data are in `plan/data.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_studio.common.figures import grouped
from gpu_studio.plan.data import ARRAYS, IMAGES, SCALES, DataEntry, folder_entry
from gpu_studio.plan.keras_objects import OPTIMIZERS, Task
from gpu_studio.plan.options import BuiltIn, Option
from gpu_studio.plan.values import Data, Training

__all__ = [
    "ACTIVATIONS",
    "DATA",
    "MODELS",
    "OPTIMIZERS",
    "SCHEDULES",
    "Length",
    "ModelEntry",
    "Rate",
    "data_entry",
    "rate_of",
    "scale_of",
]

ACTIVATIONS = (
    "relu",
    "gelu",
    "silu",
    "elu",
    "selu",
    "leaky_relu",
    "tanh",
    "sigmoid",
    "softplus",
    "softsign",
    "mish",
    "linear",
)
"""Activations of hidden layers, as Keras names them."""


@dataclass(frozen=True, slots=True)
class ModelEntry(BuiltIn):
    """A built-in model, built by the function of the same name in `trainer/models/NAME.py`.

    `tasks` are those it can learn; `ranks` the possible numbers of axes of one sample (empty: any).
    No side of an image may be shorter than `smallest_side`. A model that `reads_tokens` accepts a
    sample with one axis only if its whole numbers are tokens; its option `vocabulary` is the number
    of tokens (0: as many as the data show).
    """

    tasks: tuple[Task, ...] = ("classes",)
    ranks: tuple[int, ...] = ()
    smallest_side: int = 1
    reads_tokens: bool = False


def _dropout(default: float, help_: str) -> Option:
    return Option("dropout", "float", default, help_, least=0, below=1)


_SEED = Option(
    "seed",
    "int",
    0,
    "the seed of the random numbers that the data are made of",
    least=0,
    most=2**32 - 1,
)
_SAMPLES = Option("samples", "int", 10_000, "how many samples in all", least=10, most=10**9)

MODELS: dict[str, ModelEntry] = {
    entry.name: entry
    for entry in (
        ModelEntry(
            "mlp",
            "dense layers, one after another",
            (
                Option(
                    "hidden",
                    "ints",
                    [256, 256, 256],
                    "units of each hidden layer",
                    least=1,
                    most=1_000_000,
                    longest=64,
                ),
                Option(
                    "activation",
                    "choice",
                    "relu",
                    "activation of the hidden layers",
                    choices=ACTIVATIONS,
                ),
                _dropout(
                    0.0, "share of a hidden layer's outputs left out at random while training"
                ),
            ),
            tasks=("classes", "values"),
        ),
        ModelEntry(
            "lenet",
            "two convolutions (20, 50) and a dense layer of 128, after LeCun et al. 1998",
            (
                _dropout(
                    0.0, "share of the dense layer's outputs left out at random while training"
                ),
            ),
            ranks=(3,),
            smallest_side=16,
        ),
        ModelEntry(
            "cnn",
            "one convolution of 32, pooling, and a dense layer of 64",
            (
                _dropout(
                    0.0, "share of the dense layer's outputs left out at random while training"
                ),
            ),
            ranks=(3,),
            smallest_side=4,
        ),
        ModelEntry(
            "cifar_cnn", "two convolutions, each with batch normalisation, for CIFAR-10", ranks=(3,)
        ),
        ModelEntry(
            "resnet20",
            "the 20-layer residual network for CIFAR, He et al. 2015, section 4.2",
            ranks=(3,),
        ),
        ModelEntry(
            "transformer",
            "a small encoder that reads rows of an image, a sequence, or tokens",
            (
                Option(
                    "width",
                    "int",
                    64,
                    "numbers that stand for one position; a multiple of heads",
                    least=1,
                    most=16_384,
                ),
                Option("heads", "int", 4, "attention heads of each block", least=1, most=256),
                Option(
                    "depth", "int", 2, "blocks of attention and feed-forward", least=1, most=128
                ),
                Option(
                    "feed_forward",
                    "int",
                    128,
                    "units of each block's hidden layer",
                    least=1,
                    most=65_536,
                ),
                _dropout(0.1, "share of each sublayer's outputs left out at random while training"),
                Option(
                    "vocabulary",
                    "int",
                    0,
                    "how many tokens there are, for data of whole numbers; 0: as many as the "
                    "training data show",
                    least=0,
                    most=10_000_000,
                ),
            ),
            ranks=(1, 2, 3),
            reads_tokens=True,
        ),
        ModelEntry("linear", "one dense unit: a straight line through the data", tasks=("values",)),
    )
}

DATA: dict[str, DataEntry] = {
    entry.name: entry
    for entry in (
        DataEntry(
            "digits",
            "1,797 real handwritten digits, 28×28, bundled: needs no download",
            shape=(28, 28, 1),
            classes=10,
            samples=1797,
        ),
        DataEntry(
            "mnist",
            "70,000 handwritten digits, 28×28, downloaded once",
            shape=(28, 28, 1),
            classes=10,
            samples=70_000,
            brings_test=True,
        ),
        DataEntry(
            "fashion_mnist",
            "70,000 pictures of clothes, 28×28, downloaded once",
            shape=(28, 28, 1),
            classes=10,
            samples=70_000,
            brings_test=True,
        ),
        DataEntry(
            "cifar10",
            "60,000 colour pictures of ten kinds, 32×32, downloaded once",
            shape=(32, 32, 3),
            classes=10,
            samples=60_000,
            brings_test=True,
        ),
        DataEntry(
            "synthetic",
            "made-up data of any shape and size, the same for the same seed",
            (
                Option(
                    "shape",
                    "ints",
                    [28, 28, 1],
                    "shape of one sample",
                    least=1,
                    most=100_000,
                    fewest=1,
                    longest=4,
                ),
                Option("classes", "int", 10, "how many classes", least=2, most=100_000),
                _SAMPLES,
                _SEED,
            ),
        ),
        DataEntry(
            "regression",
            "points along a straight line, with noise",
            (
                Option("samples", "int", 1000, "how many points in all", least=10, most=10**9),
                Option("slope", "float", 2.0, "the line's slope", least=-1e6, most=1e6),
                Option("intercept", "float", 1.0, "the line's height at 0", least=-1e6, most=1e6),
                Option("noise", "float", 0.1, "standard deviation of the noise", least=0, most=1e6),
                _SEED,
            ),
            task="values",
            shape=(1,),
        ),
    )
}

SCHEDULES: dict[str, BuiltIn] = {
    entry.name: entry
    for entry in (
        BuiltIn("constant", "the learning rate stays as it is"),
        BuiltIn(
            "step",
            "multiplies the learning rate by `drop` every so often",
            (
                Option("drop", "float", 0.5, "factor of each drop", above=0, most=1),
                Option(
                    "every_epochs",
                    "int",
                    10,
                    "epochs between two drops; not together with every_steps",
                    least=1,
                ),
                Option(
                    "every_steps",
                    "int",
                    0,
                    "steps between two drops; 0: every_epochs holds",
                    least=0,
                ),
            ),
        ),
        BuiltIn(
            "exponential",
            "multiplies the learning rate by `decay` every so often, smoothly or in a staircase",
            (
                Option("decay", "float", 0.96, "factor over each period", above=0, most=1),
                Option(
                    "every_epochs",
                    "int",
                    1,
                    "epochs of a period; not together with every_steps",
                    least=1,
                ),
                Option(
                    "every_steps", "int", 0, "steps of a period; 0: every_epochs holds", least=0
                ),
                Option(
                    "staircase", "bool", False, "drop at the end of each period instead of smoothly"
                ),
            ),
        ),
        BuiltIn(
            "cosine",
            "rises over a warm-up, then falls along half a cosine to the end, "
            "after Loshchilov and Hutter 2017",
            (
                Option(
                    "warmup_epochs",
                    "int",
                    0,
                    "epochs of rising; not together with warmup_steps",
                    least=0,
                ),
                Option(
                    "warmup_steps", "int", 0, "steps of rising; 0: warmup_epochs holds", least=0
                ),
                Option(
                    "minimum",
                    "float",
                    0.0,
                    "where it ends, as a share of the learning rate",
                    least=0,
                    most=1,
                ),
            ),
        ),
    )
}


def data_entry(data: Data) -> DataEntry | None:
    """The entry of a plan's data by name or kind.

    None for the user's own arrays and for unknown names.
    """
    if data.name is not None:
        return DATA.get(data.name)
    return folder_entry(data) if data.folder is not None else None


def scale_of(data: Data) -> str:
    """What the plan says about scaling bytes: one of SCALES.

    Only files and image folders have a choice.
    """
    entry = ARRAYS if data.file is not None else IMAGES if data.folder is not None else None
    return str(entry.values(data.options)["scale"]) if entry is not None else SCALES[0]


Rate = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a run: the steps of an epoch, and of all epochs."""

    steps_per_epoch: int
    total_steps: int


def rate_of(training: Training, length: Length) -> Rate:
    """The learning rate as a function of the step, counted over the whole run from 0.

    Raises ValueError, with a sentence, for an unknown schedule, wrong options, or one that does not
    fit the run.
    """
    schedule = training.schedule
    if schedule is None:
        return lambda _step: training.learning_rate
    entry = SCHEDULES.get(schedule.name)
    if entry is None:
        raise ValueError(f"There is no schedule {schedule.name}.")
    wrong = entry.problems("", schedule.options)
    if wrong:
        raise ValueError(str(wrong[0]))
    return _MAKERS[entry.name](training.learning_rate, entry.values(schedule.options), length)


def needs_length(name: str, options: Mapping[str, Any]) -> bool:
    """Return whether the schedule `name` goes by the length of an epoch, or of the run."""
    entry = SCHEDULES.get(name)
    named = {option.name for option in entry.options} if entry else set()
    if "every_steps" in named:
        return not options.get("every_steps")
    return "warmup_steps" in named


def _constant(rate: float, _options: Mapping[str, Any], _length: Length) -> Rate:
    return lambda _step: rate


def _step(rate: float, options: Mapping[str, Any], length: Length) -> Rate:
    """A staircase: rate · drop^⌊step / period⌋."""
    period = steps_of(options, "every", length.steps_per_epoch)
    return lambda step: rate * float(options["drop"]) ** math.floor(step / period)


def _exponential(rate: float, options: Mapping[str, Any], length: Length) -> Rate:
    """A curve: rate · decay^(step / period), the exponent rounded down if `staircase` is set."""
    period = steps_of(options, "every", length.steps_per_epoch)
    rounded = math.floor if options["staircase"] else float
    return lambda step: rate * float(options["decay"]) ** rounded(step / period)


def _cosine(rate: float, options: Mapping[str, Any], length: Length) -> Rate:
    """A linear warm-up of w steps, then half a cosine down to m · rate after all T steps.

    step < w:  rate · (1 + (w - 1) · step / w) / w
               (Goyal et al. 2017, arXiv:1706.02677, section 2.2);
    step ≥ w:  rate · (m + (1 - m) / 2 · (1 + cos(π · (step - w) / (T - w)))), m `minimum`
               (Loshchilov and Hutter 2016, arXiv:1608.03983, equation 5, one period).
    """
    warmup = steps_of(options, "warmup", length.steps_per_epoch)
    total = max(1, length.total_steps)
    if warmup >= total:
        raise ValueError(
            f"The warm-up takes {grouped(warmup)} steps, and the whole run has {grouped(total)}: "
            "shorten it, or train more epochs."
        )

    minimum = float(options["minimum"])

    def at(step: float) -> float:
        if step < warmup:
            return rate * (1 + (warmup - 1) * step / warmup) / warmup
        angle = math.pi * min(1.0, (step - warmup) / (total - warmup))
        return rate * (minimum + (1 - minimum) / 2 * (1 + math.cos(angle)))

    return at


def steps_of(options: Mapping[str, Any], kind: str, steps_per_epoch: int) -> int:
    """The steps of a schedule's period (`every`), or of its `warmup`, by all of its options.

    They are given in steps, or if these are 0, in epochs.
    """
    return int(options[f"{kind}_steps"] or options[f"{kind}_epochs"] * steps_per_epoch)


_MAKERS: dict[str, Callable[[float, Mapping[str, Any], Length], Rate]] = {
    "constant": _constant,
    "step": _step,
    "exponential": _exponential,
    "cosine": _cosine,
}
