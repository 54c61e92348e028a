"""A user's Python file, read without running it.

Its functions are found in its text. Before it is allowed, it is shown letter for letter, with
nothing hidden.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpu_studio.common.figures import dated, grouped, plural
from gpu_studio.common.paths import real_path
from gpu_studio.common.python_syntax import parsed
from gpu_studio.contract.consent import Standing, standing
from gpu_studio.plan import Plan, inline, printable
from gpu_studio.plan.edits.sources import code_path, with_call, with_function_part
from gpu_studio.plan.local_modules import read_code
from gpu_studio.plan.script_calls import call_of, calls_of, number_of
from gpu_studio.plan.scripts import FitCall
from gpu_studio.ui.kit.fields.typed import read_toml

LARGEST_READ = 512 * 1024
"""Bytes of the largest file that is read for its functions.

One that is larger would hold the window up.
"""
GIVEN = ("input_shape", "outputs", "classes", "seed")
"""Parameters that the trainer gives a function of a model or of data by itself."""
GIVEN_TO_CALLBACKS = (
    *("model", "epochs", "batch_size", "steps_per_epoch", "seed", "folder", "validation_data"),
)
"""Those that it gives to a function that makes callbacks."""
LONGEST_DEFAULT = 40


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter of a function. `default` is a value that a plan could hold, else None.

    `written` is the default as written in the file; empty if the parameter has none and must be
    given.
    """

    name: str
    default: Any = None
    written: str = ""

    @property
    def hint(self) -> str:
        """What to say about a default that cannot be shown as a value."""
        if self.default is not None:
            return ""
        return f"default {self.written}" if self.written else "has no default: give it a value"


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function at the top level of a file.

    `hint` is its docstring's first line, `parameters` what it can be given. `takes_more` says
    whether it also takes options of any other name. `script` is the call of `fit` in a script,
    where what that is given stands for a function.
    """

    name: str
    hint: str = ""
    parameters: tuple[Parameter, ...] = ()
    takes_more: bool = False
    is_class: bool = False
    script: FitCall | None = None

    def options_besides(self, given: Collection[str], by_place: int = 0) -> tuple[Parameter, ...]:
        """Return its parameters without those `given` by the trainer.

        A function that lacks `by_place` values besides is itself what is wanted, such as a loss,
        and takes them by their places.
        """
        options = tuple(each for each in self.parameters if each.name not in given)
        lacking = [each.name for each in options if not each.written]
        if self.is_class or len(lacking) != by_place:
            return options
        return tuple(each for each in options if each.name not in lacking)


def functions_in(path: Path) -> tuple[PythonFunction, ...]:
    """Return the file's functions in their order, without private ones; a script's `fit` first.

    Empty for what cannot be read.
    """
    return tuple(each for each in _known(path) if not each.is_class and not _is_later(each))


def choices_in(path: Path, named: str) -> tuple[PythonFunction, ...]:
    """Return the file's functions likewise, with a script's later calls of `fit` after the first.

    These are as many as its text shows; where a loop makes them, some, and the one that is `named`.
    """
    found = tuple(each for each in _known(path) if not each.is_class)
    scripts = [each for each in found if each.script]
    if not scripts or not number_of(named) or named in (each.name for each in scripts):
        return found
    with suppress(OSError, ValueError):
        if call := call_of(path, read_code(path), named):
            return (*scripts, *_scripts((call,)), *found[len(scripts) :])
    return found


def with_chosen(plan: Plan, name: str, *, path: str, base: Path) -> Plan:
    """The plan with another function in the file at `path`; another `fit` in all that has one."""
    file = code_path(plan, path, base)
    found = choices_in(file, name) if file is not None else ()
    call = next((each.script for each in found if each.name == name), None)
    return with_call(plan, path, call) if call else with_function_part(plan, path, name)


def _is_later(function: PythonFunction) -> bool:
    return function.script is not None and function.script.number > 1


def script_in(path: Path) -> FitCall | None:
    """Return the call of `fit` in the file; None if it has none, or cannot be read."""
    return next((each.script for each in _known(path) if each.script), None)


def callables_in(path: Path) -> tuple[PythonFunction, ...]:
    """Return the file's functions and classes in their order, likewise.

    The parameters of a class are those of its `__init__`.
    """
    return tuple(each for each in _known(path) if not each.script)


def _known(path: Path) -> tuple[PythonFunction, ...]:
    try:
        found = path.stat()
        if not path.is_file() or found.st_size > LARGEST_READ:
            return ()
        return _read(path, found.st_mtime_ns, found.st_size)
    except (OSError, ValueError):
        return ()


@lru_cache(maxsize=8)  # a form is updated with every letter typed into it
def _read(path: Path, _changed: int, _size: int) -> tuple[PythonFunction, ...]:
    try:
        tree = parsed(code := read_code(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return (*_scripts(calls_of(path, code)), *_functions(tree))


def _scripts(calls: Iterable[FitCall]) -> Iterator[PythonFunction]:
    for call in calls:
        hint = f"what fit is given {call.place}"
        if call.number > 1:
            has = "has" if call.number == 2 else "have"
            hint += f", once {plural(call.number - 1, 'call')} {has} trained"
        arguments = Parameter("arguments", [], "()")
        yield PythonFunction(call.function, hint, (arguments,), script=call)


def _functions(tree: ast.Module) -> Iterator[PythonFunction]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = {node.name: node for node in tree.body if isinstance(node, kinds)}
    for name, node in found.items():
        if not name.startswith("_"):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            arguments = _arguments_of(node)
            yield PythonFunction(
                name,
                printable(first.strip()),
                tuple(_parameters(arguments)) if arguments else (),
                arguments is not None and arguments.kwarg is not None,
                isinstance(node, ast.ClassDef),
            )


def _arguments_of(node: ast.FunctionDef | ast.ClassDef) -> ast.arguments | None:
    """Return what is given to call it; None for a class that inherits its `__init__`."""
    if isinstance(node, ast.FunctionDef):
        return node.args
    made = (
        each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    )
    first = next(made, None)
    return first.args if first else None


def _parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    """Return those that can be given by name."""
    by_place = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(by_place) - len(arguments.defaults)), *arguments.defaults]
    pairs = list(zip(by_place, defaults, strict=True))[len(arguments.posonlyargs) :]
    for each, default in (*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if each.arg != "self":
            yield Parameter(each.arg, _value_of(default), _written(default))


def _written(default: ast.expr | None) -> str:
    """Return the default as written in the file, on one line; empty if there is none."""
    if default is None:
        return ""
    try:
        text = printable(ast.unparse(default))
    except (ValueError, RecursionError):
        return "…"
    return text if len(text) <= LONGEST_DEFAULT else f"{text[: LONGEST_DEFAULT - 1]}…"


def _value_of(default: ast.expr | None) -> Any:
    """Return the default as a plan would hold it.

    None if it has to be computed, or if a plan cannot hold such a value.
    """
    try:
        value = ast.literal_eval(default) if default is not None else None
        return read_toml(inline(value)) if value is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


MOST_LETTERS = 400_000
MOST_LINES = 10_000
LONGEST_LINE = 2_000
"""So much of a file is shown; what is left out is said."""
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class CodeFile:
    """The contents of the file at `path` when it was read: its `code`, and the `text` to show.

    `real` is its path with links resolved; `changed` the time of its last change, in seconds since
    1970; `cut` says in a sentence what is not shown, and is empty if all is.
    """

    path: Path
    real: Path
    code: bytes
    text: str
    changed: float
    standing: Standing
    cut: str = ""


def read_code_file(path: Path) -> CodeFile:
    """Read the file at `path` without running any of it.

    Raises OSError, also for a file that is too long to be a program.
    """
    code, changed = read_code(path), path.stat().st_mtime
    text, cut = _shown(code)
    return CodeFile(path, real_path(path), code, text, changed, standing(path, code), cut)


def moment(seconds: float) -> str:
    """Return a time, in seconds since 1970, in words: `22 Nov 2026, 14:03`."""
    return dated(seconds, "%d %b %Y, %H:%M")


def _shown(code: bytes) -> tuple[str, str]:
    """Return the part of a file that is shown, and what is left out."""
    lines = _LINE_END.split(_decoded(code))
    letters, shown = 0, []
    for line in lines[:MOST_LINES]:
        letters += min(len(line), LONGEST_LINE) + 1
        if letters > MOST_LETTERS:
            break
        shown.append(_visible(line))
    return "\n".join(shown), _left_out(len(shown), lines)


def _left_out(shown: int, lines: list[str]) -> str:
    if shown < len(lines):
        return (
            f"Only the first {grouped(shown)} of its {grouped(len(lines))} lines are shown: "
            "read the others in an editor."
        )
    long = sum(len(line) > LONGEST_LINE for line in lines)
    if long:
        return (
            f"{grouped(long)} of its lines {'is' if long == 1 else 'are'} cut, being too long: "
            "read the file in an editor."
        )
    return ""


def _decoded(code: bytes) -> str:
    """Decode the file as Python does, by the encoding that it declares."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(code).readline)
        return code.decode(encoding)
    except (SyntaxError, ValueError, LookupError):
        return code.decode("utf-8", "backslashreplace")


def _visible(line: str) -> str:
    """Return a line in which every letter is visible.

    Letters that change the direction or have no width are escaped.
    """
    left = len(line) - LONGEST_LINE
    text = "\t".join(printable(part) for part in line[:LONGEST_LINE].split("\t"))
    return f"{text} … ({grouped(left)} more letters)" if left > 0 else text
