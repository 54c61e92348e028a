"""`python -m gpu_studio.trainer RUN`: train the plan in the run directory RUN."""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.lock import LockHeldError
from gpu_studio.trainer.environment import forgive_full_disk, leave
from gpu_studio.trainer.process import FAILED, train


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trainer and return its exit status."""
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


if __name__ == "__main__":
    leave(main())
