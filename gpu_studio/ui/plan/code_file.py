"""A Python file as it is shown before it is allowed: letter for letter, with nothing hidden."""

from __future__ import annotations

import io
import re
import time
import tokenize
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.contract.consent import Standing, read_code, real_path, standing
from gpu_studio.plan.problems import printable

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
    return time.strftime("%d %b %Y, %H:%M", time.localtime(seconds))


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
            f"Only the first {shown:,} of its {len(lines):,} lines are shown: "
            "read the others in an editor."
        )
    long = sum(len(line) > LONGEST_LINE for line in lines)
    if long:
        return (
            f"{long:,} of its lines {'is' if long == 1 else 'are'} cut, being too long: read the "
            "file in an editor."
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
    return f"{text} … ({left:,} more letters)" if left > 0 else text
