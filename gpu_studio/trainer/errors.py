"""What goes wrong for a reason that a person can do something about: exceptions with a sentence and suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpu_studio.runs.event_parts import Mend


class TrainerError(Exception):
    """A run cannot go on. `message` is a plain sentence; `suggestions` are things to try, the most likely first.

    `mends` are changes of the plan after which it can. `kind` names the kind of failure for programs; empty where it is
    none of those that have a name.
    """

    kind: ClassVar[str] = ""
    # Of an error that comes out of a layer Keras would make another, with the layer's arguments in its message and
    # without the suggestions: by this it knows that it has done so already.
    _keras_call_info_injected = True

    def __init__(self, message: str, suggestions: Sequence[str] = (), mends: Sequence[Mend] = ()) -> None:
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
    """The plan asks for something that only Keras could tell is impossible: an option, a loss, a metric."""

    kind = "plan"


class UserCodeError(TrainerError):
    """Python code of the user's own may not run, or stopped, or gave what training cannot use.

    `trace` is the traceback from that code's own first line on; empty where none of it was running.
    """

    kind = "user_code"

    def __init__(self, message: str, suggestions: Sequence[str] = (), trace: str = "") -> None:
        super().__init__(message, suggestions)
        self.trace = trace


class NotFiniteError(TrainerError):
    """The loss of the step numbered `step` (from 0), in `epoch` (from 1), is no finite number."""

    kind = "not_finite"

    def __init__(self, loss: float, step: int, epoch: int, learning_rate: float) -> None:
        super().__init__(
            f"The loss is {loss} at step {step}, in epoch {epoch}: it diverged.",
            [
                f"Make training.learning_rate smaller than {learning_rate:g}.",
                "Clip the gradients: training.options = { global_clipnorm = 1.0 }.",
                "Look for values that are not numbers, or very large ones, in the data.",
                "Or resume from the last checkpoint with a smaller learning rate.",
            ],
        )
        self.step = step
