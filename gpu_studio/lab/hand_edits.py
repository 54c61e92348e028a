"""Edits of a placement by hand: each takes one and returns another, or says why it cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Final

from gpu_studio.lab.benchmark_results import BenchmarkError
from gpu_studio.lab.hand_placement import SIDE, HandOperation, HandPlacement, checked, operation_of

_SOFT, _HARD, _SIDE = "soft placement on", "soft placement off", "side "
_NAMES: Final = (*ascii_lowercase, *(f"op_{number}" for number in range(1, 100)))


def moved(placement: HandPlacement, name: str, device: str) -> HandPlacement:
    """With an operation asked for another device; an empty one lets TensorFlow choose."""
    return _with(
        placement,
        [replace(one, device=device) if one.name == name else one for one in placement.operations],
    )


def without(placement: HandPlacement, name: str) -> HandPlacement:
    """Without an operation; others take made-up matrices instead of its result."""
    return _with(
        placement,
        [
            replace(one, inputs=tuple(each for each in one.inputs if each != name))
            for one in placement.operations
            if one.name != name
        ],
    )


def added(placement: HandPlacement, text: str) -> HandPlacement:
    """With one operation more, as `total=add(a, b)@CPU:0`. Raises BenchmarkError."""
    return checked(_with(placement, [*placement.operations, operation_of(text)]))


def changed(placement: HandPlacement, name: str, text: str) -> HandPlacement:
    """With another operation in the place of one; what took its result still does.

    Raises BenchmarkError with all that would be wrong.
    """
    new = operation_of(text)

    def renamed(one: HandOperation) -> HandOperation:
        inputs = tuple(new.name if each == name else each for each in one.inputs)
        return replace(one, inputs=inputs)

    operations = [new if one.name == name else renamed(one) for one in placement.operations]
    return checked(_with(placement, operations))


def suggested(placement: HandPlacement, devices: Sequence[str]) -> str:
    """The text of a further operation to begin with."""
    taken = {one.name for one in placement.operations}
    name = next(each for each in _NAMES if each not in taken)
    return f"{name}=matmul@{devices[0] if devices else 'CPU:0'}"


def written(placement: HandPlacement) -> tuple[str, ...]:
    """The placement as texts, which `read` makes it of again."""
    about = (_SOFT if placement.soft_placement else _HARD, f"{_SIDE}{placement.side}")
    return (*map(str, placement.operations), *about)


def read(texts: Sequence[str]) -> HandPlacement | None:
    """The placement that was written so; None if it is none."""
    soft, side, operations = True, SIDE, []
    try:
        for text in texts:
            if text in (_SOFT, _HARD):
                soft = text == _SOFT
            elif text.startswith(_SIDE):
                side = int(text.removeprefix(_SIDE))
            else:
                operations.append(operation_of(text))
        return checked(HandPlacement(tuple(operations), soft, side))
    except (BenchmarkError, ValueError):
        return None


def _with(placement: HandPlacement, operations: Sequence[HandOperation]) -> HandPlacement:
    return replace(placement, operations=tuple(operations))
