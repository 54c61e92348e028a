"""The arguments of `queue`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gpu_studio.cli.code.code_arguments import add_allowing

SUMMARY: Final = "have plans wait for their devices, and train one after another"
EXAMPLES: Final = """A plan starts when each card it names has the memory it needs free, one of the queue at a time on a
card; one that trains on CPUs starts when no other run is alive. What a plan waits for is kept for it: those behind it
start only on other cards, unless it lets others pass. What it needs is what `gpu-studio model` predicted, if it was
asked; else its slices' limits, or the whole card. A process in the background starts them: it needs neither the window
nor this terminal.

examples:
  gpu-studio queue add a.plan.toml b.plan.toml --set training.epochs=20
  gpu-studio queue list
  gpu-studio queue up b-3f21
  gpu-studio queue let-pass b-3f21      others may start on its cards while it waits
  gpu-studio queue start b-3f21         whatever is free
  gpu-studio queue start                go on with the whole queue after a restart of the machine"""

_OF_ONE: Final = {
    "up": "have an entry come one place earlier",
    "down": "have an entry come one place later",
    "remove": "take an entry out",
    "hold": "have an entry stay until it is released",
    "release": "let a held entry start when its devices have the memory",
    "let-pass": "let those behind an entry start on the cards that it waits for",
    "keep": "have the cards that an entry waits for kept for it again",
}
_START: Final = """Without an entry, the process that works the queue off is started if it is gone, as after
a restart of the machine. With one, that entry is started now, whatever is free.

examples:
  gpu-studio queue start
  gpu-studio queue start digits-3f21"""
_ENTRY_HELP: Final = "the entry: its id, or a part of it that no other entry has"

Command = Callable[[Any, str, str, str], argparse.ArgumentParser]
Adding = Callable[[argparse.ArgumentParser], None]


def add_queue(commands: Any, command: Command, add_set: Adding, add_json: Adding) -> None:
    """Add the command and its actions."""
    actions = command(commands, "queue", SUMMARY, EXAMPLES).add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    add = command(actions, "add", "put plans at the end of the queue", "example:\n  gpu-studio queue add a.plan.toml")
    add.add_argument("plans", metavar="PLAN", nargs="+", type=Path, help="the plan files")
    add.add_argument("--hold", action="store_true", help="have them stay until they are released")
    add_allowing(add)
    add_set(add)
    add_json(add)
    add_json(command(actions, "list", "list what waits, and for what", "example:\n  gpu-studio queue list --json"))
    for name, summary in _OF_ONE.items():
        one = command(actions, name, summary, f"example:\n  gpu-studio queue {name} digits-3f21")
        one.add_argument("entry", metavar="ID", help=_ENTRY_HELP)
        add_json(one)
    start = command(actions, "start", "go on with the queue, or start an entry now, whatever is free", _START)
    start.add_argument("entry", metavar="ID", nargs="?", help=_ENTRY_HELP)
    add_json(start)
    command(actions, "run", "work the queue off here, until nothing may start", "example:\n  gpu-studio queue run")
