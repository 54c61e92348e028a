"""`runs show`: everything known of one run, for a person and for a program."""

from __future__ import annotations

import argparse

from gpu_studio.cli import exit_codes
from gpu_studio.cli.arguments import Commands, add_command, add_json, add_run, named_run
from gpu_studio.cli.output import say, say_json


def register(actions: Commands) -> None:
    """Add the action."""
    example = "example:\n  gpu-studio runs show latest"
    parser = add_command(
        actions, "show", "show all that is known of a run, and why it ended", example, show
    )
    add_run(parser)
    add_json(parser)


def show(chosen: argparse.Namespace) -> int:
    """Show what is known of a run."""
    from gpu_studio.runs.results.run_facts import run_document, run_lines

    run = named_run(chosen, elsewhere=True)
    if chosen.json:
        say_json(run_document(run))
    else:
        for line in run_lines(run):
            say(line)
    return exit_codes.OK
