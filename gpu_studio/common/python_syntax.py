"""Parse Python, in any thread."""

from __future__ import annotations

import ast
import threading
import warnings

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
