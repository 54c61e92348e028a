"""The machine that a plan is held against."""

from __future__ import annotations

from pathlib import Path

from gpu_studio import hardware
from gpu_studio.cli.output import RefusedError
from gpu_studio.hardware.asking import COMMAND, WITH_USERS
from gpu_studio.plan import Machine
from gpu_studio.regular_files import read_regular

LARGEST_BYTES = 4 * 1024 * 1024
"""A hundred cards take some ten KiB."""


def this_machine(*, users: bool = False) -> Machine:
    """Ask this machine what it has, and if `users` are asked for, who holds the memory of its cards."""
    return hardware.inventory(command=WITH_USERS if users else COMMAND)


def described_machine(path: Path) -> Machine:
    """Read a machine from a file as `python -m gpu_studio.hardware` writes it.

    Raises RefusedError for what is no such file, OSError if it cannot be read.
    """
    try:
        found = hardware.parse_inventory(read_regular(path, LARGEST_BYTES, follow=True).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"{path} describes no machine: {error}") from error
    if found == Machine():
        raise RefusedError(f"{path} describes no machine: it tells of no cards and of no CPU")
    return found
