"""The arguments of every command, with help and examples."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from gpu_studio import __version__
from gpu_studio.cli.code import code_arguments
from gpu_studio.cli.devices import devices_arguments, doctor_arguments
from gpu_studio.cli.exit_codes import EXPLAINED
from gpu_studio.cli.placing import model_arguments, place_arguments
from gpu_studio.cli.queue import queue_arguments
from gpu_studio.cli.runs import checkpoint_arguments, compare_arguments, label_arguments, placement_arguments
from gpu_studio.cli.train import resume_arguments, train_arguments

# Command: the module under gpu_studio.cli, and the function there that takes the parsed arguments.
COMMANDS: Final = {
    "check": ("plan_commands", "check"),
    "starter": ("plan_commands", "starter"),
    "export": ("export_command", "export"),
    "model": ("placing.model_command", "model"),
    "place": ("placing.place_command", "place"),
    "train": ("train.train_commands", "train"),
    "resume": ("train.train_commands", "resume"),
    "runs": ("runs.runs_commands", "runs"),
    "queue": ("queue.queue_commands", "queue"),
    "code": ("code.code_commands", "code"),
    "devices": ("devices.devices_commands", "devices"),
    "doctor": ("devices.doctor_command", "doctor"),
}

_RUN_HELP = (
    "the run: its number (7), its id, the beginning or any other part of it that no other run has, "
    "the path of its folder, or: latest"
)
_MOST_LINES: Final = 1_000_000_000
_JSON_HELP = "write JSON for programs to read"

_OVERVIEW = """Carve GPUs, place training on them, and watch it run.

Without a command the window opens; with the path of a plan file, it opens on that plan."""

_EXAMPLES = (
    """examples:
  gpu-studio                            open the window
  gpu-studio digits.plan.toml           open the window on a plan
  gpu-studio train                      train the starter plan made for this machine
  gpu-studio train digits.plan.toml --set training.epochs=1
  gpu-studio export digits.plan.toml --to train.py
  gpu-studio runs list                  what has been trained, what is training
  gpu-studio runs attach latest         watch a run again
  gpu-studio devices --watch            the cards, and who uses them
  gpu-studio --simulate 8xH100          the window, on cards that are not there
  gpu-studio doctor                     see why TensorFlow does not use a card

"""
    + EXPLAINED
)

_WINDOW_EXAMPLES = """examples:
  gpu-studio-window
  gpu-studio-window digits.plan.toml
  gpu-studio-window --simulate 8xH100"""


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    parser = _parser(argparse.ArgumentParser, "gpu-studio", _OVERVIEW, _EXAMPLES)
    parser.add_argument("--version", action="version", version=f"gpu-studio {__version__}")
    _add_runs_dir(parser, None)
    devices_arguments.add_simulate(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_check(commands)
    _add_starter(commands)
    _add_export(commands)
    _add_model(commands)
    _add_place(commands)
    _add_train(commands)
    _add_resume(commands)
    _add_runs(commands)
    queue_arguments.add_queue(commands, _command, _add_set, _add_json)
    code_arguments.add_code(commands, _command, _add_json)
    devices = _command(commands, "devices", "show the cards, and who uses them", devices_arguments.EXAMPLES)
    devices_arguments.add_devices(devices, _seconds)
    _add_doctor(commands)
    return parser


def make_window_parser() -> argparse.ArgumentParser:
    """Make the parser of `gpu-studio-window`, which opens the window and does nothing else."""
    parser = _parser(argparse.ArgumentParser, "gpu-studio-window", "Open the window.", _WINDOW_EXAMPLES)
    parser.add_argument("--version", action="version", version=f"gpu-studio {__version__}")
    _add_runs_dir(parser, None)
    devices_arguments.add_simulate(parser)
    parser.add_argument("plan", metavar="PLAN", nargs="?", type=Path, help="the plan file to open")
    return parser


def plan_to_open(arguments: Sequence[str]) -> tuple[Path | None, Path] | None:
    """Return the runs directory and the plan file if the arguments are just a plan to open in the window."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    _add_runs_dir(parser, None)
    try:
        chosen, rest = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError:
        return None
    if len(rest) != 1 or rest[0].startswith("-") or rest[0] in COMMANDS:
        return None
    path = Path(rest[0])
    return (chosen.runs_dir, path) if path.suffix == ".toml" or path.is_file() else None


def _add_check(commands: Any) -> None:
    parser = _command(commands, "check", "say whether a plan can be run, and what TensorFlow will see", """examples:
  gpu-studio check digits.plan.toml
  gpu-studio check digits.plan.toml --set distribution.strategy=mirrored
  gpu-studio check digits.plan.toml --machine cluster-node.json --json""")  # fmt: skip
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan file")
    _add_set(parser)
    _add_machine(parser, "hold the plan against the machine described in FILE")
    _add_json(parser)


def _add_starter(commands: Any) -> None:
    parser = _command(commands, "starter", "write a plan made for this machine, ready to train", """examples:
  gpu-studio starter
  gpu-studio starter --output digits.plan.toml""")  # fmt: skip
    parser.add_argument("--output", "-o", metavar="FILE", type=Path, help="the file to write, instead of stdout")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    _add_json(parser)


def _add_export(commands: Any) -> None:
    summary = "write a plan as a script in plain TensorFlow and Keras, which trains the same without GPU Studio"
    parser = _command(commands, "export", summary, """examples:
  gpu-studio export digits.plan.toml
  gpu-studio export digits.plan.toml --to train.py
  gpu-studio export digits.plan.toml --to train.py --set training.epochs=50 --force""")  # fmt: skip
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan file")
    parser.add_argument(
        "--to", metavar="FILE.py", type=Path, help="the script to write, with what it reads beside it (default: stdout)"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE.py if it is there")
    _add_set(parser)
    _add_machine(parser, "write for the machine described in FILE")


def _add_model(commands: Any) -> None:
    parser = _command(commands, "model", model_arguments.SUMMARY, model_arguments.EXAMPLES)
    model_arguments.add_model(parser)
    _add_set(parser)
    _add_machine(parser, "hold the memory against the machine described in FILE")
    _add_json(parser)


def _add_place(commands: Any) -> None:
    parser = _command(commands, "place", place_arguments.SUMMARY, place_arguments.EXAMPLES)
    place_arguments.add_place(parser)
    _add_set(parser)
    _add_machine(parser, "place for the machine described in FILE, by FLOPs")
    _add_json(parser)


def _add_train(commands: Any) -> None:
    parser = _command(commands, "train", train_arguments.SUMMARY, train_arguments.EXAMPLES)
    parser.add_argument(
        "plan", metavar="PLAN", nargs="?", default="starter", help="the plan file; without it, the starter plan"
    )
    _add_set(parser)
    parser.add_argument("--name", help="another name for the plan")
    _add_following(parser)


def _add_resume(commands: Any) -> None:
    parser = _command(commands, "resume", resume_arguments.SUMMARY, resume_arguments.EXAMPLES)
    parser.add_argument("run", metavar="RUN", help=_RUN_HELP)
    _add_resume_options(parser)


def _add_runs(commands: Any) -> None:
    parser = _command(commands, "runs", "list runs, and act on them", """examples:
  gpu-studio runs list
  gpu-studio runs show latest
  gpu-studio runs stop latest --now""")  # fmt: skip
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    compare_arguments.add_actions(actions, _command, _add_json, _RUN_HELP)
    label_arguments.add_actions(actions, _command, _add_json, _RUN_HELP)
    for name, summary in _RUN_ACTIONS.items():
        example = f"example:\n  gpu-studio runs {name} latest{_RUN_EXAMPLES.get(name, '')}"
        action = _command(actions, name, summary, example)
        action.add_argument("run", metavar="RUN", help=_RUN_HELP)
        _ADD_OPTIONS.get(name, _add_json)(action)


def _add_doctor(commands: Any) -> None:
    parser = _command(commands, "doctor", doctor_arguments.SUMMARY, doctor_arguments.EXAMPLES)
    parser.add_argument("--fresh", action="store_true", help="ask TensorFlow again, even if nothing has changed")
    _add_json(parser)


def _add_stop_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", help="without a checkpoint")
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=_seconds,
        default=30.0,
        help="wait so long before the trainer gets SIGTERM, and 10 seconds more before SIGKILL (default: 30)",
    )
    _add_json(parser)


def _add_resume_options(parser: argparse.ArgumentParser) -> None:
    resume_arguments.add_resuming(parser)
    _add_set(parser)
    _add_following(parser)


def _add_log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tail", metavar="LINES", type=_count, help="only the last LINES lines")


_RUN_ACTIONS: Final = {
    "show": "show all that is known of a run, and why it ended",
    "attach": "watch a run to its end; Ctrl+C leaves it running",
    "pause": "hold a run; its memory stays in use",
    "resume": "let a paused run go on; with changes, one that has ended, as a new run",
    "stop": "stop a run, with a checkpoint",
    "checkpoint": "have a run write a checkpoint now",
    **checkpoint_arguments.ACTIONS,
    **placement_arguments.ACTIONS,
    "delete": "delete a run that has ended; `runs restore` takes it back for an hour",
    "restore": "take a deleted run back",
    "log": "print what the trainer process wrote to stdout and stderr",
}
_RUN_EXAMPLES: Final = {**checkpoint_arguments.EXAMPLES, **placement_arguments.EXAMPLES}
_ADD_OPTIONS: Final = {
    "resume": _add_resume_options,
    "stop": _add_stop_options,
    "log": _add_log_options,
    **checkpoint_arguments.OPTIONS,
}


def _parser(make: Any, name: str, description: str, epilog: str, **options: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = make(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **options,
    )
    return parser


def _command(commands: Any, name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
    parser = _parser(commands.add_parser, name, summary[0].upper() + summary[1:] + ".", epilog, help=summary)
    # Without a default of its own, it does not undo a --runs-dir before the command.
    _add_runs_dir(parser, argparse.SUPPRESS)
    return parser


def _add_runs_dir(parser: argparse.ArgumentParser, default: Any) -> None:
    parser.add_argument(
        "--runs-dir",
        metavar="DIR",
        type=Path,
        default=default,
        help="where runs are kept (default: $GPU_STUDIO_RUNS_DIR, else the user's data directory)",
    )


def _add_machine(parser: argparse.ArgumentParser, what: str) -> None:
    help_ = f"{what}, as `python -m gpu_studio.hardware` writes it, instead of this one"
    parser.add_argument("--machine", metavar="FILE", type=Path, help=help_)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_JSON_HELP)


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        dest="settings",
        help="change the plan, such as training.epochs=1; can be given many times",
    )


def _add_following(parser: argparse.ArgumentParser) -> None:
    code_arguments.add_allowing(parser)
    parser.add_argument("--detach", action="store_true", help="return at once, and leave the run training")
    parser.add_argument("--json", action="store_true", help="write the run's events, one JSON document a line")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds: give 0 or more")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= _MOST_LINES:
        raise argparse.ArgumentTypeError(f"{text} is no number of lines: give 0 to {_MOST_LINES}")
    return value
