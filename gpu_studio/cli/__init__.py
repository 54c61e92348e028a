"""The command line: thin commands over the other packages.

Importing it is cheap: a command imports what it needs when it runs, so that `--help` responds at
once. Ctrl+C while Python imports it is as quiet as later.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence

try:
    from gpu_studio.cli.entry import run_command, run_window
except KeyboardInterrupt:
    raise SystemExit(128 + signal.SIGINT) from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (by default the process's own), and return its exit code.

    0: done. 1: the run failed. 2: refused, with nothing done. 3: the run was stopped before its
    end. 4: the run was lost. 130: interrupted.
    """
    return run_command(argv)


def window(argv: Sequence[str] | None = None) -> int:
    """Open the window with the arguments `argv` (default: the process's); return the exit code."""
    return run_window(argv)
