"""The command line: thin commands over the other packages.

Importing it is cheap: a command imports what it needs when it runs, so that `--help` responds at
once, and Ctrl+C while Python imports is as quiet as later.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (by default the process's own), and return its exit code.

    0: done. 1: the run failed. 2: refused, with nothing done. 3: the run was stopped before its
    end. 4: the run was lost. 130: interrupted.
    """
    try:
        from gpu_studio.cli.entry import run_command

        return run_command(argv)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def window(argv: Sequence[str] | None = None) -> int:
    """Open the window with the arguments `argv` (default: the process's); return the exit code."""
    try:
        from gpu_studio.cli.entry import run_window

        return run_window(argv)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
