"""Where in a plan a problem is: the index and the key that its field ends in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from gpu_studio.plan.problems import Problem

LONGEST_KEY = 20
Value = TypeVar("Value")


def index_in(problem: Problem, values: tuple[Any, ...]) -> int | None:
    """The number in the first brackets of the problem's field; None if `values` has no such place."""
    number = problem.field.partition("[")[2].partition("]")[0]
    return int(number) if number.isdecimal() and int(number) < len(values) else None


def without(values: tuple[Value, ...], index: int) -> tuple[Value, ...]:
    """`values` without the one at `index`."""
    return values[:index] + values[index + 1 :]


def put(values: tuple[Value, ...], index: int, value: Value) -> tuple[Value, ...]:
    """`values` with another one at `index`."""
    return (*values[:index], value, *values[index + 1 :])


def left(problem: Problem, options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` without the one that the problem is about."""
    return {key: value for key, value in options.items() if key != problem.field.rpartition(".")[2]}


def leave_out(problem: Problem) -> str:
    """What the button says that leaves an option out."""
    key = problem.field.rpartition(".")[2]
    return f"Leave {key} out" if len(key) <= LONGEST_KEY else "Leave it out"
