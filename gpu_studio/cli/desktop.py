"""`desktop install`, `desktop remove`: GPU Studio in the menu of programs, for one user.

With it come completion for shells and the manual page.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_command,
    add_group,
    add_json,
    note,
    say,
    say_json,
)
from gpu_studio.cli.completion import PLACES, ZSH, made_files

if TYPE_CHECKING:
    from gpu_studio.common.desktop_entry import Done

_SUMMARY = "put GPU Studio into the desktop's menu, and take it out again"
_ABOUT = """\
The menu gets an entry that starts the window with the Python that runs this command. Plan files
(*.plan.toml) and study files (*.study.toml) get a type and an icon of their own; both open with a
double click. bash, zsh and fish get completion, and man a page, which it finds where ~/.local/bin
is in PATH. This is for you alone: it needs no root, and lies below $XDG_DATA_HOME
(~/.local/share). Done again from another Python, the entry starts that one.

examples:
  gpu-studio desktop install
  gpu-studio desktop remove"""


def register(commands: Commands) -> None:
    """Add the command and its actions."""
    actions = add_group(commands, "desktop", _SUMMARY, _ABOUT)
    for name, summary, handler in (
        ("install", "put it into the menu; what is there of it is replaced", _install),
        ("remove", "take it out of the menu, and leave nothing behind", _remove),
    ):
        example = f"example:\n  gpu-studio desktop {name}"
        add_json(add_command(actions, name, summary, example, handler))


def _install(chosen: argparse.Namespace) -> int:
    from gpu_studio.common import desktop_entry

    home = desktop_entry.data_home()
    try:
        program = desktop_entry.program()
        done = desktop_entry.install(program, home, made_files(chosen.make_parser()))
    except desktop_entry.DesktopError as error:
        raise RefusedError(str(error)) from error
    if chosen.json:
        return _tell(done, str(program))
    say(f"GPU Studio is in the menu, and plan files open in it: {program}")
    if done.before not in ("", str(program)):
        say(f"It replaces {done.before}, which was there before.")
    if done.missing:
        note(
            f"The desktop may notice only after the next login: {', '.join(done.missing)} "
            "is not installed here."
        )
    if os.environ.get("SHELL", "").endswith("zsh"):
        say(f"For completion put this into ~/.zshrc, before compinit: fpath+=({home / ZSH})")
    return OK


def _remove(chosen: argparse.Namespace) -> int:
    from gpu_studio.common import desktop_entry

    home = desktop_entry.data_home()
    done = desktop_entry.remove(home, PLACES)
    if chosen.json:
        return _tell(done, "")
    if done.files:
        say("GPU Studio is out of the menu. Plans, runs and settings stay where they are.")
    else:
        say(f"GPU Studio is not in the menu: there is nothing of it in {home}.")
    return OK


def _tell(done: Done, program: str) -> int:
    document = {
        "program": program,
        "before": done.before,
        "files": [str(path) for path in done.files],
        "refreshed": list(done.refreshed),
        "missing": list(done.missing),
    }
    say_json(document)
    return OK
