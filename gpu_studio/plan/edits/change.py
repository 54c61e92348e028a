"""An edit of a plan that a person requested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_studio.plan import Plan


@dataclass(frozen=True, slots=True)
class Change:
    """A requested edit: `make` returns the changed plan, `text` is its name in undo.

    Successive changes of the same `field` become one undo step; those with an empty `field` do not.
    `written` is the plan file's text if a person edited it as text.
    """

    make: Callable[[Plan], Plan]
    text: str
    field: str = ""
    written: str | None = None
