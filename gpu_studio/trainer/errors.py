"""What goes wrong for a reason that a person can do something about: exceptions with a sentence and suggestions."""

from __future__ import annotations

from collections.abc import Sequence


class TrainerError(Exception):
    """A run cannot go on. `message` is a plain sentence; `suggestions` are things to try, the most likely first."""

    def __init__(self, message: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = tuple(suggestions)


class DataError(TrainerError):
    """The data cannot be had, or are not what training needs."""


class ModelError(TrainerError):
    """The model cannot be built, or does not fit the data."""


class PlanRefused(TrainerError):  # noqa: N818  (read as a sentence: the plan is refused)
    """The plan asks for something that only Keras could tell is impossible: an option, a loss, a metric."""
