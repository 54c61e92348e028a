"""--simulate and --practice: cards that are not there, in place of this machine's own.

Simulated cards can only be looked at; practice cards can be trained on, too. Both are options of
the window and of every command, and are handed on to every process by variables.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from gpu_studio.cli.command import RefusedError, note

NOT_THERE: Final = """cards that are not there:
  --simulate 8xH100   to look at only: invented figures of a machine of that kind, on every page
  --practice 4x2GiB   to train on, too: TensorFlow's own GPUs, with that much of the host's memory
                      and its limits, computing slowly on the CPU; times mean nothing
  GPU_STUDIO_SIMULATE and GPU_STUDIO_PRACTICE in the environment mean the same.

"""


class MachineChoice(NamedTuple):
    """What replaces this machine's cards, as it was typed; None where the option was not given."""

    simulate: str | None
    practice: str | None


def add_machine_choice(parser: argparse.ArgumentParser) -> None:
    """Add --simulate and --practice for the help only: `take_machine_choice` has taken them."""
    parser.add_argument(
        "--simulate",
        metavar="CARDS",
        help="show cards that are not there: H100, A100, RTX4090, L4 or MIG, with a number before "
        "it (8xH100); broken; or a file made with `devices --record`",
    )
    parser.add_argument(
        "--practice",
        metavar="CARDS",
        help="train on cards that are not there: a number and a size, 4x2GiB",
    )


def take_machine_choice(arguments: Sequence[str]) -> tuple[MachineChoice, list[str]]:
    """Return what replaces the cards, if anything, and the arguments without it."""
    parser = argparse.ArgumentParser("gpu-studio", add_help=False, allow_abbrev=False)
    add_machine_choice(parser)
    chosen, rest = parser.parse_known_args(list(arguments))
    return MachineChoice(chosen.simulate, chosen.practice), rest


def apply_machine_choice(chosen: MachineChoice) -> None:
    """Have this process and every one started from here on see those cards.

    Raises RefusedError, SimulationError or PracticeError.
    """
    from gpu_studio.common.practice import PRACTICE
    from gpu_studio.hardware.source import SIMULATE

    if chosen.simulate is not None:
        from gpu_studio.hardware import simulated

        os.environ[SIMULATE] = simulated.checked(chosen.simulate)
    if chosen.practice is not None:
        os.environ[PRACTICE] = chosen.practice
    if os.environ.get(SIMULATE) and os.environ.get(PRACTICE):
        raise RefusedError(
            "cards are either simulated or for practice: leave out --simulate or --practice "
            f"(or unset {SIMULATE} or {PRACTICE})"
        )
    if os.environ.get(PRACTICE):
        _practise()


def _practise() -> None:
    from gpu_studio.common.practice import chosen
    from gpu_studio.hardware import practice

    cards = chosen()
    if cards is not None and not practice.is_set_up(cards):
        if practice.built() is None:
            note("Compiling the practice cards for this TensorFlow, once; it takes about 20 s…")
        practice.begin(cards, practice.build())


def refuse_simulated() -> None:
    """Raises RefusedError if the cards are simulated: nothing can be trained on them."""
    from gpu_studio.hardware.source import SIMULATE, simulated

    if simulated():
        raise RefusedError(
            "simulated cards cannot be trained on: use --practice 4x2GiB instead of --simulate, or "
            f"unset {SIMULATE}"
        )
