"""Parse Python, in any thread."""

from __future__ import annotations

import ast
import symtable
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Sequence, Set

_PARSING = threading.Lock()


def parsed(code: str | bytes) -> ast.Module:
    """Return the syntax tree of Python, without warnings of its style.

    Threads parse one after the other: before 3.11.8, Python counts the depth of all trees that it
    makes at once in one place, and raises SystemError where the count is wrong
    (python/cpython#106905). Raises SyntaxError, ValueError, RecursionError, and MemoryError.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def names_read(code: str, among: Set[str]) -> frozenset[str]:
    """Return which of these names Python reads as variables: attributes are not looked at.

    Quicker than a look at a syntax tree. Raises as `parsed` does.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = symtable.symtable(code, "<code>", "exec")
    return frozenset(_read_in(table, among))


def _read_in(table: symtable.SymbolTable, among: Set[str]) -> Iterator[str]:
    yield from (
        name for name in among & table.get_identifiers() if table.lookup(name).is_referenced()
    )
    for inner in table.get_children():
        yield from _read_in(inner, among)


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def run_by(body: Sequence[ast.AST], *, as_program: bool = False) -> Iterator[ast.AST]:
    """All that runs with these statements, also under `if` or `try`, but not in inner functions.

    With `as_program` also what runs only if the file is started, and not imported.
    """
    todo = deque(body)
    while todo:
        node = todo.popleft()
        yield node
        if isinstance(node, ast.If | ast.IfExp) and not as_program and _asks_for_main(node.test):
            todo.extend(node.orelse if isinstance(node.orelse, list) else [node.orelse])
        elif not isinstance(node, (*DEFINITIONS, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def _asks_for_main(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_asks_for_main, test.values))
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, *test.comparators)
    names = {each.id for each in sides if isinstance(each, ast.Name)}
    texts = {each.value for each in sides if isinstance(each, ast.Constant)}
    return len(sides) == 2 and names == {"__name__"} and texts == {"__main__"}


def mistake_in(code: bytes) -> str:
    """Why this Python cannot read a file that holds `code`, with the line; empty if it can."""
    try:
        parsed(code)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""
