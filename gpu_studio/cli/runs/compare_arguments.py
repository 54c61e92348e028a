"""The arguments of the actions that tell what runs came to: `runs list`, `compare`, `report` and `export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gpu_studio.cli.runs import label_arguments

WHAT: Final = ("steps", "epochs", "memory", "hardware")
FORMATS: Final = ("csv", "json", "svg")

_LIST: Final = """examples:
  gpu-studio runs list --json
  gpu-studio runs list --tag best,baseline
  gpu-studio runs list --energy"""
_COMPARE: Final = """The best of each figure is marked with *, where one is better than all the others.
Of what grows while a run goes on, as time and energy, only runs that trained as many samples have a best.

examples:
  gpu-studio runs compare latest 20261120
  gpu-studio runs compare latest 20261120 --metric val_loss --json"""
_REPORT: Final = """One file that opens in any browser, alone: no network, no script. Several runs are compared in it.

examples:
  gpu-studio runs report latest
  gpu-studio runs report latest --output digits.html --open
  gpu-studio runs report latest 20261120 --output compared.html"""
_EXPORT: Final = """  csv    a file each of steps, epochs, memory and hardware; with --what, that one
  json   all figures of the run
  svg    its curves of loss and memory, to scale; for a PNG, save the plot in the window (right click)

examples:
  gpu-studio runs export latest
  gpu-studio runs export latest --what steps --output steps.csv
  gpu-studio runs export latest --format json
  gpu-studio runs export latest --format svg --output figures/"""

Command = Callable[[Any, str, str, str], argparse.ArgumentParser]
Adding = Callable[[argparse.ArgumentParser], None]


def add_actions(actions: Any, command: Command, add_json: Adding, run_help: str) -> None:
    """Add the four actions to those of `runs`."""
    listing = command(actions, "list", "list all runs, the newest first", _LIST)
    listing.add_argument("--energy", action="store_true", help="with the energy of its cards, which takes a while")
    label_arguments.add_filter(listing)
    add_json(listing)
    compare = command(actions, "compare", "show what differs in the plans of runs, and what came of it", _COMPARE)
    compare.add_argument("runs", metavar="RUN", nargs="+", help=run_help)
    compare.add_argument("--metric", metavar="NAME", help="of the metrics show only this one")
    add_json(compare)
    report = command(actions, "report", "write what runs came to into a file of HTML", _REPORT)
    report.add_argument("runs", metavar="RUN", nargs="+", help=run_help)
    _add_output(report, "FILE.html", "the file (default: report-RUN.html in the current directory)")
    report.add_argument("--open", action="store_true", help="open it in the browser")
    export = command(actions, "export", "write the curves and figures of a run into files", _EXPORT)
    export.add_argument("run", metavar="RUN", help=run_help)
    export.add_argument("--format", choices=FORMATS, default="csv", help="what to write (default: csv)")
    export.add_argument("--what", choices=WHAT, help="of a csv only this one, to stdout without --output")
    where = "the file, or the directory (default: the current one for all csv files, else stdout)"
    _add_output(export, "PATH", where)


def _add_output(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    parser.add_argument("--output", "-o", metavar=metavar, type=Path, help=what)
    parser.add_argument("--force", action="store_true", help="replace what is there")
