"""What a script's text says of its values, without running it: variables, settings, options."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

UNKNOWN = object()
"""Stands for a value that the text does not say."""
LARGE = 1 << 40
"""Numbers of this size and above are no counts."""


def bound_in(tree: ast.Module) -> dict[str, ast.expr]:
    """What each name is bound to that is bound once, with the defaults of `argparse`."""
    bound: dict[str, ast.expr] = {}
    seen: set[str] = set()
    for name, value in _bindings(tree):
        if name in seen or value is None:
            bound.pop(name, None)
        else:
            bound[name] = value
        seen.add(name)
    return bound


def _bindings(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield what is bound anywhere, with its value where that is one expression.

    An attribute has a dot before its name, whatever it is one of.
    """
    nodes = list(ast.walk(tree))
    assigned = [each for each in nodes if isinstance(each, ast.Assign | ast.AnnAssign)]
    named = [(each, each.value) for each in assigned if len(_targets(each)) == 1]
    valued = {id(_targets(each)[0]): value for each, value in named}
    in_classes = {id(each) for node in nodes for each in _fields(node)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            if isinstance(node.ctx, ast.Store):
                dot = "." if id(node) in in_classes else ""
                yield f"{dot}{_name(node)}", valued.get(id(node))
        elif isinstance(node, ast.arg):
            yield node.arg, None
        elif isinstance(node, ast.Call) and (option := _option(node)):
            yield option
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _CHANGING:
            yield _name(node.func.value), None  # type: ignore[attr-defined]


_CHANGING = frozenset({"append", "clear", "extend", "insert", "pop", "setdefault", "update"})
"""Methods of lists and tables after which these are no longer what they were bound to."""


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _fields(node: ast.AST) -> list[ast.expr]:
    """The fields of a class, mostly a dataclass of settings."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    return [each.target for each in body if isinstance(each, ast.AnnAssign)]


def _name(node: ast.expr) -> str:
    """The name of a variable, an attribute, or of the variable that an entry is of."""
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return _name(node.value) if isinstance(node, ast.Subscript) else getattr(node, "id", "")


def _option(call: ast.Call) -> tuple[str, ast.expr] | None:
    """The attribute that `add_argument("--epochs", default=10)` makes, and its default."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return None
    given = {each.arg: each.value for each in call.keywords}
    names = [each.value for each in call.args if isinstance(each, ast.Constant)]
    long = next((str(name) for name in names if str(name).startswith("--")), "")
    default = given.get("default")
    if not long or default is None or "dest" in given:
        return None
    return f".{long[2:].replace('-', '_')}", default


def value_of(node: ast.expr, bound: Mapping[str, ast.expr], depth: int = 8) -> Any:
    """The value of an expression; `UNKNOWN` where the text does not say it."""
    if not depth:
        return UNKNOWN
    inner = partial(value_of, bound=bound, depth=depth - 1)
    if isinstance(node, ast.Attribute | ast.Name):
        held = bound.get(_name(node))
        return inner(held) if held is not None else UNKNOWN
    if isinstance(node, ast.Subscript):
        table, key = inner(node.value), inner(node.slice)
        return table.get(key, UNKNOWN) if isinstance(table, dict) else UNKNOWN
    if isinstance(node, ast.BinOp) and type(node.op) in _COUNTING:
        sides = inner(node.left), inner(node.right)
        counted = all(isinstance(each, int) and 0 < each < LARGE for each in sides)
        return _COUNTING[type(node.op)](*sides) if counted else UNKNOWN
    if isinstance(node, ast.Dict):
        pairs = [
            (inner(key) if key else UNKNOWN, inner(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        # One entry that is unknown leaves the others known, but not an unknown key.
        known = all(isinstance(key, int | str) for key, _ in pairs)
        return dict(pairs) if known else UNKNOWN
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


_COUNTING: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
