"""`doctor`: what must hold for TensorFlow to use each card, whether it does, and what to type where it does not."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.output import note, say, say_json
from gpu_studio.hardware import doctor as hardware_doctor
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.questions.ask import AskError, ask


def doctor(chosen: argparse.Namespace) -> int:
    """Examine the machine; 0 if nothing must be mended, else 1."""
    view, why_not = _tensorflow(chosen.fresh)
    report = hardware_doctor.judge(hardware_doctor.gather(runs_dir(chosen.runs_dir), view, why_not))
    if chosen.json:
        say_json(hardware_doctor.as_json(report))
    else:
        say(hardware_doctor.lines(report, shutil.get_terminal_size((100, 24)).columns))
    return exit_codes.OK if report.well else exit_codes.FAILED


def _tensorflow(fresh: bool) -> tuple[dict[str, Any] | None, str]:
    try:
        return ask("devices", fresh=fresh, progress=_tell if sys.stderr.isatty() else None).value, ""
    except AskError as error:
        return None, str(error)


def _tell(text: str) -> None:
    note(f"… {text}")
