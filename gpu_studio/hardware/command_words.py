"""The command line of a process, and the few words by which a person recognises it."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import psutil

TRAINER: Final = "gpu_studio.trainer"
"""The module that a trainer's process runs; the folder of its run follows."""
_RUN: Final = re.compile(r"^\d{8}T\d{6}Z-(.+?)(?:-[0-9a-f]{4})?$")


def command_line(process: psutil.Process) -> str:
    """What a process was started with, on one line, or its name if that is not known.

    Any program may have been started with bytes that are no text: they become question marks.
    Raises psutil.Error.
    """
    words = " ".join(" ".join(process.cmdline()).split()) or process.name()
    return words.encode("utf-8", "replace").decode()


def short_command(command: str) -> str:
    """A command line without folders and options: `python train.py`."""
    words = command.split()
    program = PurePath(words[0]).name if words else ""
    if len(words) < 2 or not (program.startswith("python") or words[0].startswith("/")):
        return command
    if not program.startswith("python"):
        return program
    if "-m" in words[1:-1]:
        return f"{program} -m {words[words.index('-m') + 1]}"
    script = next((word for word in words[1:] if word == "-c" or not word.startswith("-")), "")
    return f"{program} {PurePath(script).name}".rstrip()


def is_trainer(command: str) -> bool:
    """Whether this is the command line of a GPU Studio trainer, with its run."""
    return TRAINER in command.split()[:-1]


def run_in(command: str) -> str:
    """The name of the run that this command line trains; empty if it is no trainer's."""
    if not is_trainer(command):
        return ""
    folder = PurePath(command.partition(f"{TRAINER} ")[2]).name
    found = _RUN.match(folder)
    return (found[1] if found else folder).replace("-", " ")


def holder_words(command: str) -> str:
    """What holds memory, as its command line tells: `the run digits`, or `python train.py`."""
    run = run_in(command)
    return f"the run {run}" if run else short_command(command)
