"""`python -m gpu_studio.trainer RUN`: train the plan in the run directory RUN."""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.lock import LockHeldError
from gpu_studio.trainer.output import forgive_full_disk
from gpu_studio.trainer.process import FAILED, train


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trainer; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_studio.trainer", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory with a plan.toml")
    run = RunDirectory(parser.parse_args(arguments).run.resolve())
    faulthandler.enable()
    os.umask(0o077)
    forgive_full_disk()
    try:
        return train(run)
    except (LockHeldError, OSError) as error:
        print(f"The run {run.id} cannot be trained: {error}", file=sys.stderr)  # noqa: T201
        return FAILED


def leave(status: int) -> None:
    """End the process at once: everything is written, and TensorFlow takes a second to take itself apart."""
    with suppress(OSError):  # a full disk must not keep it
        sys.stdout.flush()
        sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)  # what native code has printed, where operations were placed for one
    os._exit(status)


if __name__ == "__main__":
    leave(main())
