"""`check`, `starter` and `export`: work with plans without training.

`export` writes a plan as a script in plain TensorFlow and Keras.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_studio.cli.command import (
    OK,
    REFUSED,
    Commands,
    RefusedError,
    add_command,
    add_force,
    add_json,
    add_machine,
    add_plan,
    add_set,
    note,
    refuse_to_replace,
    say,
    say_json,
)

if TYPE_CHECKING:
    from gpu_studio import plan as plans
    from gpu_studio.placement.plan_facts import PlanFacts
    from gpu_studio.plan.card_memory import AvailableMemory

_CHECK = """examples:
  gpu-studio check digits.plan.toml
  gpu-studio check digits.plan.toml --set distribution.strategy=mirrored
  gpu-studio check digits.plan.toml --machine cluster-node.json --json"""
_STARTER = """examples:
  gpu-studio starter
  gpu-studio starter --output digits.plan.toml"""


def register(commands: Commands) -> None:
    """Add both commands."""
    parser = add_command(
        commands,
        "check",
        "say whether a plan can be run, and what TensorFlow will see",
        _CHECK,
        check,
    )
    add_plan(parser)
    add_set(parser)
    add_machine(parser, "hold the plan against the machine described in FILE")
    add_json(parser)
    parser = add_command(
        commands, "starter", "write a plan made for this machine, ready to train", _STARTER, starter
    )
    parser.add_argument(
        "--output", "-o", metavar="FILE", type=Path, help="the file to write, instead of stdout"
    )
    add_force(parser, "FILE if it is there")
    add_json(parser)


def check(chosen: argparse.Namespace) -> int:
    """Say whether a plan can be run on a machine, and what TensorFlow will see there."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import (
        described_machine,
        every_problem,
        predicted_bytes,
        this_machine,
    )
    from gpu_studio.runs.queue_choice import needs_of, waits_now

    machine = described_machine(chosen.machine) if chosen.machine else this_machine(users=True)
    try:
        plan = plans.with_settings(plans.load(chosen.plan), chosen.settings)
        absolute = plans.with_absolute_files(plan, chosen.plan.parent)
        problems: Iterable[plans.Problem] = every_problem(plan, absolute, machine)
    except plans.PlanError as error:
        plan, problems = plans.Plan(), error.problems
    if problems:
        return _refuse(chosen, tuple(problems))
    waits = waits_now(needs_of(plan, machine, predicted_bytes(absolute, machine)), machine)
    if chosen.json:
        say_json(_seen(plan, machine) | {"problems": [], "waits": waits})
    else:
        _say_seen(plan, machine)
        if waits:
            note(f"Not now: it {waits}")
    return OK


def starter(chosen: argparse.Namespace) -> int:
    """Write the starter plan of this machine to stdout or a file."""
    import tomllib

    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import this_machine
    from gpu_studio.common.safe_files import write_output

    text = plans.dumps(plans.starter(this_machine(users=True)))
    if chosen.output:
        refuse_to_replace([chosen.output], force=chosen.force)
        write_output(chosen.output, [text.encode()])
    if chosen.json:
        say_json(tomllib.loads(text))
    elif chosen.output:
        note(f"{chosen.output}: written. Train it with: gpu-studio train {chosen.output}")
    else:
        say(text.rstrip("\n"))
    return OK


def _refuse(chosen: argparse.Namespace, problems: tuple[plans.Problem, ...]) -> int:
    from gpu_studio import plan as plans

    if chosen.json:
        found = [
            {"field": one.field, "received": one.received, "advice": one.advice} for one in problems
        ]
        say_json({"plan": str(chosen.plan), "problems": found})
    else:
        note(f"gpu-studio: {plans.PlanError(problems, str(chosen.plan))}")
    return REFUSED


def _seen(plan: plans.Plan, machine: plans.Machine) -> dict[str, Any]:
    from gpu_studio import plan as plans
    from gpu_studio.plan.card_memory import available_memory

    devices = plans.logical_devices(plan, machine)
    available = available_memory(devices, machine)
    return {
        "plan": plan.name,
        "strategy": plan.distribution.strategy,
        "devices": [
            {
                "name": device.name,
                "physical": device.physical,
                "limit_mib": device.limit_mib,
                "available_mib": available[device.name].mib,
            }
            for device in devices
        ],
        "replicas": list(plans.replicas(plan, machine)),
    }


def _say_seen(plan: plans.Plan, machine: plans.Machine) -> None:
    from gpu_studio import plan as plans
    from gpu_studio.plan import strategy_of
    from gpu_studio.plan.card_memory import available_memory

    replicas, devices = plans.replicas(plan, machine), plans.logical_devices(plan, machine)
    available = available_memory(devices, machine)
    what = "layers" if strategy_of(plan).places_layers else "a replica"
    say(f"{plan.name}: this plan can be run. TensorFlow will see")
    for device in devices:
        limit = _limit_in_words(device, available[device.name])
        replica = f"  holds {what}" if device.name in replicas else ""
        say(f"  {device.name:<7} on {machine.title(device.physical):<7} {limit:>15}{replica}")
    if not machine.cards and machine.why_no_cards:
        say(f"No card: {machine.why_no_cards}")


def _limit_in_words(device: plans.PlannedDevice, available: AvailableMemory) -> str:
    """A slice's limit, or what TensorFlow would take of a card without slices now."""
    from gpu_studio.common.figures import MIB, size

    if device.limit_mib is not None:
        return size(device.limit_mib * MIB)
    return "no memory limit" if available.mib is None else f"up to {size(available.mib * MIB)}"


_EXPORT_SUMMARY = (
    "write a plan as a script in plain TensorFlow and Keras, which "
    "trains the same without GPU Studio"
)
_EXPORT = """examples:
  gpu-studio export digits.plan.toml
  gpu-studio export digits.plan.toml --to train.py
  gpu-studio export digits.plan.toml --to train.py --set training.epochs=50 --force"""


def register_export(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "export", _EXPORT_SUMMARY, _EXPORT, export)
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

    written = plans.with_settings(plans.load(chosen.plan), chosen.settings)
    plan = plans.with_absolute_files(written, chosen.plan.parent)
    machine = described_machine(chosen.machine) if chosen.machine else None
    found = problems_of(written, plan, machine)
    # Where code may not run, the script is written without a look at what it makes.
    refused = [problem for problem in found if isinstance(problem, ConsentProblem)]
    if problems := [problem for problem in found if problem not in refused]:
        raise plans.PlanError(problems, str(chosen.plan))
    script = _script(written, plan, chosen, may_look=not refused)
    if chosen.to is None:
        say(script.rstrip("\n"))
        _tell_what_else_it_reads(files_beside(written), chosen.plan)
    else:
        _write_script(chosen.to, script, files_beside(written), chosen)
    return OK


def _script(
    written: plans.Plan, plan: plans.AbsolutePlan, chosen: argparse.Namespace, *, may_look: bool
) -> str:
    from gpu_studio.cli.given_plan import described_machine, this_machine
    from gpu_studio.export import ExportError, UnseenError, python_script

    machine = described_machine(chosen.machine) if chosen.machine else this_machine()
    base = chosen.plan.absolute().parent
    known = _known(plan)
    if known.model is None and plan.model.python is not None and may_look:
        known = _looked_at(plan, "how the model was compiled", of_model=True)
    seen = known.data
    if seen is None and plan.data.python is not None:
        seen = _looked_at(plan, f"what {written.data.python} returns", of_model=False).data
    try:
        try:
            return python_script(written, machine, base, seen, known.model)
        except UnseenError:
            looked = _looked_at(plan, "what is learnt", of_model=plan.model.name is None)
            return python_script(written, machine, base, looked.data, looked.model)
    except ExportError as error:
        raise RefusedError(str(error)) from error


def _known(plan: plans.AbsolutePlan) -> PlanFacts:
    """Return what was learnt of the data and the model when they were last looked at."""
    from gpu_studio.placement.plan_facts import PlanFacts, decoded
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.plan_question import kept_about

    try:
        kept = kept_about(plan)
    except AskError:
        kept = None
    return decoded(kept) if kept else PlanFacts()


def _looked_at(plan: plans.AbsolutePlan, what: str, *, of_model: bool) -> PlanFacts:
    """Look at the data, and at the model for them; functions are called if that is allowed."""
    from gpu_studio.placement.plan_facts import decoded
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.plan_question import ask_about, ask_about_data

    look = ask_about if of_model else ask_about_data
    try:
        facts = decoded(look(plan, progress=lambda text: note(f"{text}…")))
    except AskError as error:
        raise RefusedError(f"A script depends on {what}. {error}") from error
    if problem := facts.data_error or facts.model_error:
        advice = facts.advice or (facts.model.advice if facts.model else ())
        raise RefusedError(" ".join((problem, *advice)))
    return facts


def _write_script(
    target: Path, script: str, beside: dict[str, Path], chosen: argparse.Namespace
) -> None:
    from gpu_studio.common.safe_files import is_stream, write_output

    if is_stream(target):
        write_output(target, [script.encode()])
        _tell_what_else_it_reads(beside, chosen.plan)
        return
    contents = {target: script.encode()}
    contents |= {target.parent / name: source.read_bytes() for name, source in beside.items()}
    new = {path: content for path, content in contents.items() if not _holds_already(path, content)}
    refuse_to_replace(new, force=chosen.force)
    for path, content in new.items():
        write_output(path, [content])
    note(f"{target}: written. Run it with: python {target}")


def _holds_already(path: Path, content: bytes) -> bool:
    from gpu_studio.common.safe_files import read_regular

    if not path.is_file() or path.stat().st_size != len(content):
        return False
    return read_regular(path, len(content), follow=True) == content


def _tell_what_else_it_reads(beside: dict[str, Path], plan: Path) -> None:
    for name in beside:
        note(
            f"On another machine the script needs {name}: `gpu-studio export "
            f"{plan} --to FILE.py` writes it too."
        )
