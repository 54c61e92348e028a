"""The arguments of `place`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from gpu_studio.cli.code.code_arguments import add_allowing

SUMMARY: Final = "suggest which layer runs on which device"
EXAMPLES: Final = """Every layer is timed first, in training steps on this machine. The times are kept until
the model, the data, the batch or the machine changes. Logical CPUs share the cores: placing gains nothing there.

Each device gets one stretch of layers that follow one another; placements in which the layers come back to
a device are not looked at, though one of them may be faster.

objectives:
  fastest            the least time of a step
  least-memory       the fullest device as empty as can be
  fewest-transfers   the fewest bytes sent between devices

examples:
  gpu-studio place digits.plan.toml
  gpu-studio place digits.plan.toml --objective least-memory --micro-batches 4
  gpu-studio place digits.plan.toml --to placed.plan.toml
  gpu-studio place digits.plan.toml --estimate --json"""


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that are of `place` alone."""
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan file")
    parser.add_argument(
        "--objective",
        choices=("fastest", "least-memory", "fewest-transfers"),
        default="fastest",
        help="what is wanted of the placement (default: fastest)",
    )
    parser.add_argument("--micro-batches", metavar="M", type=_count, help="so many micro-batches (default: the best)")
    parser.add_argument(
        "--recompute",
        action="store_true",
        help="keep only what goes into each stage and compute the rest again: less memory, more time",
    )
    add_allowing(parser)
    timing = parser.add_mutually_exclusive_group()
    timing.add_argument("--estimate", action="store_true", help="go by FLOPs instead of timing the layers")
    timing.add_argument("--fresh", action="store_true", help="time the layers again, whatever is remembered")
    parser.add_argument("--to", metavar="FILE", type=Path, help="write the plan with its layers placed to FILE")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of micro-batches: give one from 1 to 1024")
    return count
