"""`export`: a plan as a script in plain TensorFlow and Keras."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_studio.cli import exit_codes
from gpu_studio.cli.arguments import (
    Commands,
    add_command,
    add_force,
    add_machine,
    add_plan,
    add_set,
)
from gpu_studio.cli.output import RefusedError, note, refuse_to_replace, say

if TYPE_CHECKING:
    from gpu_studio import plan as plans
    from gpu_studio.placement.data_facts import DataFacts

_SUMMARY = (
    "write a plan as a script in plain TensorFlow and Keras, which "
    "trains the same without GPU Studio"
)
_EXAMPLES = """examples:
  gpu-studio export digits.plan.toml
  gpu-studio export digits.plan.toml --to train.py
  gpu-studio export digits.plan.toml --to train.py --set training.epochs=50 --force"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "export", _SUMMARY, _EXAMPLES, export)
    add_plan(parser)
    parser.add_argument(
        "--to",
        metavar="FILE.py",
        type=Path,
        help="the script to write, with what it reads beside it (default: stdout)",
    )
    add_force(parser, "FILE.py if it is there")
    add_set(parser)
    add_machine(parser, "write for the machine described in FILE")


def export(chosen: argparse.Namespace) -> int:
    """Write the script of a plan to stdout or a file, and beside the file what the script reads."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import described_machine
    from gpu_studio.export import files_beside
    from gpu_studio.runs.launch import problems_of
    from gpu_studio.runs.sources import ConsentProblem

    plan = plans.with_settings(plans.load(chosen.plan), chosen.settings)
    base = chosen.plan.absolute().parent
    found = problems_of(plan, base, described_machine(chosen.machine) if chosen.machine else None)
    # A model's code is not run here, allowed or not: the script is text.
    if problems := [problem for problem in found if not isinstance(problem, ConsentProblem)]:
        raise plans.PlanError(problems, str(chosen.plan))
    script = _script(plan, chosen.machine, base)
    if chosen.to is None:
        say(script.rstrip("\n"))
        _tell_what_else_it_reads(files_beside(plan), chosen.plan)
    else:
        _write(chosen.to, script, files_beside(plan), chosen)
    return exit_codes.OK


def _script(plan: plans.Plan, described: Path | None, base: Path) -> str:
    from gpu_studio.cli.given_plan import described_machine, this_machine
    from gpu_studio.export import ExportError, python_script

    machine = described_machine(described) if described else this_machine()
    try:
        return python_script(
            plan, machine, base, _seen(plan, base) if plan.data.python is not None else None
        )
    except ExportError as error:
        raise RefusedError(str(error)) from error


def _seen(plan: plans.Plan, base: Path) -> DataFacts | None:
    """What the function returns that the data come from.

    It is called, if its user has allowed it.
    """
    from gpu_studio.placement.plan_facts import decoded
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.plan_question import ask_about_data

    try:
        facts = decoded(ask_about_data(plan, base, progress=lambda text: note(f"{text}…")))
    except AskError as error:
        raise RefusedError(
            f"A script depends on what {plan.data.python} returns. {error}"
        ) from error
    if facts.data_error:
        raise RefusedError(" ".join((facts.data_error, *facts.advice)))
    return facts.data


def _write(target: Path, script: str, beside: dict[str, Path], chosen: argparse.Namespace) -> None:
    from gpu_studio.common.output_files import is_stream, write_output

    if is_stream(target):
        write_output(target, [script.encode()])
        _tell_what_else_it_reads(beside, chosen.plan)
        return
    contents = {target: script.encode()}
    contents |= {target.parent / name: source.read_bytes() for name, source in beside.items()}
    new = {path: content for path, content in contents.items() if not _holds(path, content)}
    refuse_to_replace(new, force=chosen.force)
    for path, content in new.items():
        write_output(path, [content])
    note(f"{target}: written. Run it with: python {target}")


def _holds(path: Path, content: bytes) -> bool:
    from gpu_studio.common.regular_files import read_regular

    if not path.is_file() or path.stat().st_size != len(content):
        return False
    return read_regular(path, len(content), follow=True) == content


def _tell_what_else_it_reads(beside: dict[str, Path], plan: Path) -> None:
    for name in beside:
        note(
            f"On another machine the script needs {name}: `gpu-studio export "
            f"{plan} --to FILE.py` writes it too."
        )
