"""Arguments shared by several commands, and the meaning of parsed ones.

Each command file registers its own parser. All of them are imported before any argument is parsed,
so their top-level imports are limited to this module; a command imports the rest when it runs.
Shared options are added by functions and not by argparse's `parents`, which would list them before
a command's own in its help.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from gpu_studio.contract.directory import RunDirectory

# argparse has no public name for what `add_subparsers` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
Handler: TypeAlias = Callable[[argparse.Namespace], int]
"""What does a command: it takes the parsed arguments and returns the exit code."""

RUN_HELP: Final = (
    "the run: its number (7), its id, the beginning or any other part of it that no other run has, "
    "the path of its folder, or: latest"
)


def make(
    factory: Any, name: str, description: str, epilog: str, **options: Any
) -> argparse.ArgumentParser:
    """Make a parser whose help shows `epilog` as it is written."""
    parser: argparse.ArgumentParser = factory(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **options,
    )
    return parser


def add_command(
    commands: Commands,
    name: str,
    summary: str,
    epilog: str,
    handler: Handler | None = None,
    **defaults: Any,
) -> argparse.ArgumentParser:
    """Add a command that `handler` does. `defaults` are further values of its parsed arguments."""
    parser = make(
        commands.add_parser, name, summary[0].upper() + summary[1:] + ".", epilog, help=summary
    )
    parser.set_defaults(handler=handler, **defaults)
    # Without a default of its own, it does not undo a --runs-dir before the command.
    add_runs_dir(parser, argparse.SUPPRESS)
    return parser


def add_group(commands: Commands, name: str, summary: str, epilog: str) -> Commands:
    """Add a command that does nothing without one of its actions, which the caller adds to what is
    returned.
    """
    parser = add_command(commands, name, summary, epilog)
    return parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)


def add_runs_dir(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add --runs-dir."""
    parser.add_argument(
        "--runs-dir",
        metavar="DIR",
        type=Path,
        default=default,
        help="where runs are kept (default: $GPU_STUDIO_RUNS_DIR, else the user's data directory)",
    )


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the plan file."""
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan file")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run that a command is about."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the runs that a command is about, one or more."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help=RUN_HELP)


def add_machine(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --machine; `what` says what is done with the machine it describes."""
    help_ = f"{what}, as `python -m gpu_studio.hardware` writes it, instead of this one"
    parser.add_argument("--machine", metavar="FILE", type=Path, help=help_)


def add_json(
    parser: argparse.ArgumentParser, help_: str = "write JSON for programs to read"
) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=help_)


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add --set."""
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        dest="settings",
        help="change the plan, such as training.epochs=1; can be given many times",
    )


def add_allowing(parser: argparse.ArgumentParser) -> None:
    """Add --allow-code."""
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="allow the Python files that the plan names to run, as they are now",
    )


def add_force(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --force, which replaces `what`."""
    parser.add_argument("--force", action="store_true", help=f"replace {what}")


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add --simulate for the help only: `take_simulation` has already taken it."""
    parser.add_argument(
        "--simulate",
        metavar="CARDS",
        help="show cards that are not there: H100, A100, RTX4090, L4 or MIG, with a number before it (8xH100); "
        "broken; or a file made with `devices --record`",
    )


def take_simulation(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the machine to simulate, if any, and the arguments without it."""
    parser = argparse.ArgumentParser("gpu-studio", add_help=False, allow_abbrev=False)
    add_simulate(parser)
    chosen, rest = parser.parse_known_args(list(arguments))
    return chosen.simulate, rest


def add_seconds(parser: argparse.ArgumentParser, name: str, **options: Any) -> None:
    """Add an option that takes a number of seconds."""
    parser.add_argument(name, type=_seconds, **options)


def runs_folder(chosen: argparse.Namespace) -> Path:
    """The directory of all runs, as an absolute path."""
    from gpu_studio.runs.paths import runs_dir

    return runs_dir(chosen.runs_dir)


def named_run(chosen: argparse.Namespace, *, elsewhere: bool = False) -> RunDirectory:
    """The named run; one kept `elsewhere` may be named by its path. Raises UnknownRunError."""
    from gpu_studio.runs.finding import find

    return find(runs_folder(chosen), chosen.run, elsewhere=elsewhere)


def named_runs(chosen: argparse.Namespace, *, elsewhere: bool = False) -> list[RunDirectory]:
    """The runs that are named, in that order, also one that is named twice.

    Raises UnknownRunError.
    """
    from gpu_studio.runs.finding import find

    return [find(runs_folder(chosen), name, elsewhere=elsewhere) for name in chosen.runs]


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds: give 0 or more")
    return value
