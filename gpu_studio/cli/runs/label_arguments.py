"""What `runs tag`, `runs note` and `runs rename` take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

_TAG: Final = """Without a change the tags that stand there are shown. A tag is one word of at most 40 letters.

examples:
  gpu-studio runs tag latest --add best,to-show
  gpu-studio runs tag latest 20261120 --remove to-show
  gpu-studio runs list --tag best"""
_NOTE: Final = """Without a change the note that stands there is shown.

examples:
  gpu-studio runs note latest --message "the one to keep"
  gpu-studio runs note latest --message - < note.txt
  gpu-studio runs note latest --clear"""
_RENAME: Final = """A run is called by its plan until it is given a name of its own. Its number stays.

examples:
  gpu-studio runs rename 7 "smaller steps"
  gpu-studio runs rename 7 --clear"""

Command = Callable[[Any, str, str, str], argparse.ArgumentParser]
Adding = Callable[[argparse.ArgumentParser], None]


def add_actions(actions: Any, command: Command, add_json: Adding, run_help: str) -> None:
    """Add the actions to those of `runs`."""
    tag = command(actions, "tag", "show or change the tags of runs", _TAG)
    tag.add_argument("runs", metavar="RUN", nargs="+", help=run_help)
    _add_tags(tag, "--add", "tags to give, with commas between them; can be given many times")
    _add_tags(tag, "--remove", "tags to take away; those that a run has not are no mistake")
    tag.add_argument("--clear", action="store_true", help="take all tags away, before those of --add are given")
    add_json(tag)
    note = command(actions, "note", "show or change the note of runs", _NOTE)
    note.add_argument("runs", metavar="RUN", nargs="+", help=run_help)
    change = note.add_mutually_exclusive_group()
    change.add_argument("--message", "-m", metavar="TEXT", help="the note, in place of what was there; -: from stdin")
    change.add_argument("--clear", action="store_true", help="take the note away")
    add_json(note)
    rename = command(actions, "rename", "give a run a name", _RENAME)
    rename.add_argument("run", metavar="RUN", help=run_help)
    named = rename.add_mutually_exclusive_group(required=True)
    named.add_argument("name", metavar="NAME", nargs="?", help="what the run is called from now on")
    named.add_argument("--clear", action="store_true", help="call it by its plan again")
    add_json(rename)


def add_filter(parser: argparse.ArgumentParser) -> None:
    """Add the choice of runs by their tags."""
    _add_tags(parser, "--tag", "only runs that have these tags")


def _add_tags(parser: argparse.ArgumentParser, name: str, help_: str) -> None:
    parser.add_argument(name, metavar="TAG[,TAG]", action="append", default=[], help=help_)
