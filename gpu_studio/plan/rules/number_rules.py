"""Check the numbers of a part against the table of their bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpu_studio.plan.options import Option
from gpu_studio.plan.problems import Problem


def bounded(path: str, part: Any, limits: Iterable[Option]) -> Iterator[Problem]:
    """The problems of the fields of `part` that have `limits`."""
    for option in limits:
        problem = option.problem(f"{path}.{option.name}", getattr(part, option.name))
        if problem:
            yield problem
