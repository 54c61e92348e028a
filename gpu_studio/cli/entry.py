"""The entry point: parse arguments, run the command, turn refusals into messages and exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from gpu_studio import __version__
from gpu_studio.cli import completion
from gpu_studio.cli.command import (
    EXIT_CODES,
    INTERRUPTED,
    OK,
    REFUSED,
    CommandParser,
    RefusedError,
    add_runs_dir,
    make,
    make_streams_whole,
    note,
    runs_folder,
)
from gpu_studio.cli.machine_choice import (
    NOT_THERE,
    MachineChoice,
    add_machine_choice,
    apply_machine_choice,
    refuse_simulated,
    take_machine_choice,
)

BEFORE_QT: Final = (
    "gpu_studio.runs.questions.plan_question",
    "gpu_studio.placement.known_problems",
    "gpu_studio.hardware.accompanying",
    "gpu_studio.hardware.device_rows",
    "gpu_studio.hardware.links",
)
"""What brings most of the modules that the window needs, and nothing of Qt.

They come first: PySide6 reads the source text of every module that is imported after it.
"""

PAGES: Final = ("devices", "plan", "train", "runs", "lab")

_ADDED_BY: Final[Mapping[str, str]] = {
    "check": "plans",
    "starter": "plans",
    "export": "export",
    "model": "model",
    "place": "place",
    "train": "train",
    "resume": "train",
    "runs": "runs",
    "queue": "queue",
    "study": "study",
    "lab": "lab",
    "code": "code",
    "cluster": "cluster",
    "devices": "devices",
    "doctor": "devices",
    "desktop": "desktop",
    "completion": "completion",
    "guide": "guide",
    "lesson": "lesson",
}
"""The commands in the order of the help, each with the file beside this one that adds it."""

_OVERVIEW = """Carve GPUs, place training on them, and watch it run.

Without a command the window opens; with the path of a plan file, it opens on that plan.
A Python script that calls a model's fit may be given wherever a plan is: it is trained as it is."""

_EXAMPLES = (
    """examples:
  gpu-studio                            open the window
  gpu-studio digits.plan.toml           open the window on a plan
  gpu-studio train                      train the starter plan made for this machine
  gpu-studio train digits.plan.toml --set training.epochs=1
  gpu-studio train train.py             train a Keras script of your own as it is
  gpu-studio export digits.plan.toml --to train.py
  gpu-studio runs list                  what has been trained, what is training
  gpu-studio runs attach latest         watch a run again
  gpu-studio study new strategies       what is worth it for a plan? measure it
  gpu-studio lab run compute            what can this machine do? measure it
  gpu-studio devices --watch            the cards, and who uses them
  gpu-studio --practice 4x2GiB          the window, on cards that are not there
  gpu-studio doctor                     see why TensorFlow does not use a card
  gpu-studio guide                      read the guide
  gpu-studio lesson                     learn by doing

"""
    + NOT_THERE
    + EXIT_CODES
)

_WINDOW_EXAMPLES = f"""examples:
  gpu-studio-window
  gpu-studio-window digits.plan.toml
  gpu-studio-window digits-batch.study.toml
  gpu-studio-window --new
  gpu-studio-window --page devices
  gpu-studio-window --simulate 8xH100
  gpu-studio-window --practice 4x2GiB

{NOT_THERE.rstrip()}"""

_REFUSING: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
NO_DISPLAY = """gpu-studio: there is no display to open a window on (neither DISPLAY nor \
WAYLAND_DISPLAY is set).
Without one, everything works from here:
  gpu-studio train       train the starter plan made for this machine
  gpu-studio starter     write that plan down, to change it
  gpu-studio runs list   see what has been trained
  gpu-studio --help      see all commands"""

NOT_WHOLE = """gpu-studio: {error}: a package that GPU Studio needs is not in its environment, \
{prefix}.
Make that whole: with `make setup` in a source tree, else by installing GPU Studio again \
(pip install --force-reinstall, pipx reinstall, uv tool install --force, apt install --reinstall)"""

NO_WINDOW = """gpu-studio: the window cannot be opened: {error}
Install what is missing (on Debian: apt install libegl1 libxkbcommon0 libdbus-1-3 libfontconfig1), \
or train from here:
  gpu-studio train"""


def run_command(argv: Sequence[str] | None = None) -> int:
    """Run one command; see `gpu_studio.cli.main`."""
    if completion.is_asked():
        completion.complete(make_parser())
    return _in_words_if_refused(lambda: _dispatch(_words(argv)))


def run_window(argv: Sequence[str] | None = None) -> int:
    """Open the window as the arguments say; see `gpu_studio.cli.window`."""
    from gpu_studio.cli.without_terminal import has_terminal, with_errors_shown

    if completion.is_asked():
        completion.complete(make_window_parser())

    def work() -> int:
        return _in_words_if_refused(lambda: _open_window(_words(argv)))

    return work() if has_terminal() else with_errors_shown(work)


_NO_VALUE: Final = re.compile(r"--[\w-]+=--|-\w=?--")


def _words(argv: Sequence[str] | None) -> list[str]:
    words = list(sys.argv[1:] if argv is None else argv)
    # argparse takes such a value for the end of the options, and hands over an empty list.
    if wrong := next(filter(_NO_VALUE.fullmatch, words), ""):
        raise RefusedError(f"{wrong} names no value: write one behind the option.")
    return words


def _in_words_if_refused(work: Callable[[], int]) -> int:
    """Do the work of a command; what it cannot do becomes a message and an exit code."""
    make_streams_whole()
    try:
        return work()
    except SystemExit as ending:  # argparse: help, version or a mistake in the arguments
        return ending.code if isinstance(ending.code, int) else REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_has_gone()
    except OSError as error:
        note(f"gpu-studio: {_in_words(error)}")
        return REFUSED
    except ImportError as error:
        note(NOT_WHOLE.format(error=error, prefix=sys.prefix))
        return REFUSED
    except _refusals() as error:
        note(f"gpu-studio: {error}")
        return REFUSED


def show_window(chosen: argparse.Namespace) -> int:
    """Open the window as the arguments say, or say why it cannot be."""
    if not has_display():
        note(NO_DISPLAY)
        return REFUSED
    for name in BEFORE_QT:
        import_module(name)
    try:
        app = import_module("gpu_studio.ui.window.app")
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        note(NO_WINDOW.format(error=error))
        return REFUSED
    given = {"plan_path": chosen.plan, "page": chosen.page, "fresh": chosen.new}
    try:
        code: int = app.run(runs_dir=runs_folder(chosen), **given)
    except import_module("gpu_studio.ui.window.display").NoWindowError as error:
        note(f"gpu-studio: {error}\nWithout a window: gpu-studio train, and gpu-studio --help")
        return REFUSED
    return code


def has_display() -> bool:
    """Whether Qt has a display: always, unless this is a Unix without X11 and Wayland."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def _dispatch(arguments: list[str]) -> int:
    cards, arguments = take_machine_choice(arguments)
    opening, others = _opening(arguments)
    if opening is not None and (not others or _is_plan_to_open(others)):
        # The window's start waits for this: it needs the parsers of no command.
        opening.plan = Path(others[0]) if others else None
        return _show_window_on(cards, opening)
    parser = make_parser(others[0] if others else "")
    chosen, unknown = parser.parse_known_args(arguments)
    if unknown:
        from gpu_studio.cli.unknown_words import advice

        said = f"unrecognized arguments: {' '.join(unknown)}"
        chosen.given.error(f"{said}{advice(chosen, unknown)}")
    if chosen.handler is None:
        return _show_window_on(cards, chosen)
    _write_numbers_as_chosen()
    apply_machine_choice(cards)
    if chosen.trains:
        refuse_simulated()
    try:
        code: int = chosen.handler(chosen)
    except OSError as error:
        if keeps_nothing(runs_folder(chosen), error):
            raise RefusedError(
                f"Nothing can be kept in {runs_folder(chosen)}: {error.strerror}. Name another "
                "folder with --runs-dir."
            ) from error
        raise
    return code


def keeps_nothing(runs: Path, error: OSError) -> bool:
    """Whether the error says that this folder of runs cannot be made, or not be written to."""
    if not error.strerror or not Path(str(error.filename)).is_relative_to(runs):
        return False
    return error.errno in _REFUSING or not runs.exists()


def _write_numbers_as_chosen() -> None:
    from gpu_studio.common.choices import chosen_thousands
    from gpu_studio.common.figures import write_thousands

    write_thousands(chosen_thousands(" "))


def make_parser(command: str = "") -> argparse.ArgumentParser:
    """Make the parser of all commands, or only of those that come from the file of `command`.

    A command is parsed alike by both. Where none is named, all are needed: the help lists them.
    """
    parser = make(CommandParser, "gpu-studio", _OVERVIEW, _EXAMPLES)
    # A command that writes of all commands makes the parser of all.
    parser.set_defaults(
        handler=None, trains=False, plan=None, make_parser=make_parser, given=parser
    )
    _add_window_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    wanted = [_ADDED_BY[command]] if command in _ADDED_BY else dict.fromkeys(_ADDED_BY.values())
    for name in wanted:
        import_module(f"gpu_studio.cli.{name}").register(commands)
    return parser


def _add_window_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action="version", version=f"gpu-studio {__version__}")
    add_runs_dir(parser)
    add_machine_choice(parser)
    _add_opening(parser)


def _add_opening(parser: argparse.ArgumentParser) -> None:
    """Add what says how the window opens."""
    parser.add_argument(
        "--page", choices=PAGES, default="", help="open the window on this of its pages"
    )
    parser.add_argument(
        "--new", action="store_true", help="open the window on a new plan for this machine"
    )


def _opening(arguments: Sequence[str]) -> tuple[argparse.Namespace | None, list[str]]:
    """What the arguments say of how the window opens, and the others; None if they are wrong."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    add_runs_dir(parser)
    _add_opening(parser)
    try:
        return parser.parse_known_args(list(arguments))
    except argparse.ArgumentError:
        return None, []


def _is_plan_to_open(others: Sequence[str]) -> bool:
    """Whether the arguments, without what says how the window opens, only name a plan."""
    if len(others) != 1 or others[0].startswith("-") or others[0] in _ADDED_BY:
        return False
    plan = Path(others[0])
    return plan.suffix == ".toml" or plan.is_file()


def _open_window(arguments: list[str]) -> int:
    cards, arguments = take_machine_choice(arguments)
    chosen = make_window_parser().parse_args(arguments)
    _check(chosen)
    apply_machine_choice(cards)
    return OK if _another_opens(chosen) else show_window(chosen)


def _another_opens(chosen: argparse.Namespace) -> bool:
    """Whether a window that is there already does what is asked of this one."""
    if not (chosen.plan or chosen.new or chosen.page):
        return False
    from gpu_studio.contract.open_windows import WindowRequest, hand_over, surroundings

    request = WindowRequest(
        surroundings(runs_folder(chosen)),
        plan=str(chosen.plan.absolute()) if chosen.plan else "",
        new=chosen.new,
        page=chosen.page,
        token=os.environ.get("XDG_ACTIVATION_TOKEN", ""),
    )
    return hand_over(request)


def _show_window_on(cards: MachineChoice, chosen: argparse.Namespace) -> int:
    _check(chosen)
    apply_machine_choice(cards)
    return show_window(chosen)


def _check(chosen: argparse.Namespace) -> None:
    if chosen.new and chosen.plan is not None:
        raise RefusedError(f"A new plan is not {chosen.plan}: leave out --new, or the file.")


def make_window_parser() -> argparse.ArgumentParser:
    """Make the parser of `gpu-studio-window`, which opens the window and does nothing else."""
    parser = make(CommandParser, "gpu-studio-window", "Open the window.", _WINDOW_EXAMPLES)
    _add_window_options(parser)
    parser.add_argument(
        "plan", metavar="FILE", nargs="?", type=Path, help="the plan or study file to open"
    )
    return parser


def _refusals() -> tuple[type[Exception], ...]:
    """The errors that explain a refusal in words. Looked up only once one was raised."""
    from gpu_studio.common.practice import PracticeError
    from gpu_studio.hardware.source import SimulationError
    from gpu_studio.plan import PlanError
    from gpu_studio.runs.catalogue import LiveRunError, UnknownRunError
    from gpu_studio.runs.queue import QueueError
    from gpu_studio.runs.resume import ResumeError

    return (
        RefusedError,
        SimulationError,
        PracticeError,
        PlanError,
        LiveRunError,
        UnknownRunError,
        ResumeError,
        QueueError,
    )


def _in_words(error: OSError) -> str:
    if error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _reader_has_gone() -> int:
    # Python would flush the pipe once more at its end, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK
