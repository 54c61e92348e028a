"""Describe a process on a card in the few words that fit a table."""

from __future__ import annotations

import getpass
import re
from functools import cache
from pathlib import PurePath

from gpu_studio.contract.samples import HostProcess, Process
from gpu_studio.hardware.command_words import TRAINER, is_trainer, short_command

AnyProcess = Process | HostProcess
_RUN = re.compile(r"^\d{8}T\d{6}Z-(.+?)(?:-[0-9a-f]{4})?$")


@cache
def me() -> str:
    """The current user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def run_of(process: AnyProcess) -> str:
    """The name of the run that a process trains; empty if it is not a GPU Studio trainer."""
    command = process.command or ""
    if not is_trainer(command):
        return ""
    folder = PurePath(command.partition(f"{TRAINER} ")[2]).name
    found = _RUN.match(folder)
    return (found[1] if found else folder).replace("-", " ")


def what(process: AnyProcess) -> str:
    """What a process does: its run, or else its program and script."""
    return run_of(process) or short_command(
        process.command or process.why.get("command", "a process")
    )


def who(process: AnyProcess) -> str:
    """The owner of a process, unless it is this user, and what it does, shortened if needed."""
    others = process.user if process.user and process.user != me() else ""
    return " · ".join(filter(None, (others, what(process))))
