"""The text of a script: pieces with holes, values as Python source, calls broken into lines.

Whatever a value holds, it stays a value and never becomes code. Calls and lists are broken as
`ruff format` does, so that a script needs no formatter. Functions of the trainer stand in scripts
as they are: one rule for both. Its files are read as text and never imported, for that would start
TensorFlow; a script must have imported what the functions use.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from gpu_studio.common.python_syntax import parsed

# A hole on a line of its own takes any number of lines, or none; others take part of a line.
_HOLE = re.compile(
    r"^(?P<indent> *)\$(?P<lines>[a-z_]+)(?P<end>\n|\Z)|\$(?P<part>[a-z_]+)", re.MULTILINE
)


def fill(piece: str, **values: str) -> str:
    """`piece` with each `$hole` filled by the value of that name.

    Raises KeyError for a hole without one.

    Values are put in as they are: a `$` in one is no hole.
    """

    def filled(hole: re.Match[str]) -> str:
        if hole["part"]:
            return values[hole["part"]]
        text = values[hole["lines"]]
        return indented(text, len(hole["indent"])) + hole["end"] if text else ""

    return _HOLE.sub(filled, piece)


def expression_of(rule: Callable[..., object]) -> str:
    """Return the expression that a one-line function returns, from its source, for a script."""
    return inspect.getsource(rule).rpartition("return ")[2].strip()


def literal(value: Any) -> str:
    """`value` as an expression that gives an equal value, spelled as `ruff format` spells it.

    Takes None, booleans, numbers, texts, and lists, tuples and mappings of them. Raises TypeError
    for anything else.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool | int | None):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(key)}: {literal(each)}' for key, each in value.items())}}}"
    raise TypeError(f"there is no literal for a {type(value).__name__}")


def comment(text: str) -> str:
    """Return `text` as the rest of a comment line.

    Line ends and invisible characters are escaped.
    """
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _text(value: str) -> str:
    # Double quotes, unless single ones need fewer escapes: the rule of `ruff format`.
    quote = "'" if value.count('"') > value.count("'") else '"'
    return (
        quote
        + "".join(f"\\{each}" if each in (quote, "\\") else _shown(each) for each in value)
        + quote
    )


def _shown(character: str) -> str:
    return character if character.isprintable() else _escape(character)


def _escape(character: str) -> str:
    return repr(character)[1:-1]


WIDTH = 88
"""Columns of a line: what `ruff format` allows where nothing is configured."""
_STEP = 4
# Comment lines that form a paragraph: none is empty, and none is indented as examples are.
_COMMENT = re.compile(r"^(?P<indent> *)# (?! ).*(?:\n(?P=indent)# (?! ).*)*", re.MULTILINE)


def call(
    before: str, function: str, arguments: Sequence[str], *, after: str = "", indent: int = 0
) -> str:
    """Return `before` + `function(arguments)` + `after` in as few lines as fit.

    The first line is assumed to be indented by `indent`. The returned lines are not indented: that
    is left to the caller.
    """
    together = ", ".join(arguments)
    first, last = f"{before}{function}({together})(", after.removeprefix("(")
    if (
        after
        and "\n" not in first
        and width(first + last) + indent > WIDTH >= width(first) + indent
    ):
        return f"{first}\n{indented(last.removesuffix(')'), _STEP)}\n)"
    return _broken(
        f"{before}{function}(", together, arguments, f"){after}", indent, together_too=True
    )


def definition(function: str, parameters: Sequence[str], indent: int = 0) -> str:
    """Return the first line or lines of a function, as they stand where that is indented."""
    return _broken(
        f"def {function}(", ", ".join(parameters), parameters, "):", indent, together_too=True
    )


def listing(before: str, items: Sequence[str], *, after: str = "", indent: int = 0) -> str:
    """`before` + `[items]` + `after`, on one line or with one line for each item."""
    return _broken(f"{before}[", ", ".join(items), items, f"]{after}", indent, together_too=False)


def options(given: Mapping[str, Any]) -> list[str]:
    """Keyword arguments with literal values."""
    return [f"{key}={literal(value)}" for key, value in given.items()]


def indented(text: str, columns: int) -> str:
    """Return `text` with each non-empty line indented."""
    return "\n".join(" " * columns + line if line else line for line in text.split("\n"))


def _broken(
    opening: str,
    together: str,
    items: Sequence[str],
    closing: str,
    indent: int,
    *,
    together_too: bool,
) -> str:
    simple = "\n" not in together
    if not items or (simple and width(opening + together + closing) + indent <= WIDTH):
        return opening + together + closing
    if together_too and simple and (len(items) == 1 or width(together) + indent + _STEP <= WIDTH):
        return f"{opening}\n{indented(together, _STEP)}\n{closing}"
    return "\n".join([opening, *(indented(f"{item},", _STEP) for item in items), closing])


def width(text: str) -> int:
    """Return the columns that a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def sentences(lines: Iterable[str]) -> str:
    """Return lines as a comment."""
    return "\n".join(f"# {line}" if line else "#" for line in lines)


def with_comments_wrapped(script: str) -> str:
    """Return the script with comments that are too long wrapped."""
    return _COMMENT.sub(_wrapped, script)


def _wrapped(found: re.Match[str]) -> str:
    lines = found.group().split("\n")
    if all(width(line) <= WIDTH for line in lines):
        return found.group()
    before = found["indent"] + "# "
    text = " ".join(line.removeprefix(before) for line in lines)
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=before,
        subsequent_indent=before,
        break_long_words=False,
        break_on_hyphens=False,
    )


# Functions of the trainer

_REMARK = re.compile(r" +# (?:noqa|type:).*$", re.MULTILINE)


@cache
def source_below_imports(file: str) -> str:
    """Return all of a file of the trainer that follows its imports, without annotations."""
    text = _plain(resources.files("gpu_studio").joinpath(f"trainer/{file}").read_text("utf-8"))
    body = parsed(text).body
    last = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)][-1]
    return "\n".join(text.split("\n")[last.end_lineno :]).strip("\n") + "\n"


def functions_of(file: str, *names: str) -> str:
    """Return functions of a file of the trainer, without annotations, in this order.

    Two empty lines follow each.
    """
    known = _functions(file)
    return "".join(f"{known[name]}\n\n\n" for name in names)


@cache
def _functions(file: str) -> Mapping[str, str]:
    """Return the text of each function of a file of the trainer, without annotations."""
    text = source_below_imports(file)
    lines = text.split("\n")
    return {
        each.name: "\n".join(lines[each.lineno - 1 : each.end_lineno])
        for each in parsed(text).body
        if isinstance(each, ast.FunctionDef)
    }


def _plain(text: str) -> str:
    """Return a file without annotations, and without remarks to those who check it."""
    lines = text.split("\n")
    nodes = list(ast.walk(parsed(text)))
    for each in nodes:
        if isinstance(each, ast.AnnAssign) and each.value and each.lineno == each.end_lineno:
            at = each.lineno - 1
            line = lines[at].encode()  # its columns are counted in bytes
            target, value = line[: each.target.end_col_offset], line[each.value.col_offset :]
            lines[at] = f"{target.decode()} = {value.decode()}"
    found = [each for each in nodes if isinstance(each, ast.FunctionDef)]
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
