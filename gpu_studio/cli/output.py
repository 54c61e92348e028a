"""Write a command's output: text, tables and JSON.

Names of layers, metrics, devices, files and other users' processes come from files and programs
that a stranger may have made. Everything written here is therefore escaped: no text can move a
terminal's cursor, set its title, or reverse the order of letters.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and format characters (bidirectional ones too), lone surrogates,
line separators.
"""
_NOT_ASCII_TEXT = re.compile(r"[^\x20-\x7e\n\t]")
_NOT_ASCII_JSON = re.compile(r"[^\x20-\x7e\n]")
_SHELL_STREAMS = (
    ("stdin", os.O_RDONLY, "r"),
    ("stdout", os.O_WRONLY, "w"),
    ("stderr", os.O_WRONLY, "w"),
)


class RefusedError(Exception):
    """A command that cannot be done: why, and what to do, in words."""


def escaped(text: str) -> str:
    """The text as a terminal may have it.

    Control and format characters but newline and tab written as escapes.
    """
    return _NOT_ASCII_TEXT.sub(
        lambda found: _escape(found[0]) if _is_unsafe(found[0]) else found[0], text
    )


def say(text: str = "") -> None:
    """Write a line of result to stdout, at once: it may be a pipe that somebody follows."""
    sys.stdout.write(escaped(text) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Write a line that is not a result (a refusal, a hint) to stderr. Failures are ignored."""
    with suppress(OSError):
        sys.stderr.write(escaped(text) + "\n")
        sys.stderr.flush()


def say_json(document: Any, *, indent: int | None = 2) -> None:
    """Write one JSON document to stdout; `indent` None puts it on one line."""
    say(json_text(document, indent=indent))


def json_text(document: Any, *, indent: int | None = 2) -> str:
    r"""A JSON document, in which letters stand as they are and what a terminal would obey stands as
    `\u001b`.
    """
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return _NOT_ASCII_JSON.sub(
        lambda found: _json_escape(found[0]) if _is_unsafe(found[0]) else found[0], text
    )


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows of words in columns, the headings first."""
    shown = [[escaped(text) for text in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    for row in shown:
        say("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def console(width: int | None = None) -> Console:
    """A console for tables and displays.

    It escapes all that is drawn on it, and takes no text for markup.
    """
    from gpu_studio.cli.escaping_console import EscapingConsole

    return EscapingConsole(escaped, width=width, highlight=False, markup=False, emoji=False)


def refuse_to_replace(paths: Iterable[Path], *, force: bool) -> None:
    """Raises RefusedError for the first of the paths at which a file stands already, unless
    `force`.
    """
    from gpu_studio.common.output_files import is_stream

    for path in paths:
        if path.exists() and not is_stream(path) and not force:
            raise RefusedError(
                f"{path} is already there: choose another name, or add --force to replace it."
            )


def make_streams_whole() -> None:
    """See that stdin, stdout and stderr can be used, whatever the shell has closed and whatever the
    locale lacks.

    A stream that the shell has closed becomes /dev/null, which also keeps a file opened later from
    taking its place: a native library would write its chatter into it. A letter that the locale
    does not have is written as an escape.
    """
    for number, (name, flags, mode) in enumerate(_SHELL_STREAMS):
        if (
            getattr(sys, name) is None
            and _is_closed(number)
            and os.open(os.devnull, flags) == number
        ):
            # It stays open as long as the process.
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False


def _is_unsafe(letter: str) -> bool:
    return unicodedata.category(letter) in _UNSAFE


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _json_escape(letter: str) -> str:
    """The letter as JSON writes it in ASCII: one escape for each of its UTF-16 units."""
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
