"""The arguments of `code`, and the one by which other commands let a plan's code run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

SUMMARY: Final = "say which Python code of one's own may run"
EXAMPLES: Final = """A plan may name functions in Python files: [model] python = "models.py:build_model" and
[data] python = "data.py:load". Such a file may do whatever you may, so nothing of it runs before you have allowed it.
A file is allowed as it is, until it changes; a folder with all that is in and below it, whatever changes.

examples:
  gpu-studio code allow models.py
  gpu-studio code allow ~/experiments       as long as you write all code there yourself
  gpu-studio code forbid models.py
  gpu-studio code list"""
_ACTIONS: Final = {
    "allow": "allow Python files as they are now, or folders with all that will ever be in them",
    "forbid": "allow files or folders no longer",
}

Command = Callable[[Any, str, str, str], argparse.ArgumentParser]


def add_code(commands: Any, command: Command, add_json: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the command and its actions."""
    actions = command(commands, "code", SUMMARY, EXAMPLES).add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    for name, summary in _ACTIONS.items():
        action = command(actions, name, summary, f"example:\n  gpu-studio code {name} models.py")
        action.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a Python file, or a folder")
        add_json(action)
    add_json(command(actions, "list", "list what is allowed", "example:\n  gpu-studio code list --json"))


def add_allowing(parser: argparse.ArgumentParser) -> None:
    """Add --allow-code."""
    parser.add_argument(
        "--allow-code", action="store_true", help="allow the Python files that the plan names to run, as they are now"
    )
