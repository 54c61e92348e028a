"""From the arguments to a command, and from its refusal to a message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from gpu_studio.cli import exit_codes
from gpu_studio.cli.devices.devices_arguments import take_simulation
from gpu_studio.cli.output import RefusedError, make_streams_whole, note
from gpu_studio.cli.parser import COMMANDS, make_parser, make_window_parser, plan_to_open

TRAINING = ("train", "resume")

NO_DISPLAY = """gpu-studio: there is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set).
Without one, everything works from here:
  gpu-studio train       train the starter plan made for this machine
  gpu-studio starter     write that plan down, to change it
  gpu-studio runs list   see what has been trained
  gpu-studio --help      see all commands"""

NO_WINDOW = """gpu-studio: the window cannot be opened: {error}
Install what is missing (on Debian: apt install libegl1 libxkbcommon0 libdbus-1-3 libfontconfig1), or train from here:
  gpu-studio train"""


def run_command(argv: Sequence[str] | None = None) -> int:
    """Run one command; see `gpu_studio.cli.main`."""
    return _in_words_if_refused(lambda: _dispatch(_words(argv)))


def run_window(argv: Sequence[str] | None = None) -> int:
    """Open the window as the arguments say; see `gpu_studio.cli.window`."""
    return _in_words_if_refused(lambda: _open_window(_words(argv)))


def _words(argv: Sequence[str] | None) -> list[str]:
    return list(sys.argv[1:] if argv is None else argv)


def _in_words_if_refused(work: Callable[[], int]) -> int:
    """Do the work of a command; what it cannot do becomes a message and an exit code."""
    make_streams_whole()
    try:
        return work()
    except SystemExit as ending:  # argparse: help, version or a mistake in the arguments
        return ending.code if isinstance(ending.code, int) else exit_codes.REFUSED
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        return _reader_has_gone()
    except OSError as error:
        note(f"gpu-studio: {_in_words(error)}")
        return exit_codes.REFUSED
    except _refusals() as error:
        note(f"gpu-studio: {error}")
        return exit_codes.REFUSED


def show_window(runs: Path | None, plan: Path | None) -> int:
    """Open the window on the runs in `runs` with the plan file `plan`, or say why that cannot be."""
    if not has_display():
        note(NO_DISPLAY)
        return exit_codes.REFUSED
    from gpu_studio.runs.paths import runs_dir

    try:
        run = import_module("gpu_studio.ui.app").run
    except ImportError as error:
        note(NO_WINDOW.format(error=error))
        return exit_codes.REFUSED
    code: int = run(runs_dir=runs_dir(runs), plan_path=plan)
    return code


def has_display() -> bool:
    """Say whether Qt has something to draw on: always, unless this is a Unix without X11 and without Wayland."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def _dispatch(arguments: list[str]) -> int:
    parser = make_parser()
    wanted, arguments = take_simulation(arguments)
    if wanted is not None:
        _simulate(wanted)
    opened = plan_to_open(arguments)
    if opened is not None:
        return show_window(*opened)
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        return show_window(chosen.runs_dir, None)
    if chosen.command in TRAINING or (chosen.command == "queue" and chosen.action in ("add", "run", "start")):
        _refuse_simulated()
    module, function = COMMANDS[chosen.command]
    code: int = getattr(import_module(f"gpu_studio.cli.{module}"), function)(chosen)
    return code


def _open_window(arguments: list[str]) -> int:
    wanted, arguments = take_simulation(arguments)
    chosen = make_window_parser().parse_args(arguments)
    if wanted is not None:
        _simulate(wanted)
    return show_window(chosen.runs_dir, chosen.plan)


def _simulate(wanted: str) -> None:
    """Have every process started from here on show the simulated cards; raises SimulationError."""
    from gpu_studio.hardware import simulated

    os.environ[simulated.VARIABLE] = simulated.checked(wanted)


def _refuse_simulated() -> None:
    from gpu_studio.hardware.source import SIMULATE, simulated

    if simulated():
        raise RefusedError(f"simulated cards cannot be trained on: leave out --simulate, or unset {SIMULATE}")


def _refusals() -> tuple[type[Exception], ...]:
    """The errors that say in words why something was not done. Looked up only once one was raised."""
    from gpu_studio.hardware.words import SimulationError
    from gpu_studio.plan import PlanError
    from gpu_studio.runs.catalogue import LiveRunError, UnknownRunError
    from gpu_studio.runs.queueing.queue import QueueError
    from gpu_studio.runs.resume import ResumeError

    return RefusedError, SimulationError, PlanError, LiveRunError, UnknownRunError, ResumeError, QueueError


def _in_words(error: OSError) -> str:
    if error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _reader_has_gone() -> int:
    # Python would flush the pipe once more at its end, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exit_codes.OK
