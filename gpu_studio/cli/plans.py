"""`check` and `starter`: work with plans without training."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.arguments import (
    Commands,
    add_command,
    add_force,
    add_json,
    add_machine,
    add_plan,
    add_set,
)
from gpu_studio.cli.output import note, refuse_to_replace, say, say_json

if TYPE_CHECKING:
    from gpu_studio import plan as plans

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
    from gpu_studio.cli.given_plan import described_machine, every_problem, this_machine

    machine = described_machine(chosen.machine) if chosen.machine else this_machine()
    try:
        plan = plans.with_settings(plans.load(chosen.plan), chosen.settings)
        problems: Iterable[plans.Problem] = every_problem(
            plan, chosen.plan.absolute().parent, machine
        )
    except plans.PlanError as error:
        plan, problems = plans.Plan(), error.problems
    if problems:
        return _refuse(chosen, tuple(problems))
    if chosen.json:
        say_json(_seen(plan, machine) | {"problems": []})
    else:
        _say_seen(plan, machine)
    return exit_codes.OK


def starter(chosen: argparse.Namespace) -> int:
    """Write the starter plan of this machine to stdout or a file."""
    import tomllib

    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import this_machine
    from gpu_studio.common.output_files import write_output

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
    return exit_codes.OK


def _refuse(chosen: argparse.Namespace, problems: tuple[plans.Problem, ...]) -> int:
    from gpu_studio import plan as plans

    if chosen.json:
        found = [
            {"field": one.field, "received": one.received, "advice": one.advice} for one in problems
        ]
        say_json({"plan": str(chosen.plan), "problems": found})
    else:
        note(f"gpu-studio: {plans.PlanError(problems, str(chosen.plan))}")
    return exit_codes.REFUSED


def _seen(plan: plans.Plan, machine: plans.Machine) -> dict[str, Any]:
    from gpu_studio import plan as plans

    devices = plans.logical_devices(plan, machine)
    return {
        "plan": plan.name,
        "strategy": plan.distribution.strategy,
        "devices": [
            {"name": device.name, "physical": device.physical, "limit_mib": device.limit_mib}
            for device in devices
        ],
        "replicas": list(plans.replicas(plan, machine)),
    }


def _say_seen(plan: plans.Plan, machine: plans.Machine) -> None:
    from gpu_studio import plan as plans
    from gpu_studio.common.figures import MIB, size
    from gpu_studio.plan.strategies import strategy_of

    replicas = plans.replicas(plan, machine)
    what = "layers" if strategy_of(plan).places_layers else "a replica"
    say(f"{plan.name}: this plan can be run. TensorFlow will see")
    for device in plans.logical_devices(plan, machine):
        limit = "no memory limit" if device.limit_mib is None else size(device.limit_mib * MIB)
        replica = f"  holds {what}" if device.name in replicas else ""
        say(f"  {device.name:<7} on {machine.title(device.physical):<7} {limit:>15}{replica}")
    if not machine.cards and machine.why_no_cards:
        say(f"No card: {machine.why_no_cards}")
