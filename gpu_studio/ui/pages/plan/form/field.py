"""A field of a plan that stands in a form: where it is, how it is shown, and what undo calls a change of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.ui.models.plan.edits.plan_path import value_at, with_option, with_value, without_option
from gpu_studio.ui.models.plan.typed_values import default_in_words

Edit = Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Field:
    """A field at `path`. `read` and `write` say how its value is had and changed where there is more to it than that.

    Problems at the paths `problems`, its own by default, and in what is within them are told with the field; of those
    at `exact` only what is said of that path itself. Without a `default` there is no way back to it.
    """

    path: str
    label: str
    help: str = ""
    default: Any = None
    write: Callable[[Plan, Any], Plan] | None = None
    read: Callable[[Plan], Any] | None = None
    problems: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is in the plan."""
        return self.path

    @property
    def hint(self) -> str:
        """What it is, and its default."""
        known = "" if self.default is None else default_in_words(self.default)
        return " · ".join(text for text in (self.help, known) if text)

    def value(self, plan: Plan) -> Any:
        """What the plan says."""
        return self.read(plan) if self.read else value_at(plan, self.path)

    def is_default(self, plan: Plan) -> bool:
        """Whether the way back to the default leads nowhere."""
        return self.default is None or self.value(plan) == self.default

    def set(self, value: Any) -> Edit:
        """The edit that gives it this value."""
        write = self.write
        return (lambda plan: write(plan, value)) if write else (lambda plan: with_value(plan, self.path, value))

    def reset(self) -> Edit:
        """The edit that gives it its default."""
        return self.set(self.default)


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option in the table at `path`; left out of the table it has its default."""

    path: str
    key: str
    label: str
    help: str = ""
    default: Any = None
    problems: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is in the plan."""
        return f"{self.path}.{self.key}"

    @property
    def hint(self) -> str:
        """What it does, and its default."""
        known = "" if self.default is None else default_in_words(self.default)
        return " · ".join(text for text in (self.help, known) if text)

    def value(self, plan: Plan) -> Any:
        """What the plan says, or else its default."""
        return (value_at(plan, self.path) or {}).get(self.key, self.default)

    def is_default(self, plan: Plan) -> bool:
        """Whether the plan leaves it out."""
        return self.key not in (value_at(plan, self.path) or {})

    def set(self, value: Any) -> Edit:
        """The edit that gives it this value."""
        return lambda plan: with_option(plan, self.path, self.key, value)

    def reset(self) -> Edit:
        """The edit that leaves it out."""
        return lambda plan: without_option(plan, self.path, self.key)


AnyField = Field | OptionField


def name_in_words(path: str) -> str:
    """The last part of a path as words: `batch size`."""
    return path.rpartition(".")[2].replace("_", " ")
