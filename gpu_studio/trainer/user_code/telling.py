"""Explain what stopped the user's code: the file, the line, and what to do."""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from gpu_studio.plan import nearest, printable
from gpu_studio.plan.scripts import fit_in
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.admission import own_folders
from gpu_studio.trainer.user_code.older_keras import in_place_of_module
from gpu_studio.trainer.user_code.remedies import advice_on, line_about, without_body

_LONGEST = 300
_PACKAGES = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
}
_PACKAGES |= {"yaml": "pyyaml", "bs4": "beautifulsoup4", "dateutil": "python-dateutil"}
"""Packages by the modules that they bring, where the names differ."""


def as_user_error(
    error: BaseException, file: Path, doing: str = "", begins: int = 0
) -> UserCodeError:
    """Return the explanation of `error`, which was raised by the user's `file`.

    `doing` says where in the run, such as `in on_epoch_end`; `begins` is the line where the
    function begins that gave what is at work, 0 if unknown.
    """
    where, line = _own_line(error, file)
    if not line and (made := line_named(error)):
        where, line = made
    return _explained(error, where, line, _own_trace(error, file), doing, begins)


def in_own_code(error: BaseException) -> UserCodeError | None:
    """Return the explanation of `error` if it came while a line of the user's own was running.

    Or if it came in an operation that such a line had made: the error of a compiled function says
    where that was. None if neither is so.
    """
    frames = [name for name in map(_file_of, _frames(error)) if own_folders.hold(name)]
    if frames:
        return as_user_error(error, frames[-1])
    made = line_named(error)
    if made is None:
        return None
    return _explained(error, *made, "".join(traceback.format_exception(error)))


def line_named(error: BaseException) -> tuple[Path, int] | None:
    """Return the line of the user's own that the words of the error name last; None if none."""
    try:
        named = _MADE.findall(str(error))
    except Exception:  # noqa: BLE001  (an exception of the user's own may fail at that)
        return None
    # XLA leaves out the slash with which a path begins.
    whole = [(name if name[0] in "/<" else f"/{name}", int(line)) for name, line in named]
    own = [(Path(name), line) for name, line in whole if _is_own(name)]
    return own[-1] if own else None


def line_that_made(operation: Any) -> tuple[Path, int] | None:
    """Return the line of the user's own that made an operation of TensorFlow's; None if none."""
    own = [each for each in operation.traceback if _is_own(each.filename)]
    return (Path(own[-1].filename), own[-1].lineno) if own else None


def beginning(function: object) -> tuple[str, int]:
    """Return the file of a function and the line where it begins; 0 if unknown."""
    code = getattr(inspect.unwrap(function), "__code__", None)  # type: ignore[arg-type]
    return (code.co_filename, code.co_firstlineno) if code else ("", 0)


def begins_in(function: object) -> list[str]:
    """Return a sentence that says where the user's function begins; none if it is not theirs."""
    file, line = beginning(function)
    return [f"It begins in line {line} of {file}."] if _is_own(file) else []


def _is_own(name: str) -> bool:
    """Whether a file of this name is the user's own; code of no file is called `<string>`."""
    return Path(name).is_absolute() and own_folders.hold(Path(name))


_MADE = re.compile(r'File "([^"\n]+)", line (\d+), in ')
"""As TensorFlow says which line made an operation, or raised in a function that it calls."""


def _explained(
    error: BaseException, where: Path, line: int, trace: str, doing: str = "", begins: int = 0
) -> UserCodeError:
    at = f" {doing}" if doing else ""
    if isinstance(error, ModuleNotFoundError) and isinstance(error.name, str):
        message, advice = _module_missing(error.name, where, line)
    elif isinstance(error, SyntaxError) and (broken := Path(error.filename or "")).suffix == ".py":
        message = f"{broken.name}, line {error.lineno or 1}, is no Python: {error.msg}."
        advice = [f"Mend {broken}."]
    elif isinstance(error, SystemExit):
        message = f"{where.name} ended the program{at} in line {line}, with sys.exit or exit."
        instead = "the function is to return what it made"
        if doing:
            instead = "self.model.stop_training = True ends the training"
        advice = [f"Take that out of {where.name}, line {line}: {instead}."]
    else:
        words = _words(error) or _unwritten(error)
        said = f"{type(error).__name__}: {words}" if words else f"{type(error).__name__}."
        if _is_tensorflows(error) and _OF_PYTHON.match(words):
            said = words  # of the error in a Python function that TensorFlow called
        message = f"{where.name} stopped{at}{f' in line {line}' if line else ''} with {said}"
        look = _place(error, words, where, line, begins)
        advice = [*filter(None, [advice_on(words)]), look, "The traceback says how it came there."]
    return UserCodeError(message, advice, trace)


def _place(error: BaseException, words: str, where: Path, line: int, begins: int) -> str:
    """Say where to look: at the line that was running, else at what the error is about."""
    if line:
        return f"Look at line {line} of {where}."
    name, defined = line_about(error, words, where)
    if defined:
        return f"Look at line {defined} of {where}, where {name} begins."
    call = fit_in("".join(linecache.getlines(str(where))).encode())
    if call is not None and call.line == begins:
        return f"It stopped at what {where.name} gives fit in line {begins}, in no line of its own."
    begun = f"; the function begins in line {begins} of {where}" if begins else ""
    return f"It stopped at what {where.name} returned, in no line of it{begun}."


def _unwritten(error: BaseException) -> str:
    owner, method = without_body(error)
    return f"{owner} has no {method} of its own" if owner else ""


_OF_PYTHON = re.compile(r"[A-Z]\w*(?:Error|Exception|Interrupt|Iteration): ")


def _is_tensorflows(error: BaseException) -> bool:
    return type(error).__module__.startswith("tensorflow.")


def _words(error: BaseException) -> str:
    """What the error says, in one line that can be read; empty if it says nothing."""
    try:
        said = str(error)
        root = root_words(error) if _WRAPPED.search(said) else _plain_text(said)
        root = root.partition("\nTraceback (most recent call last):")[0]
    except Exception:  # noqa: BLE001  (an exception of the user's own may fail at that, too)
        return ""
    words = _CLASS.sub(r"the class \1", printable(" ".join(root.split())))
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


_CLASS = re.compile(r"<class '(?:[\w.<>]*\.)?(\w+)'>")


def _module_missing(name: str, where: Path, line: int) -> tuple[str, list[str]]:
    top = name.partition(".")[0]
    needs = f"{where.name} needs the module {name} (line {line})"
    beside = _modules_beside(where)
    close = nearest(top, beside)
    meant = (
        [f"If you meant {close}, which stands beside {where.name}, mend line {line}."]
        if close
        else []
    )
    older = in_place_of_module(name)
    if top != name and _is_there(top):
        message = f"{needs}, which {top} does not have."
        look = older or f"Look for it in the version of {top} that is installed."
        return message, [look, *meant]
    message = f"{needs}, which is not installed for {sys.executable}."
    return message, [
        *meant,
        older
        or (
            f"If its name is right, install it: {sys.executable} -m pip install "
            f"{_PACKAGES.get(top, top)}"
        ),
    ]


def _is_there(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _modules_beside(file: Path) -> list[str]:
    try:
        found = [
            entry
            for entry in file.parent.iterdir()
            if entry.suffix == ".py" or (entry / "__init__.py").is_file()
        ]
    except OSError:
        return []
    return sorted(entry.stem for entry in found if entry != file)


def _frames(error: BaseException) -> Iterator[TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _file_of(trace: TracebackType) -> Path:
    return Path(trace.tb_frame.f_code.co_filename)


def _own_frames(error: BaseException, file: Path) -> Iterator[TracebackType]:
    """Return the traceback from each line in the user's folder on.

    That covers the file itself, and what it imports from there.
    """
    for trace in _frames(error):
        name = _file_of(trace)
        if name == file or (_is_own(str(name)) and "site-packages" not in name.parts):
            yield trace


def _own_line(error: BaseException, file: Path) -> tuple[Path, int]:
    """Return the last line of the user's code that was running; 0 if there was none."""
    frames = list(_own_frames(error, file))
    return (_file_of(frames[-1]), frames[-1].tb_lineno) if frames else (file, 0)


def _own_trace(error: BaseException, file: Path) -> str:
    first = next(_own_frames(error, file), None)
    return "".join(traceback.TracebackException(type(error), error, first).format())


def kind_in_words(value: object) -> str:
    """Name the kind of a value: `nothing`, `a list`, `a Dense`."""
    if value is None:
        return "nothing"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


_GRAPH, _TRACED = "Graph execution error:", "in user code:"
_LAYER_STOPPED = "Exception encountered when calling"
_WRAPPED = re.compile(rf"^\s*(?:{_GRAPH}|{_TRACED}|{_LAYER_STOPPED})|Error encountered:")
_NO_WORDS = re.compile(
    r"\s*$|Exception encountered when calling|\s*File \".*\", line \d+|Detected at node |"
    r"\d+ root error|\s*\[\[|<stack traces"
)
_MARKS = re.compile(
    r"\x1b\[[0-9;]*m|\{\{function_node [^}]*\}\} ?|\s*\[\[\{\{node [^}]*\}\}\]\]| ?\[Op:\w+\].*$"
)
"""What stands about a reason: Keras' bold, and the names of the operation in TensorFlow."""
_NUMBERED = re.compile(r"^\s*\(\d+\)\s+([A-Z_]+):\s*(.*)")


def _plain_text(line: str) -> str:
    return _MARKS.sub("", line)


_WITHOUT_KERNEL = re.compile(r"No registered '(\w+)' OpKernel for XLA_([CG]PU)_JIT")


def uncompiled_words(error: BaseException) -> str:
    """What kept XLA from compiling a step, as a sentence: what it lacks, or its own words."""
    found = dict.fromkeys(_WITHOUT_KERNEL.findall(str(error)))
    if not found:
        return root_words(error)
    names = ", ".join(name for name, _ in found)
    return f"on a {next(iter(found))[1]} it has no way to compute {names}."


def root_words(error: BaseException) -> str:
    """What TensorFlow itself says is wrong, without the lines around it that say where.

    An error of a graph begins with "Graph execution error:" and the stack that made the operation;
    several at once are numbered, and those that were only cancelled by another say nothing. One in
    a layer's call begins with the layer.
    """
    # Where Keras tries out a layer, it says what stopped that in the midst of advice.
    lines = str(error).rpartition("Error encountered:")[2].strip().splitlines()
    if lines and lines[0].startswith(_TRACED):
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not lines or not lines[0].startswith((_GRAPH, _LAYER_STOPPED)):
        return _plain_text(lines[0]) if lines else type(error).__name__
    said = [line for line in map(_plain_text, lines[1:]) if not _NO_WORDS.match(line)]
    numbered = [found for line in said if (found := _NUMBERED.match(line))]
    words = [found[2] for found in numbered if found[1] != "CANCELLED"] or said
    return words[0].strip() if words else type(error).__name__
