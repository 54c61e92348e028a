"""`doctor`: check whether TensorFlow can use each card, and what to type if it cannot."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.arguments import Commands, add_command, add_json, runs_folder
from gpu_studio.cli.output import note, say, say_json

_SUMMARY = "say whether TensorFlow can use each card, and what to type if not"
_EXAMPLES = """examples:
  gpu-studio doctor
  gpu-studio doctor --json
  gpu-studio doctor --fresh

exit codes:
  0    nothing must be mended
  1    something must be mended
  2    refused, with nothing done"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "doctor", _SUMMARY, _EXAMPLES, doctor)
    parser.add_argument(
        "--fresh", action="store_true", help="ask TensorFlow again, even if nothing has changed"
    )
    add_json(parser)


def doctor(chosen: argparse.Namespace) -> int:
    """Examine the machine; return 0 if nothing must be fixed, else 1."""
    from gpu_studio.hardware import doctor as hardware_doctor

    view, why_not = _tensorflow(chosen.fresh)
    report = hardware_doctor.judge(hardware_doctor.gather(runs_folder(chosen), view, why_not))
    if chosen.json:
        say_json(hardware_doctor.as_json(report))
    else:
        say(hardware_doctor.lines(report, shutil.get_terminal_size((100, 24)).columns))
    return exit_codes.OK if report.well else exit_codes.FAILED


def _tensorflow(fresh: bool) -> tuple[dict[str, Any] | None, str]:
    from gpu_studio.runs.questions.ask import AskError, ask

    try:
        return ask(
            "devices", fresh=fresh, progress=_tell if sys.stderr.isatty() else None
        ).value, ""
    except AskError as error:
        return None, str(error)


def _tell(text: str) -> None:
    note(f"… {text}")
