"""The arguments of `model`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from gpu_studio.cli.code.code_arguments import add_allowing

SUMMARY: Final = "show a plan's layers, and whether a training step fits into each device's memory"
EXAMPLES: Final = """The model is built and one training step is traced; nothing is trained, but with --measured. The
answer is remembered until the model, the shape of the data or the optimizer changes. It is held against each slice's
limit or each card, and against what is free now beside those who hold memory of the card. Of a whole
card about 512 MiB are CUDA's own, and of the rest TensorFlow keeps 225 to 1,800 MiB back for CUDA's libraries (cuDNN,
NCCL): neither is part of the limit.

examples:
  gpu-studio model digits.plan.toml
  gpu-studio model digits.plan.toml --set training.batch_size=4096
  gpu-studio model digits.plan.toml --measured --formulas
  gpu-studio model digits.plan.toml --machine cluster-node.json --json

exit codes:
  0    it fits, or the devices have no limit
  1    it does not fit, or not beside those who hold memory of the card now
  2    refused, with nothing done"""


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that are of `model` alone."""
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan file")
    parser.add_argument(
        "--measured",
        action="store_true",
        help="train a few real steps first, and correct the prediction by them",
    )
    add_allowing(parser)
    parser.add_argument("--formulas", action="store_true", help="say how each figure of memory comes about")
