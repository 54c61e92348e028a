"""`guide`: read the guide in the terminal, and search it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_command,
    add_json,
    console,
    note,
    say,
    say_json,
)

if TYPE_CHECKING:
    from gpu_studio.common.guide import Guide, GuideSection

_GUIDE = """examples:
  gpu-studio guide                      what pages there are
  gpu-studio guide concepts             one of them
  gpu-studio guide concepts#bubble      one part of it
  gpu-studio guide training.batch_size  a key of a plan
  gpu-studio guide --search out of memory
  gpu-studio guide options --json       every key of a plan, for programs to read"""
_WIDEST = 100


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "guide", "read the guide: words and ideas, pages, options, failures", _GUIDE, show
    )
    parser.add_argument(
        "place",
        metavar="PAGE",
        nargs="?",
        default="",
        help="a page, a part of one (concepts#bubble), or a key of a plan (training.batch_size)",
    )
    parser.add_argument(
        "--search", metavar="WORD", nargs="+", help="list the parts that have all of the words"
    )
    add_json(parser)


def show(chosen: argparse.Namespace) -> int:
    """Write a page, a part of one, or what was found."""
    from gpu_studio.common.guide import FIRST, guide

    if chosen.search:
        if chosen.place:
            raise RefusedError("Give a page, or words to search for with --search, not both.")
        return _search(guide(), " ".join(chosen.search), as_json=chosen.json)
    section = _found(guide(), chosen.place or FIRST)
    text = guide().pages[section.page] if section.level == 1 else _with_heading(section)
    if chosen.json:
        say_json(_document(section) | {"text": text} | _keys(section))
    elif sys.stdout.isatty():
        _print(guide().readable(text))
    else:
        say(text.rstrip("\n"))
    return OK


def _found(guide: Guide, place: str) -> GuideSection:
    named = guide.section(place)
    if named is None and "#" not in place:
        key = guide.section(f"options#{place}")
        named = key if key is not None and key.title == place else None
    if named is None:
        raise RefusedError(
            f"The guide has no {place}. Its pages are {', '.join(guide.pages)}; "
            f"search it with: gpu-studio guide --search {place}"
        )
    return named


def _search(guide: Guide, words: str, *, as_json: bool) -> int:
    hits = guide.search(words)
    if as_json:
        found = [_document(hit.section) | {"excerpt": hit.excerpt} for hit in hits]
        say_json({"words": words, "found": found})
        return OK
    for hit in hits:
        say(f"{hit.section.place}: {hit.section.title}\n    {hit.excerpt}")
    note(
        f"Read one with: gpu-studio guide {hits[0].section.place}"
        if hits
        else "No part of the guide has all of these words."
    )
    return OK


def _document(section: GuideSection) -> dict[str, Any]:
    return {"page": section.page, "place": section.place, "title": section.title}


def _keys(section: GuideSection) -> dict[str, Any]:
    """The keys of a plan, with the page about them."""
    if section.place != "options":
        return {}
    from dataclasses import asdict

    from gpu_studio.plan.keys import all_keys

    return {"keys": [asdict(key) for key in all_keys()]}


def _with_heading(section: GuideSection) -> str:
    return f"{'#' * section.level} {section.title}\n\n{section.text}\n"


def _print(text: str) -> None:
    from rich.markdown import Markdown

    screen = console()
    screen.print(Markdown(text, hyperlinks=False), width=min(_WIDEST, screen.width))
