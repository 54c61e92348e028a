"""Errors that a user can do something about: each has a sentence and suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpu_studio.contract import Failed
from gpu_studio.contract.event_parts import SuggestedChange

FILL_IN = "Drop the samples with missing values, or fill them in."
REPLACE = "Or let a layer of a model of your own replace them, as keras.ops.nan_to_num does."
_LOOK = "Look for values that are not numbers, or very large ones, in the data."


class TrainerError(Exception):
    """A run cannot go on.

    `message` is a plain sentence; `suggestions` are things to try, the most likely first. `mends`
    are changes of the plan after which it can go on. `kind` names the kind of failure for programs;
    it is empty where the failure has no such name.
    """

    kind: ClassVar[str] = ""
    # Keras would replace an error raised in a layer by one that has the layer's arguments in its
    # message and lacks the suggestions: this attribute tells it that it has already done so.
    _keras_call_info_injected = True

    def __init__(
        self, message: str, suggestions: Sequence[str] = (), mends: Sequence[SuggestedChange] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = tuple(suggestions)
        self.mends = tuple(mends)


class DataError(TrainerError):
    """The data cannot be had, or are not what training needs."""

    kind = "data"


class ModelError(TrainerError):
    """The model cannot be built, or does not fit the data."""

    kind = "model"


class PlanRefused(TrainerError):  # noqa: N818  (read as a sentence: the plan is refused)
    """The plan asks for something only Keras can rule out: an option, a loss, a metric."""

    kind = "plan"


class UserCodeError(TrainerError):
    """Python code of the user's own may not run, raised an error, or returned unusable values.

    `trace` is the traceback from that code's own first line on; empty where none of it was running.
    """

    kind = "user_code"

    def __init__(self, message: str, suggestions: Sequence[str] = (), trace: str = "") -> None:
        super().__init__(message, suggestions)
        self.trace = trace


class TrainedBeforeError(UserCodeError):
    """A look would have to train what a script trains before a later call of `fit`."""


class WorkerFailed(TrainerError):  # noqa: N818  (read as a sentence: the worker failed)
    """A worker of a cluster has reported how it failed."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message, failure.suggestions, failure.mends)
        self.failure = failure


class ClusterError(TrainerError):
    """The processes of a run cannot train together."""

    kind = "cluster"


class MissingTargetsError(DataError):
    """Some targets are nan: `called` names the targets in words, and `first` the first such sample.

    `then` says why they cannot be trained on.
    """

    def __init__(self, called: str, first: int, then: str) -> None:
        super().__init__(
            f"{called} hold a value that is not finite (nan), first in sample {first}: {then}.",
            [
                FILL_IN,
                "Or learn by a loss of your own that leaves them out.",
            ],
        )


class NotFiniteError(TrainerError):
    """The loss of step `step` (counted from 0), in `epoch` (from 1), is not finite."""

    kind = "not_finite"

    def __init__(
        self,
        loss: float,
        step: int,
        epoch: int,
        learning_rate: float,
        lacking: str = "",
    ) -> None:
        """`lacking` says which samples hold values that are no finite numbers, if any."""
        said = f"The loss is {loss} at step {step}, in epoch {epoch}"
        super().__init__(
            f"{said}. {lacking}" if lacking else f"{said}: it diverged.",
            [
                f"Make training.learning_rate smaller than {learning_rate:g}.",
                "Clip the gradients: training.options = { global_clipnorm = 1.0 }.",
                *([FILL_IN, REPLACE] if lacking else [_LOOK]),
                "Or resume from the last checkpoint with a smaller learning rate.",
            ],
        )
        self.step = step
