"""Which call of `fit` of a script a plan means, counted from 1 in the order in which they are made.

`train.py:fit` is the first, `train.py:fit_2` the second: the trainer has Keras train what comes
before it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path

from gpu_studio.plan.script_flow import (
    MEASURING,
    WRITING,
    are_exclusive,
    called_after,
    is_before,
    repeated,
)
from gpu_studio.plan.scripts import (
    FIT,
    OF_PLANS,
    FitCall,
    call_in,
    calls_of_fit,
    fit_in,
    is_of_keras,
    read_call,
    tree_of,
)

MOST = 9999
"""The last call that can be named."""
_OFFERED = 5
"""So many calls are offered where it is not known how often a loop makes one."""


def number_of(function: str) -> int:
    """Which call of `fit` a plan means by this function of a script: 2 by `fit_2`; 0 by others."""
    if function == FIT:
        return 1
    number = function.removeprefix(f"{FIT}_")
    is_one = number.isascii() and number.isdecimal() and number[0] != "0"
    return int(number) if is_one and function != number and 1 < int(number) <= MOST else 0


def call_of(path: Path, code: bytes, function: str) -> FitCall | None:
    """The call of `fit` that `function` means in the file at `path`, which holds `code`.

    None for another function, also for one that the file itself calls `fit_2`, and where the file
    is no script. Whether as many calls are made, only a start shows.
    """
    number = number_of(function)
    if not number or (number > 1 and _defines(function, tree_of(code))):
        return None
    return call_at(path, code, number)


def call_at(path: Path, code: bytes, number: int) -> FitCall | None:
    """The call of `fit` of this number in the file at `path`, which holds `code`, likewise."""
    first = call_in(path, code)
    if first is None or number == 1:
        return first
    tree = tree_of(code)
    # Else a module beside it trains, too, and the text does not say which call is which.
    calls = _in_turn(tree) if first == fit_in(code) else []
    if number > len(calls):
        counted = FitCall(first.line, {}, OF_PLANS, callbacks=True, number=number, counted=True)
        return replace(counted, module=first.module, strategy=first.strategy)
    call, further = calls[number - 1], calls[number:]
    after = partial(called_after, call.end_lineno or call.lineno, tree)
    return replace(
        read_call(call, tree),
        later=further[0].lineno if further else 0,
        unwritten=after(WRITING),
        unmeasured=after(MEASURING),
        number=number,
    )


def calls_of(path: Path, code: bytes) -> tuple[FitCall, ...]:
    """The calls of `fit` in the file at `path` that may be chosen.

    These are as many as its text shows; where it repeats one, some of those that may be made.
    """
    first = call_in(path, code)
    if first is None:
        return ()
    tree = tree_of(code)
    calls = [] if first.module else _apart(tree)
    many = any(repeated(each, tree) for each in calls) or (first.module and first.later)
    count = max(len(calls), _OFFERED if many else 1)
    found = (call_at(path, code, number) for number in range(1, count + 1))
    return tuple(each for each in found if each is not None)


def again(name: str, call: FitCall) -> tuple[str, str]:
    """That the script of this `name` calls `fit` again after this call, and what to do about it."""
    where = name if call.later_here else call.module or name
    text = (
        f"{where} calls fit again in line {call.later}: only what call "
        f"{call.number} is given is trained."
    )
    usual = _OF_LOOPS if call.later == call.line else _OF_PHASES
    later = f"{FIT}_{call.number + 1}"
    return text, (
        f"To train the next one, after Keras has trained what comes before it, let model and data "
        f"be {name}:{later} (--fit {call.number + 1} with the script). {usual}"
    )


_OF_LOOPS = "Where a loop counts epochs of one model, let training.epochs be as many."
_OF_PHASES = "A second phase with other layers frozen and another rate may be training.phases, too."


def _in_turn(tree: ast.Module) -> list[ast.Call]:
    """The calls that are surely made one after the other, each once, from the first on."""
    calls = _apart(tree)
    others = (each for each in calls_of_fit(tree) if each not in calls)
    if any(len(each.args) + len(each.keywords) > 1 for each in others):
        return []  # another that may be of a model
    sure = [is_before(one, other, tree) for one, other in pairwise(calls)]
    pairs = zip(calls, (True, *sure), strict=True)
    return [each for each, _ in takewhile(lambda it: it[1] and not repeated(it[0], tree), pairs)]


def _apart(tree: ast.Module) -> list[ast.Call]:
    """The calls that are surely of a model, of two in both branches of a condition the first."""
    found: list[ast.Call] = []
    for call in filter(is_of_keras, calls_of_fit(tree)):
        if not any(are_exclusive(each, call, tree) for each in found):
            found.append(call)
    return found


def _defines(name: str, tree: ast.Module) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == name for each in tree.body)
