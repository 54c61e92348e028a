"""The arguments of `devices`, and `--simulate`, which stands before every command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

EXAMPLES: Final = """A figure that is not known says why: not supported by this card, no permission, lost, asleep …

--json writes one object:
  time        seconds since the epoch (UTC)
  simulated   what is shown in place of this machine's cards; "" for the real ones
  why         why no card answers; "" if one does
  driver, cuda   versions; null without a driver
  cards       a list, in PCI order: name, uuid, bus_id, gone ("" or why it does not answer), its facts and its figures;
              a figure that is null has its reason under `why`; `instances` are the parts of a card in MIG mode
  processes   a list: card (the key `card` of a card), pid, kinds, user, command, memory_mib, cpu_percent, …
  processes_why  why the processes of a card, by its key, are not known
  host_processes  a list of those that use much of the host's cores or memory, and every trainer: pid, user, command,
              cpu_percent (of one core), memory_mib
  host_processes_why  why they are not known; "" if they are
  host        cpu_percent, memory_used_mib, memory_total_mib, …
  events      XIDs and memory errors since the start
  notes       what befell the process that asks the driver
Units stand in the names: _mib binary mebibytes, _percent of 100, _w watts, _c degrees Celsius, _mhz, _j joules.

examples:
  gpu-studio devices
  gpu-studio devices --watch
  gpu-studio devices --json | jq '.cards[].memory_used_mib'
  gpu-studio devices --record evening.jsonl --seconds 3600
  gpu-studio devices --simulate evening.jsonl --watch"""


def add_devices(parser: argparse.ArgumentParser, seconds: Callable[[str], float]) -> None:
    """Add the arguments of `devices`; `seconds` reads a number of seconds."""
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument(
        "--json",
        action="store_true",
        help="write JSON for programs to read; with --watch, one object a line",
    )
    shapes.add_argument("--csv", action="store_true", help="write a line for each card")
    parser.add_argument("--watch", action="store_true", help="go on showing them; q or Ctrl+C ends it")
    parser.add_argument("--record", metavar="FILE", type=Path, help="keep everything in FILE, until Ctrl+C")
    parser.add_argument("--seconds", type=seconds, help="end --watch or --record after so many seconds")
    add_simulate(parser)


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add `--simulate`, which `take_simulation` has taken before, so that the help tells of it."""
    parser.add_argument(
        "--simulate",
        metavar="CARDS",
        help="show cards that are not there: H100, A100, RTX4090, L4 or MIG, with a number before it (8xH100); "
        "broken; or a file made with `devices --record`",
    )


def take_simulation(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return what is to be simulated, if anything, and the arguments without it."""
    parser = argparse.ArgumentParser("gpu-studio", add_help=False, allow_abbrev=False)
    add_simulate(parser)
    chosen, rest = parser.parse_known_args(list(arguments))
    return chosen.simulate, rest
