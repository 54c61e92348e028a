"""`runs delete`, `restore` and `log`: the stored files of a run."""

from __future__ import annotations

import argparse
import io
from typing import Final

from gpu_studio.cli.command import (
    OK,
    Commands,
    add_command,
    add_json,
    add_run,
    named_run,
    note,
    runs_folder,
    say_json,
    say_whole,
)

_LAST_BYTES: Final = 64 * 1024 * 1024
"""So far back the last lines of a log are looked for, and no line of it is longer."""
_MOST_LINES: Final = 1_000_000_000


def register(actions: Commands) -> None:
    """Add the three actions."""
    for name, summary, handler in (
        ("delete", "delete a run that has ended; `runs restore` takes it back for an hour", delete),
        ("restore", "take a deleted run back", restore_run),
        ("log", "print what the trainer process wrote to stdout and stderr", log),
    ):
        parser = add_command(
            actions, name, summary, f"example:\n  gpu-studio runs {name} latest", handler
        )
        add_run(parser)
        if name == "log":
            parser.add_argument(
                "--tail", metavar="LINES", type=_count, help="only the last LINES lines"
            )
        else:
            add_json(parser)


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= _MOST_LINES:
        raise argparse.ArgumentTypeError(f"{text} is no number of lines: give 0 to {_MOST_LINES}")
    return value


def delete(chosen: argparse.Namespace) -> int:
    """Delete a run that has ended, and for good those deleted an hour ago."""
    from gpu_studio.runs import catalogue
    from gpu_studio.runs.paths import run_command

    run = named_run(chosen)
    catalogue.purge(run.path.parent)
    path = catalogue.delete(run)
    if chosen.json:
        say_json({"run": run.id, "trash": str(path)})
    else:
        note(f"{run.id} is deleted. Take it back with: {run_command('runs restore', run.path)}")
    return OK


def restore_run(chosen: argparse.Namespace) -> int:
    """Take a deleted run back."""
    from gpu_studio.runs.catalogue import deleted, restore

    runs = runs_folder(chosen)
    run = restore(runs, deleted(runs, chosen.run))
    if chosen.json:
        say_json({"run": run.id, "directory": str(run.path)})
    else:
        note(f"{run.id} is back.")
    return OK


def log(chosen: argparse.Namespace) -> int:
    """Print what the trainer wrote, or the last lines of it."""
    from gpu_studio.common.safe_files import opened
    from gpu_studio.contract import last_lines

    run = named_run(chosen, elsewhere=True)
    if chosen.tail is not None:
        for last in last_lines(run.log_file, _LAST_BYTES)[-chosen.tail :] if chosen.tail else ():
            say_whole(last.decode("utf-8", "replace"))
        return OK
    # A line at a time: user code may have printed more than there is memory for.
    with io.TextIOWrapper(opened(run.log_file), encoding="utf-8", errors="replace") as text:
        while line := text.readline(_LAST_BYTES):
            say_whole(line.rstrip("\n"))
    return OK
