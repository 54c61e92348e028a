"""What `runs evaluate` and `runs save-model` take."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from gpu_studio.cli.code.code_arguments import add_allowing

ACTIONS: Final = {
    "evaluate": "evaluate a checkpoint on the test split, else on the validation split",
    "save-model": "write a checkpoint's model to a .keras file",
}

EXAMPLES: Final = {"evaluate": " --checkpoint best", "save-model": " digits.keras --checkpoint best"}


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add what `runs evaluate` takes after the run."""
    _add_checkpoint(parser)
    _add_json(parser)


def add_save_model(parser: argparse.ArgumentParser) -> None:
    """Add what `runs save-model` takes after the run."""
    parser.add_argument("file", metavar="FILE.keras", type=Path, help="the file to write")
    parser.add_argument("--force", action="store_true", help="replace FILE.keras if it is there")
    _add_checkpoint(parser)
    _add_json(parser)


def _add_checkpoint(parser: argparse.ArgumentParser) -> None:
    help_ = "the checkpoint's name, or: best, latest (default: latest)"
    parser.add_argument("--checkpoint", metavar="NAME", default="latest", help=help_)
    add_allowing(parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write JSON for programs to read")


OPTIONS: Final = {"evaluate": add_evaluate, "save-model": add_save_model}
