"""`cluster examine`: what would keep the workers of a plan from training, before they start."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from gpu_studio.cli.command import (
    FAILED,
    OK,
    Commands,
    RefusedError,
    add_command,
    add_group,
    add_json,
    add_plan,
    add_set,
    note,
    runs_folder,
    say,
    say_json,
)

if TYPE_CHECKING:
    from gpu_studio import plan as plans
    from gpu_studio.hardware.doctor.findings import Finding

_SUMMARY = "look after plans whose runs are several processes"
_EXAMPLES = """\
A plan with strategy = "multi_worker" trains in several processes, which [cluster] describes.

examples:
  gpu-studio cluster examine digits.plan.toml
  gpu-studio cluster examine digits.plan.toml --on-nodes"""
_EXAMINE = """\
TensorFlow waits in silence for a worker that is not there, and for a port that is closed. So these
are looked at first: ports, addresses, versions, memory, cards, room, data and code; with Slurm also
whether the job can ever start. The exit code is 1 if something must be mended.

examples:
  gpu-studio cluster examine digits.plan.toml
  gpu-studio cluster examine digits.plan.toml --set cluster.start=slurm --on-nodes
  gpu-studio cluster examine digits.plan.toml --json"""


def register(commands: Commands) -> None:
    """Add the command and its actions."""
    actions = add_group(commands, "cluster", _SUMMARY, _EXAMPLES)
    parser = add_command(
        actions,
        "examine",
        "say what would keep the workers of a plan from training",
        _EXAMINE,
        examine,
    )
    add_plan(parser)
    parser.add_argument(
        "--on-nodes",
        action="store_true",
        help="with Slurm: a short job looks from each node, and from each to each",
    )
    add_set(parser)
    add_json(parser)


def examine(chosen: argparse.Namespace) -> int:
    """Examine the machines of a plan; return 0 if nothing must be mended, else 1."""
    from gpu_studio import plan as plans
    from gpu_studio.export import writable
    from gpu_studio.hardware.doctor.findings import all_well
    from gpu_studio.plan.strategies import cluster_of

    written = plans.with_settings(plans.load(chosen.plan), chosen.settings)
    plan = plans.with_absolute_files(written, chosen.plan.parent)
    if problems := writable(written, plans.validate(written)):
        raise plans.PlanError(problems, str(chosen.plan))
    if cluster_of(plan) is None:
        raise RefusedError(
            f"{chosen.plan} trains in one process: there is no cluster to examine. For several "
            'workers set distribution.strategy = "multi_worker".'
        )
    findings = _findings(plan, chosen)
    if chosen.json:
        say_json({"well": all_well(findings), "findings": [each.as_json() for each in findings]})
    else:
        _say(findings)
    return OK if all_well(findings) else FAILED


def _findings(plan: plans.AbsolutePlan, chosen: argparse.Namespace) -> list[Finding]:
    from gpu_studio.contract.directory import slug
    from gpu_studio.export.jobs.sbatch import sbatch
    from gpu_studio.hosts.examination import examined, examined_on_nodes, needs_slurm
    from gpu_studio.hosts.slurm import SlurmError

    runs, by_slurm = runs_folder(chosen), needs_slurm(plan)
    if chosen.on_nodes and not by_slurm:
        raise RefusedError('Only Slurm has nodes to look from: set cluster.start = "slurm".')
    found = examined(plan, runs, sbatch(plan, slug(plan.name)) if by_slurm else "")
    if chosen.on_nodes and all(each.state != "bad" for each in found):
        found = [each for each in found if each.check != "folder"]  # the nodes tell whether they do
        try:
            found += examined_on_nodes(plan, runs, lambda text: note(f"… {text}"))
        except SlurmError as error:
            raise RefusedError(f"Slurm did not start the examination: {error}.") from error
    return found


def _say(findings: list[Finding]) -> None:
    from gpu_studio.hardware.doctor.examination import ending, finding_lines

    width = shutil.get_terminal_size((100, 24)).columns
    say("\n".join([*finding_lines(findings, width), "", ending(findings)]))
