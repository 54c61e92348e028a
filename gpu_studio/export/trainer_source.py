"""Functions of the trainer as text of a script, so that run and script have one rule.

The trainer's files are read as text and never imported, for that would start TensorFlow. A script
must have imported what the functions use.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import resources

from gpu_studio.export.script_text import definition, indented

_REMARK = re.compile(r" +# (?:noqa|type:).*$", re.MULTILINE)


@cache
def source_below_imports(file: str) -> str:
    """Return all of a file of the trainer that follows its imports, without annotations."""
    text = _plain(resources.files("gpu_studio").joinpath(f"trainer/{file}").read_text("utf-8"))
    body = ast.parse(text).body
    last = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)][-1]
    return "\n".join(text.split("\n")[last.end_lineno :]).strip("\n") + "\n"


def functions_of(file: str, *names: str) -> str:
    """Return functions of a file of the trainer, without annotations, in this order.

    Two empty lines follow each.
    """
    text = source_below_imports(file)
    known = {each.name: each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
    found = [ast.get_source_segment(text, known[name]) for name in names]
    return "".join(f"{each}\n\n\n" for each in found)


def _plain(text: str) -> str:
    """Return a file without annotations, and without remarks to those who check it."""
    lines = text.split("\n")
    found = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    for function in sorted(found, key=lambda each: each.lineno, reverse=True):
        signature = definition(function.name, _parameters(function.args, text), function.col_offset)
        signature = indented(signature, function.col_offset)
        lines[function.lineno - 1 : function.body[0].lineno - 1] = signature.split("\n")
    return _REMARK.sub("", "\n".join(lines))


def _parameters(given: ast.arguments, text: str) -> list[str]:
    without = [None] * (len(given.args) - len(given.defaults))
    positional = zip(given.args, [*without, *given.defaults], strict=True)
    keywords = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    star = ["*"] if given.kwonlyargs and not given.vararg else []
    return [
        *(_parameter(*each, text) for each in positional),
        *([f"*{given.vararg.arg}"] if given.vararg else star),
        *(_parameter(*each, text) for each in keywords),
        *([f"**{given.kwarg.arg}"] if given.kwarg else []),
    ]


def _parameter(named: ast.arg, default: ast.expr | None, text: str) -> str:
    return named.arg if default is None else f"{named.arg}={ast.get_source_segment(text, default)}"
