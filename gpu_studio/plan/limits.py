"""The bounds of the numeric fields of a plan, with help texts.

The window builds its fields from them.
"""

from __future__ import annotations

from gpu_studio.plan.options import Option
from gpu_studio.plan.values import CheckpointSettings, Data, EarlyStopping, Placed, Training

_MANY = 2**31 - 1

DATA_LIMITS = (
    Option(
        "validation_fraction",
        "float",
        Data().validation_fraction,
        "share of the training samples kept aside to validate with, "
        "where the data bring none for that",
        least=0,
        below=1,
    ),
    Option(
        "test_fraction",
        "float",
        Data().test_fraction,
        "share kept aside to test with at the end, where the data bring no test samples",
        least=0,
        below=1,
    ),
)

TRAINING_LIMITS = (
    Option(
        "epochs",
        "int",
        Training().epochs,
        "times through the training samples",
        least=1,
        most=1_000_000,
    ),
    Option("batch_size", "int", Training().batch_size, "samples of one step", least=1, most=_MANY),
    Option(
        "learning_rate", "float", Training().learning_rate, "size of the optimizer's steps", above=0
    ),
    Option(
        "seed",
        "int",
        Training().seed,
        "seed of weights, order and dropout",
        least=0,
        most=2**32 - 1,
    ),
    Option(
        "steps_per_call",
        "int",
        Training().steps_per_call,
        "steps inside one call of the compiled function; 0: chosen by measuring",
        least=0,
        most=100_000,
    ),
)

CHECKPOINT_LIMITS = (
    Option(
        "every_epochs",
        "int",
        CheckpointSettings().every_epochs,
        "epochs from one checkpoint to the next",
        least=0,
        most=_MANY,
    ),
    Option(
        "every_steps",
        "int",
        CheckpointSettings().every_steps,
        "steps from one checkpoint to the next",
        least=0,
        most=_MANY,
    ),
    Option(
        "keep",
        "int",
        CheckpointSettings().keep,
        "how many of the last to keep, besides the best",
        least=1,
        most=10_000,
    ),
)

EARLY_STOPPING_LIMITS = (
    Option(
        "patience",
        "int",
        EarlyStopping().patience,
        "epochs without improvement to wait",
        least=0,
        most=_MANY,
    ),
    Option(
        "min_delta", "float", EarlyStopping().min_delta, "what counts as an improvement", least=0
    ),
)

PLACED_LIMITS = (
    Option(
        "micro_batches",
        "int",
        Placed().micro_batches,
        "parts that a batch is cut into",
        least=1,
        most=10_000,
    ),
)
