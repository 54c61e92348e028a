"""Parse Python, in any thread."""

from __future__ import annotations

import ast
import symtable
import threading
import warnings
from collections.abc import Iterator, Set

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
