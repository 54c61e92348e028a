"""`check` and `starter`: work with plans without training."""

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
    add_fit,
    add_force,
    add_json,
    add_machine,
    add_plan,
    add_set,
    note,
    refuse_to_replace,
    say,
    say_json,
    typed,
)

if TYPE_CHECKING:
    from gpu_studio import plan as plans
    from gpu_studio.plan.card_memory import AvailableMemory

_CHECK = """examples:
  gpu-studio check digits.plan.toml
  gpu-studio check digits.plan.toml --set distribution.strategy=mirrored
  gpu-studio check digits.plan.toml --machine cluster-node.json --json"""
_STARTER = """examples:
  gpu-studio starter
  gpu-studio starter --output digits.plan.toml
  gpu-studio starter train.py --output train.plan.toml"""


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
        "script",
        metavar="SCRIPT",
        nargs="?",
        type=Path,
        help="a Python script that calls a model's fit: the plan trains that",
    )
    add_fit(parser)
    parser.add_argument(
        "--output",
        "-o",
        "--to",
        metavar="FILE",
        type=Path,
        help="the file to write, instead of stdout",
    )
    add_force(parser, "FILE if it is there")
    add_json(parser)


def check(chosen: argparse.Namespace) -> int:
    """Say whether a plan can be run on a machine, and what TensorFlow will see there."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import (
        described_machine,
        every_problem,
        odd_things,
        predicted,
        this_machine,
    )
    from gpu_studio.runs.queue_choice import needs_of, waits_now

    machine = described_machine(chosen.machine) if chosen.machine else this_machine(users=True)
    try:
        plan = plans.with_settings(plans.load(chosen.plan, chosen.fit), chosen.settings)
        absolute = plans.with_absolute_files(plan, chosen.plan.parent)
        problems: Iterable[plans.Problem] = every_problem(plan, absolute, machine)
    except plans.PlanError as error:
        plan, problems = plans.Plan(), error.problems
    if problems:
        return _refuse(chosen, tuple(problems))
    waits = waits_now(needs_of(plan, machine, predicted(absolute, machine).bytes), machine)
    odd = odd_things(plan, absolute)
    if chosen.json:
        said = {"problems": [], "waits": waits, **({"cautions": odd} if odd else {})}
        say_json(_seen(plan, machine) | said)
    else:
        _say_seen(plan, machine)
        for each in odd:
            note(each)
        if waits:
            note(f"Not now: it {waits}")
    return OK


def starter(chosen: argparse.Namespace) -> int:
    """Write the starter plan of this machine, or of a script on it, to stdout or a file."""
    import tomllib

    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import this_machine

    plan = plans.starter(this_machine(users=True))
    if chosen.script:
        plan = _of_script(plan, chosen.script, chosen.fit, (chosen.output or Path("plan")).parent)
    text = plans.dumps(plan)
    if chosen.output:
        refuse_to_replace([chosen.output], force=chosen.force)
        plans.save(plan, chosen.output, text)
    if chosen.json:
        say_json(tomllib.loads(text))
    elif chosen.output:
        note(f"{chosen.output}: written. Train it with: {typed('train', chosen.output)}")
    else:
        say(text.rstrip("\n"))
    return OK


def _of_script(starter: plans.Plan, script: Path, fit: int, folder: Path) -> plans.Plan:
    """The plan in `folder` that trains the script on what the starter plan has."""
    from gpu_studio import plan as plans
    from gpu_studio.plan.edits.sources import relative_path, with_script
    from gpu_studio.plan.local_modules import read_code
    from gpu_studio.plan.script_calls import call_at

    plans.load(script)  # which says what is wrong with it
    call = call_at(script, read_code(script), fit)
    if call is None:
        raise RefusedError(f"{script} is a plan, and no Python script that calls fit")
    return with_script(starter, relative_path(script, folder), call)


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
