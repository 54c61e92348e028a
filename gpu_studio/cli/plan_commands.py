"""`check` and `starter`: plans without training."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.cli import exit_codes
from gpu_studio.cli.machine import described_machine, this_machine
from gpu_studio.cli.output import note, say, say_json
from gpu_studio.cli.placing.known import every_problem
from gpu_studio.cli.replacing import refuse_to_replace
from gpu_studio.output_files import write_output


def check(chosen: argparse.Namespace) -> int:
    """Say whether a plan can be run on a machine, and what TensorFlow will see there."""
    machine = described_machine(chosen.machine) if chosen.machine else this_machine()
    try:
        plan = plans.with_settings(plans.load(chosen.plan), chosen.settings)
        problems: Iterable[plans.Problem] = every_problem(plan, chosen.plan.absolute().parent, machine)
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
    if chosen.json:
        found = [{"field": one.field, "received": one.received, "advice": one.advice} for one in problems]
        say_json({"plan": str(chosen.plan), "problems": found})
    else:
        note(f"gpu-studio: {plans.PlanError(problems, str(chosen.plan))}")
    return exit_codes.REFUSED


def _seen(plan: plans.Plan, machine: plans.Machine) -> dict[str, Any]:
    devices = plans.logical_devices(plan, machine)
    return {
        "plan": plan.name,
        "strategy": plan.distribution.strategy,
        "devices": [
            {"name": device.name, "physical": device.physical, "limit_mib": device.limit_mib} for device in devices
        ],
        "replicas": list(plans.replicas(plan, machine)),
    }


def _say_seen(plan: plans.Plan, machine: plans.Machine) -> None:
    replicas = plans.replicas(plan, machine)
    what = "layers" if plan.distribution.strategy == "placed" else "a replica"
    say(f"{plan.name}: this plan can be run. TensorFlow will see")
    for device in plans.logical_devices(plan, machine):
        limit = "no memory limit" if device.limit_mib is None else f"{device.limit_mib:,} MiB"
        replica = f"  holds {what}" if device.name in replicas else ""
        say(f"  {device.name:<7} on {machine.title(device.physical):<7} {limit:>15}{replica}")
    if not machine.cards and machine.why_no_cards:
        say(f"No card: {machine.why_no_cards}")
