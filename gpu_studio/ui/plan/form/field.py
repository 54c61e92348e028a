"""A field of a plan in a form: its path, its display, and the name of its undo step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.plan.edits.plan_path import value_at, with_option, with_value, without_option
from gpu_studio.ui.kit.fields.typed import default_in_words

Edit = Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Field:
    """A field at `path`. `read` and `write` access its value if that takes more than the path.

    Problems at the paths `problems` (by default the field's own), and below them, are shown with
    the field; for those at `exact`, only problems at that very path. Without a `default` the field
    cannot be reset.
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
        """Its path in the plan."""
        return self.path

    @property
    def hint(self) -> str:
        """Its description and its default."""
        known = "" if self.default is None else default_in_words(self.default)
        return " · ".join(text for text in (self.help, known) if text)

    def value(self, plan: Plan) -> Any:
        """Its value in the plan."""
        return self.read(plan) if self.read else value_at(plan, self.path)

    def is_default(self, plan: Plan) -> bool:
        """Whether it has its default already."""
        return self.default is None or self.value(plan) == self.default

    def set(self, value: Any) -> Edit:
        """Return the edit that sets this value."""
        write = self.write
        return (
            (lambda plan: write(plan, value))
            if write
            else (lambda plan: with_value(plan, self.path, value))
        )

    def reset(self) -> Edit:
        """Return the edit that restores the default."""
        return self.set(self.default)


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option in the table at `path`; if the table lacks it, it has its default."""

    path: str
    key: str
    label: str
    help: str = ""
    default: Any = None
    problems: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Its path in the plan."""
        return f"{self.path}.{self.key}"

    @property
    def hint(self) -> str:
        """Its effect and its default."""
        known = "" if self.default is None else default_in_words(self.default)
        return " · ".join(text for text in (self.help, known) if text)

    def value(self, plan: Plan) -> Any:
        """Its value in the plan, else its default."""
        return (value_at(plan, self.path) or {}).get(self.key, self.default)

    def is_default(self, plan: Plan) -> bool:
        """Whether the plan leaves it out."""
        return self.key not in (value_at(plan, self.path) or {})

    def set(self, value: Any) -> Edit:
        """Return the edit that sets this value."""
        return lambda plan: with_option(plan, self.path, self.key, value)

    def reset(self) -> Edit:
        """Return the edit that removes it."""
        return lambda plan: without_option(plan, self.path, self.key)


AnyField = Field | OptionField


def name_in_words(path: str) -> str:
    """Return the last part of a path in words: `batch size`."""
    return path.rpartition(".")[2].replace("_", " ")
