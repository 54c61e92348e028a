"""Python is parsed in one place, by any number of threads."""

from __future__ import annotations

import ast
import gc
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gpu_studio
from gpu_studio.common import python_syntax
from gpu_studio.common.python_syntax import names_read, parsed

PACKAGE = Path(gpu_studio.__file__).parent
TREES = ("ast.parse", "symtable.symtable")


def test_that_threads_which_parse_at_once_all_get_their_trees() -> None:
    """Where garbage is collected meanwhile, and what it frees lets another thread go on."""
    sources = [path.read_bytes() for path in sorted((PACKAGE / "plan").rglob("*.py"))[:12]]

    def let_others_go_on(*_: object) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_go_on)
    threshold = gc.get_threshold()
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parsed, sources * 2))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others_go_on)
    assert all(tree.body for tree in trees)


def test_that_nothing_is_warned_of_a_file_s_style() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(parsed("if 1 is 1:\n    x = '\\d'\n").body) == 1
    with pytest.raises(SyntaxError):
        parsed(b"x = (")


def test_that_names_are_read_in_any_scope_and_neither_bound_nor_attributes() -> None:
    code = """
import bound
from package import also_bound

def outer(given=default):
    kept = used.attribute
    return [inner for each in given if free(kept)]

class Own(base):
    held: "quoted" = 1
"""
    names = {"bound", "also_bound", "default", "used", "attribute", "inner", "free", "base"}
    names |= {"quoted", "package", "elsewhere"}
    assert names_read(code, names) == {"default", "used", "inner", "free", "base"}
    with pytest.raises(SyntaxError):
        names_read("x = (", names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names_read("x = '\\d', y\n", {"y"}) == {"y"}


def test_that_no_other_file_parses_python() -> None:
    own = Path(python_syntax.__file__)
    others = [path for path in PACKAGE.rglob("*.py") if _parses(path.read_text())]
    assert others == [own]


def _parses(text: str) -> bool:
    """Whether this is code that calls for a tree itself, and not only writes such code."""
    if not any(f"{name}(" in text for name in TREES):
        return False
    calls = [each for each in ast.walk(parsed(text)) if isinstance(each, ast.Call)]
    return any(ast.unparse(each.func) in TREES for each in calls)
