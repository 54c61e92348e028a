"""What is said of `train`."""

from __future__ import annotations

from typing import Final

from gpu_studio.cli.exit_codes import EXPLAINED

SUMMARY: Final = "train a plan"
EXAMPLES: Final = (
    """Ctrl+C once stops the run with a checkpoint; twice stops it now, without one. Closing the terminal leaves the
run alive: see it again with `gpu-studio runs attach latest`, or in the window.

examples:
  gpu-studio train
  gpu-studio train digits.plan.toml --set training.epochs=1 training.batch_size=128
  gpu-studio train digits.plan.toml --name "wide" --set "model.options={ hidden = [512] }"
  gpu-studio train digits.plan.toml --detach
  gpu-studio train digits.plan.toml --json | grep '"event": "epoch"'

"""
    + EXPLAINED
)
