"""What `resume` takes beside the run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from gpu_studio.cli.exit_codes import EXPLAINED

SUMMARY: Final = "go on with a run that has ended, from a checkpoint, as a new run"
EXAMPLES: Final = (
    """Devices, carve, strategy, epochs, learning rate and checkpoints may change; model, data and optimizer may not.

examples:
  gpu-studio resume latest
  gpu-studio resume latest --set training.epochs=40
  gpu-studio resume 20261120 --checkpoint best --set distribution.strategy=none
  gpu-studio resume latest --plan four-devices.plan.toml

"""
    + EXPLAINED
)


def add_resuming(parser: argparse.ArgumentParser) -> None:
    """Add the checkpoint, and the plan to go on with."""
    parser.add_argument("--checkpoint", metavar="NAME", help="the checkpoint, or: best (default: the newest)")
    parser.add_argument("--plan", metavar="PLAN", type=Path, help="go on with this plan, instead of the run's own")
