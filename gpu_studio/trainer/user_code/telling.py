"""Explain what stopped the user's code: the file, the line, and what to do."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from gpu_studio.plan.values import nearest, printable
from gpu_studio.trainer.errors import UserCodeError

_LONGEST = 300
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""Which TensorFlow puts into its messages."""
_PACKAGES = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
}
_PACKAGES |= {"yaml": "pyyaml", "bs4": "beautifulsoup4", "dateutil": "python-dateutil"}
"""Packages by the modules that they bring, where the names differ."""


def as_user_error(error: BaseException, file: Path) -> UserCodeError:
    """Return the explanation of `error`, which was raised by the user's `file`."""
    trace = _own_trace(error, file)
    where, line = _own_line(error, file)
    if isinstance(error, ModuleNotFoundError) and isinstance(error.name, str):
        message, advice = _module_missing(error.name, where, line)
    elif isinstance(error, SyntaxError) and (broken := Path(error.filename or "")).suffix == ".py":
        message = f"{broken.name}, line {error.lineno or 1}, is no Python: {error.msg}."
        advice = [f"Mend {broken}."]
    elif isinstance(error, SystemExit):
        message = f"{where.name} ended the program in line {line}, with sys.exit or exit."
        advice = [
            f"Take that out of {where.name}, line {line}: the function is to return what it made."
        ]
    else:
        message = f"{where.name} stopped{f' in line {line}' if line else ''} with {_named(error)}"
        look = (
            f"Look at line {line} of {where}."
            if line
            else f"It stopped at what {where.name} returned, in no line of it."
        )
        advice = [look, "The traceback says how it came there."]
    return UserCodeError(message, advice, trace)


def _named(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:  # noqa: BLE001  (an exception of the user's own may fail at that, too)
        said = ""
    words = printable(" ".join(_COLOURS.sub("", said).split()))
    cut = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
    return f"{type(error).__name__}: {cut}" if cut else f"{type(error).__name__}."


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
    if top != name and _is_there(top):
        message = f"{needs}, which {top} does not have."
        return message, [f"Look for it in the version of {top} that is installed.", *meant]
    message = f"{needs}, which is not installed for {sys.executable}."
    return message, [
        *meant,
        (
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


def _own_frames(error: BaseException, file: Path) -> Iterator[TracebackType]:
    """Return the traceback from each line in the user's folder on.

    That covers the file itself, and what it imports from there.
    """
    trace = error.__traceback__
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename)
        if name == file or (name.is_relative_to(file.parent) and "site-packages" not in name.parts):
            yield trace
        trace = trace.tb_next


def _own_line(error: BaseException, file: Path) -> tuple[Path, int]:
    """Return the last line of the user's code that was running; 0 if there was none."""
    frames = list(_own_frames(error, file))
    return (
        (Path(frames[-1].tb_frame.f_code.co_filename), frames[-1].tb_lineno)
        if frames
        else (file, 0)
    )


def _own_trace(error: BaseException, file: Path) -> str:
    first = next(_own_frames(error, file), None)
    return "".join(traceback.TracebackException(type(error), error, first).format())


def kind_in_words(value: object) -> str:
    """Name the kind of a value: `nothing`, `a list`, `a Dense`."""
    if value is None:
        return "nothing"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
