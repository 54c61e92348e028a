"""What the kernel of a product by Einstein's notation copies while it runs.

From TensorFlow's `einsum_op_impl.h`: it multiplies batches of matrices, and transposes what it
takes so that it is some, and what comes of them into what is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

_OF_ALL, _OF_ONE, _SUMMED, _DROPPED = range(4)
"""The kinds of axes in the order of matrices: in all tensors, only in one taken and in the result,
in both taken and summed over, in one and summed over."""


def copied(equation: str) -> tuple[tuple[bool, ...], bool]:
    """Which of the tensors that it takes are transposed, and whether the product of two is.

    Where axes have no names, or one name twice, nothing is said to be.
    """
    takes, _, gives = equation.replace(" ", "").partition("->")
    taken = takes.split(",")
    if "." in equation or any(len(set(each)) < len(each) for each in (*taken, gives)):
        return (False,) * len(taken), False
    numbers = {name: number for number, name in enumerate(dict.fromkeys("".join(taken)))}
    kinds = {name: _kind(name, taken, gives) for name in numbers}
    ordered = [_ordered(each, kinds, numbers) for each in taken]
    batch = sorted({name for name in numbers if kinds[name] == _OF_ALL}, key=numbers.__getitem__)
    free = [name for each in ordered for name in each if kinds[name] == _OF_ONE]
    moved = tuple(made != each for made, each in zip(ordered, taken, strict=True))
    return moved, len(taken) > 1 and "".join((*batch, *free)) != gives


def _kind(name: str, taken: Sequence[str], gives: str) -> int:
    once = sum(name in each for each in taken) == 1
    if name in gives:
        return _OF_ONE if once else _OF_ALL
    return _DROPPED if once else _SUMMED


def _ordered(axes: str, kinds: dict[str, int], numbers: dict[str, int]) -> str:
    """The axes as the kernel needs them: as they are if the matrices are only turned round."""
    turned = {_OF_ALL: 0, _SUMMED: 1, _OF_ONE: 2, _DROPPED: 3}
    if axes == "".join(sorted(axes, key=lambda name: (turned[kinds[name]], numbers[name]))):
        return axes
    return "".join(sorted(axes, key=lambda name: (kinds[name], numbers[name])))
