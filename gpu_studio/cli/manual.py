"""The manual page, for `man gpu-studio`: written from the parser in the language of man(7).

Only Python's own library is used, because the wheel is built where nothing else is there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

from gpu_studio import __version__

_SECTION: Final = re.compile(r"^([a-z][a-z ]*):\n(?=[ \t])", re.MULTILINE)
"""A heading of an epilog, such as `examples:`, above lines that are set in."""


def manual(parser: argparse.ArgumentParser, date: str = "") -> str:
    """The page about the command that `parser` parses, as groff and mandoc read it.

    `date` is that of the text, `YYYY-MM-DD`.
    """
    about, _, more = (parser.description or "").partition("\n\n")
    lines = [
        f'.TH {_plain(parser.prog.upper())} 1 "{date}" "GPU Studio {__version__}" "User Commands"',
        ".SH NAME",
        f"{_plain(parser.prog)} \\- {_plain(about[0].lower() + about[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        _synopsis(parser),
        ".PP",
        f"{_bold(parser.prog + '-window')} [{_italic('OPTION')}]... [{_italic('PLAN')}]",
        ".SH DESCRIPTION",
        _plain(_joined(more)),
        ".SH OPTIONS",
        *_arguments(parser, set()),
        ".SH COMMANDS",
        f"Every command takes {_bold('--help')} and {_bold('--runs-dir')} as well.",
    ]
    shared = {name for action in _actions(parser) for name in action.option_strings}
    for command in _commands(parser):
        lines += _command(command, shared)
    for heading, text in _parts(parser.epilog or ""):
        lines += [f".SH {_plain(heading.upper())}", *list(_paragraphs(text))[1:]]
    return "\n".join(line for line in lines if line) + "\n"


def _command(parser: argparse.ArgumentParser, shared: set[str]) -> Iterator[str]:
    """A part about one command; options that are in `shared` are described elsewhere."""
    yield f'.SS "{_plain(parser.prog)}"'
    yield _synopsis(parser)
    yield ".PP"
    yield _plain(_joined(parser.description or ""))
    yield from _arguments(parser, shared)
    for heading, text in _parts(parser.epilog or ""):
        if heading:
            yield ".PP"
            yield _plain(heading[0].upper() + heading[1:] + ":")
        yield from _paragraphs(text)


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command, and after one that has actions, these."""
    for action in _actions(parser):
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no public name
            for command in action.choices.values():
                yield command
                yield from _commands(command)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse tells in no other way what it was given


def _synopsis(parser: argparse.ArgumentParser) -> str:
    words = [_bold(parser.prog), f"[{_italic('OPTION')}]..."]
    for action in _actions(parser):
        if not action.option_strings:
            word = _italic(_value(action))
            several = "..." if action.nargs in ("+", "*", argparse.PARSER) else ""
            words.append((word if action.required else f"[{word}]") + several)
    return " ".join(words)


def _arguments(parser: argparse.ArgumentParser, shared: set[str]) -> Iterator[str]:
    """A tagged paragraph for each argument that has words, those without a dash first."""
    for action in sorted(_actions(parser), key=lambda action: bool(action.option_strings)):
        hidden = action.help in (None, argparse.SUPPRESS) or shared.intersection(
            action.option_strings
        )
        if hidden or action.nargs == argparse.PARSER:
            continue
        yield ".TP"
        names = ", ".join(map(_bold, action.option_strings))
        takes = not action.option_strings or action.nargs != 0
        value = _italic(_value(action)) + ("..." if action.nargs == "+" else "")
        yield " ".join(filter(None, (names, value if takes else "")))
        yield _plain(_joined(str(action.help) % {**vars(action), "prog": parser.prog}))


def _value(action: argparse.Action) -> str:
    """What stands for the value of an argument."""
    if action.metavar is None and action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def _parts(epilog: str) -> Iterator[tuple[str, str]]:
    """The epilog by its headings; what stands before the first has none."""
    before, *rest = _SECTION.split(epilog)
    if before.strip():
        yield "", before.strip("\n")
    for heading, text in zip(rest[::2], rest[1::2], strict=True):
        yield heading, text.strip("\n")


def _paragraphs(text: str) -> Iterator[str]:
    """The text by its paragraphs: one with lines that are set in keeps its lines."""
    for paragraph in re.split(r"\n\n+", text):
        yield ".PP"
        if re.search(r"^ ", paragraph, re.MULTILINE):
            yield from (".nf", *map(_plain, paragraph.splitlines()), ".fi")
        else:
            yield _plain(_joined(paragraph))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _bold(text: str) -> str:
    return f"\\fB{_plain(text)}\\fR"


def _italic(text: str) -> str:
    return f"\\fI{_plain(text)}\\fR"


def _plain(text: str) -> str:
    """The text with nothing in it that the formatter would obey, or draw as another letter.

    A hyphen is what is typed, not what divides words; a line begins with no dot or apostrophe.
    """
    for letter, escape in (
        ("\\", "\\e"),
        ("-", "\\-"),
        ("'", "\\(aq"),
        ("`", "\\(ga"),
        ("^", "\\(ha"),
        ("~", "\\(ti"),
    ):
        text = text.replace(letter, escape)
    return f"\\&{text}" if text.startswith(".") else text
