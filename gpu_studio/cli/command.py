"""What every command uses: shared arguments and their meaning, its output, and its exit code.

Each command file registers its own parser. For the help all of them are imported, so their
top-level imports are limited to this module; a command imports the rest when it runs. Shared
options are added by functions and not by argparse's `parents`, which would list them before a
command's own in its help. All output is escaped: names come from files and programs that a
stranger may have made, and must not move a cursor, set a title, or reverse the order of letters.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

    from gpu_studio.contract import RunDirectory

# argparse has no public name for what `add_subparsers` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
Handler: TypeAlias = Callable[[argparse.Namespace], int]
"""What does a command: it takes the parsed arguments and returns the exit code."""

RUN_HELP: Final = (
    "the run: its number (7), its id, the beginning or any other part of it that no other run has, "
    "the path of its folder, or: latest"
)


class CommandParser(argparse.ArgumentParser):
    """A parser that escapes what it says of a wrong argument, as all output is."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end the process."""
        super().error(escaped(message))


def make(
    factory: Any, name: str, description: str, epilog: str, **options: Any
) -> argparse.ArgumentParser:
    """Make a parser whose help shows `epilog` as it is written."""
    parser: argparse.ArgumentParser = factory(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **options,
    )
    return parser


def add_command(
    commands: Commands,
    name: str,
    summary: str,
    epilog: str,
    handler: Handler | None = None,
    **defaults: Any,
) -> argparse.ArgumentParser:
    """Add a command that `handler` does. `defaults` are further values of its parsed arguments."""
    parser = make(
        commands.add_parser, name, summary[0].upper() + summary[1:] + ".", epilog, help=summary
    )
    parser.set_defaults(handler=handler, given=parser, **defaults)
    # Without a default of its own, it does not undo a --runs-dir before the command.
    add_runs_dir(parser, argparse.SUPPRESS)
    return parser


def add_group(commands: Commands, name: str, summary: str, epilog: str) -> Commands:
    """Add a command that needs one of its actions; the caller adds these to what is returned."""
    parser = add_command(commands, name, summary, epilog)

    def without_action(_chosen: argparse.Namespace) -> int:
        note(f"{parser.format_help()}\ngpu-studio {name}: name one of these actions.")
        return REFUSED

    parser.set_defaults(handler=without_action)
    return parser.add_subparsers(dest="action", metavar="ACTION", title="actions")


def add_runs_dir(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add --runs-dir."""
    parser.add_argument(
        "--runs-dir",
        metavar="DIR",
        type=Path,
        default=default,
        help="where runs are kept (default: $GPU_STUDIO_RUNS_DIR, else the folder chosen in the "
        "window's settings, else the user's data directory)",
    )


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the plan file."""
    parser.add_argument(
        "plan",
        metavar="PLAN",
        type=Path,
        help="the plan file, or a Python script that calls a model's fit",
    )
    add_fit(parser)


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add --fit, which chooses a call in a script."""
    parser.add_argument(
        "--fit",
        metavar="N",
        type=_call,
        default=1,
        help="of a script that calls fit several times, train call N; Keras trains those before it "
        "first, as the script has them (default: 1)",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run that a command is about."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the runs that a command is about, one or more."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)


def add_machine(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --machine; `what` says what is done with the machine it describes."""
    help_ = f"{what}, as `python -m gpu_studio.hardware` writes it, instead of this one"
    parser.add_argument("--machine", metavar="FILE", type=Path, help=help_)


def add_json(
    parser: argparse.ArgumentParser, help_: str = "write JSON for programs to read"
) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=help_)


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add --set."""
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        dest="settings",
        help="change the plan, such as training.epochs=1; can be given many times",
    )


def add_allowing(parser: argparse.ArgumentParser) -> None:
    """Add --allow-code."""
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="allow the Python files that the plan names to run, as they are now",
    )


def add_force(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --force, which replaces `what`."""
    parser.add_argument("--force", action="store_true", help=f"replace {what}")


def add_seconds(parser: argparse.ArgumentParser, name: str, **options: Any) -> None:
    """Add an option that takes a number of seconds."""
    parser.add_argument(name, type=_seconds, **options)


def runs_folder(chosen: argparse.Namespace) -> Path:
    """The directory of all runs, as an absolute path."""
    from gpu_studio.runs.paths import runs_dir

    return runs_dir(chosen.runs_dir)


def named_run(chosen: argparse.Namespace, *, elsewhere: bool = False) -> RunDirectory:
    """The named run; one kept `elsewhere` may be named by its path. Raises UnknownRunError."""
    from gpu_studio.runs.catalogue import find

    return find(runs_folder(chosen), chosen.run, elsewhere=elsewhere)


def named_runs(chosen: argparse.Namespace, *, elsewhere: bool = False) -> list[RunDirectory]:
    """The runs that are named, in that order, also one that is named twice.

    Raises UnknownRunError.
    """
    from gpu_studio.runs.catalogue import find

    return [find(runs_folder(chosen), name, elsewhere=elsewhere) for name in chosen.runs]


def _call(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= _MOST_CALLS):
        raise argparse.ArgumentTypeError(
            f"{text} is no number of a call: count from 1, in the order in which they are made"
        )
    return int(text)


_MOST_CALLS = 9999


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds: give 0 or more")
    return value


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and format characters, lone surrogates, and line separators."""
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
    """Write a line of result to stdout, at once: it may be a pipe that somebody follows.

    It is for people, and is cut where a stranger's text makes it endless.
    """
    from gpu_studio.common.cut_texts import cut_lines

    say_whole(cut_lines(text))


def say_whole(text: str) -> None:
    """As `say`, however long the text is: a script, a table for programs, a log."""
    sys.stdout.write(escaped(text) + "\n")
    sys.stdout.flush()


def typed(*words: object) -> str:
    """Return a command of ours with these words, as one types it in a shell."""
    return f"gpu-studio {shlex.join(map(str, words))}"


def note(text: str) -> None:
    """Write a line that is not a result (a refusal, a hint) to stderr. Failures are ignored."""
    from gpu_studio.common.cut_texts import first_lines

    with suppress(OSError):
        sys.stderr.write(escaped(first_lines(text)) + "\n")
        sys.stderr.flush()


def say_json(document: Any, *, indent: int | None = 2) -> None:
    """Write one JSON document to stdout; `indent` None puts it on one line."""
    say_whole(json_text(document, indent=indent))


def json_text(document: Any, *, indent: int | None = 2) -> str:
    r"""A JSON document that is safe to print.

    Letters stand as they are, and characters that a terminal would obey as escapes (`\u001b`).
    """
    try:
        text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:  # numbers that JSON does not have
        text = json.dumps(_finite(document), indent=indent, ensure_ascii=False)
    return _NOT_ASCII_JSON.sub(
        lambda found: _json_escape(found[0]) if _is_unsafe(found[0]) else found[0], text
    )


def _finite(document: Any) -> Any:
    """The document with null in place of what is not a number, or not finite."""
    if isinstance(document, dict):
        return {key: _finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_finite(value) for value in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows of words in columns, the headings first."""
    from gpu_studio.common.cut_texts import LONGEST_CELL, cut

    shown = [[escaped(cut(text, LONGEST_CELL)) for text in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    for row in shown:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        say_whole("  ".join(cells).rstrip())


def console(width: int | None = None) -> Console:
    """A console for tables and displays.

    It escapes all that is drawn on it, and takes no text for markup.
    """
    from gpu_studio.cli.escaping_console import EscapingConsole

    return EscapingConsole(escaped, width=width, highlight=False, markup=False, emoji=False)


def refuse_to_replace(paths: Iterable[Path], *, force: bool, code: bool = False) -> None:
    """Raises RefusedError for the first path at which something already is, unless `force`.

    Also for one in a folder that is not there.

    Only `code` is written to a Python file, which may be the script that a plan stands for.
    """
    from gpu_studio.common.safe_files import is_stream

    for path in paths:
        if path.suffix == ".py" and not code:
            raise RefusedError(f"{path} has the name of a Python file: choose another.")
        if not path.parent.exists():
            raise RefusedError(f"There is no folder {path.parent}: make it, or choose another.")
        if path.exists() and not is_stream(path) and not force:
            raise RefusedError(
                f"{path} is already there: choose another name, or add --force to replace it."
            )


def make_streams_whole() -> None:
    """Make stdin, stdout and stderr usable, whatever the shell has closed or the locale lacks.

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


OK: Final = 0
FAILED: Final = 1
REFUSED: Final = 2
STOPPED: Final = 3
LOST: Final = 4
ELSEWHERE: Final = 5
"""Something of a run was not executed on the device that was asked for: `runs placement`."""
INTERRUPTED: Final = 130

EXIT_CODES: Final = """exit codes:
  0    done
  1    the run failed
  2    refused, with nothing done
  3    the run was stopped before its end
  4    the run was lost
  130  interrupted"""
