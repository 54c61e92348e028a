"""`cluster`: examine the machines of a plan before the start, and train it by a job of Slurm."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpu_studio.cli.command import (
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    OK,
    STOPPED,
    Commands,
    RefusedError,
    add_command,
    add_force,
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
    from gpu_studio.hosts.slurm_jobs import FollowedJob

POLL_S: Final = 1.0
_SUMMARY = "look after plans whose runs are several processes"
_EXAMPLES = """\
A plan with strategy = "multi_worker" trains in several processes, which [cluster] describes.

examples:
  gpu-studio cluster examine digits.plan.toml
  gpu-studio cluster submit digits.plan.toml            a job of Slurm trains it, and is followed
  gpu-studio cluster submit digits.plan.toml --resume   go on from what the last job kept
  gpu-studio cluster stop 4711                          all workers keep their state, and end"""
_EXAMINE = """\
TensorFlow waits in silence for a worker that is not there, and for a port that is closed. So these
are looked at first: ports, addresses, versions, memory, cards, disk, data and code; with Slurm also
whether the job can ever start. The exit code is 1 if something must be mended.

examples:
  gpu-studio cluster examine digits.plan.toml
  gpu-studio cluster examine digits.plan.toml --set cluster.start=slurm --on-nodes
  gpu-studio cluster examine digits.plan.toml --json"""


_SUBMIT = """\
The plan's script goes into a folder of the plan's name below cluster.slurm.folder (or the folder
of runs), which the nodes must see, too; its models and its output stay there. Slurm is examined
first. While the job is followed, Ctrl+C ends the following and not the job.

examples:
  gpu-studio cluster submit digits.plan.toml
  gpu-studio cluster submit digits.plan.toml --detach
  gpu-studio cluster submit digits.plan.toml --resume --set cluster.workers=4

"""


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
    _add_allowing(parser)
    add_set(parser)
    add_json(parser)
    _register_jobs(actions)


def _add_allowing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-shell",
        action="store_true",
        help="let cluster.slurm.setup and cluster.slurm.flags of the plan run, as they are now",
    )


def _refuse_own_shell(plan: plans.Plan, chosen: argparse.Namespace) -> None:
    """Raises RefusedError for what Slurm would run for the plan's author, if it is not allowed."""
    from gpu_studio.plan import cluster_of, printable

    cluster = cluster_of(plan)
    slurm = cluster.slurm if cluster is not None else None
    lines = [*slurm.setup, *slurm.flags] if slurm is not None else []
    if lines and not chosen.allow_shell:
        for line in lines:
            note(f"  {printable(line)}")
        raise RefusedError(
            "The plan gives Slurm these lines of its own, which run as you: if you have read and "
            "trust them, say so with --allow-shell."
        )


def _register_jobs(actions: Commands) -> None:
    parser = add_command(
        actions, "submit", "have Slurm train a plan", _SUBMIT + EXIT_CODES, submit, machine=None
    )
    add_plan(parser)
    parser.add_argument("--resume", action="store_true", help="go on from what an earlier job kept")
    parser.add_argument("--detach", action="store_true", help="print the job's number, and return")
    add_force(parser, "what an earlier job of the plan kept")
    _add_allowing(parser)
    add_set(parser)
    for name, summary, handler in (
        ("follow", "print a job's output, and why it waits, until it ends", follow),
        ("stop", "have a job's workers keep their state after the same step, and end", stop),
    ):
        epilog = f"example:\n  gpu-studio cluster {name} 4711\n\n{EXIT_CODES}"
        parser = add_command(actions, name, summary, epilog, handler)
        parser.add_argument("job", metavar="JOB", type=_job, help="the number of the job in Slurm")


def _job(text: str) -> str:
    if not text.isdecimal() or not text.isascii():
        raise argparse.ArgumentTypeError(f"{text} is no number of a job: squeue --me lists them")
    return text


def examine(chosen: argparse.Namespace) -> int:
    """Examine the machines of a plan; return 0 if nothing must be mended, else 1."""
    from gpu_studio import plan as plans
    from gpu_studio.export import writable
    from gpu_studio.hardware.doctor.findings import all_well
    from gpu_studio.plan import cluster_of

    written = plans.with_settings(plans.load(chosen.plan, chosen.fit), chosen.settings)
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
    from gpu_studio.contract import plain_slug
    from gpu_studio.export.jobs.sbatch import sbatch
    from gpu_studio.hosts.examination import examined, examined_on_nodes, needs_slurm

    runs, by_slurm = runs_folder(chosen), needs_slurm(plan)
    if chosen.on_nodes and not by_slurm:
        raise RefusedError('Only Slurm has nodes to look from: set cluster.start = "slurm".')
    if chosen.on_nodes:
        _refuse_own_shell(plan, chosen)
    found = examined(plan, runs, sbatch(plan, plain_slug(plan.name)) if by_slurm else "")
    if chosen.on_nodes and all(each.state != "bad" for each in found):
        found = [each for each in found if each.check != "folder"]  # the nodes tell whether they do
        with _slurm_refusals():
            found += examined_on_nodes(plan, runs, lambda text: note(f"… {text}"))
    return found


def _say(findings: list[Finding]) -> None:
    from gpu_studio.hardware.doctor.examination import ending, finding_lines

    width = shutil.get_terminal_size((100, 24)).columns
    say("\n".join([*finding_lines(findings, width), "", ending(findings)]))


def submit(chosen: argparse.Namespace) -> int:
    """Submit the plan's script to Slurm, and follow the job unless it is to be left alone."""
    from gpu_studio.cli.export import contents_beside, script_of
    from gpu_studio.export.jobs import SCRIPT
    from gpu_studio.hosts.slurm_jobs import JOB_FILE, KEPT, at_work_in
    from gpu_studio.hosts.slurm_jobs import submit as submit_job

    written, script = script_of(chosen, of_workers=True, runs=True)
    _refuse_own_shell(written, chosen)
    folder, job = _job_of(written, chosen)
    if (folder / KEPT).exists() and not chosen.resume and not chosen.force:
        raise RefusedError(
            f"{folder} has what an earlier job kept: go on from that with --resume, or begin anew "
            "with --force."
        )
    files = {SCRIPT: script.encode(), JOB_FILE: job.encode(), **contents_beside(written)}
    words = ["--resume"] if chosen.resume else []
    with _slurm_refusals():
        if there := at_work_in(folder):
            raise RefusedError(
                f"Job {there} works in {folder}, or waits to: two would write over each other's "
                f"state. Stop it first: gpu-studio cluster stop {there}"
            )
        number = submit_job(folder, files, words)
    note(f"Job {number} is submitted. What it writes is in {folder}")
    if chosen.detach:
        say(number)
        return OK
    return _followed(number)


def _job_of(written: plans.Plan, chosen: argparse.Namespace) -> tuple[Path, str]:
    """The folder of the plan's job, and its script, examined. Raises RefusedError."""
    from dataclasses import replace

    from gpu_studio import plan as plans
    from gpu_studio.contract import make_private_directory, plain_slug
    from gpu_studio.export.jobs.sbatch import sbatch
    from gpu_studio.hosts.examination import examined
    from gpu_studio.plan import Cluster, Slurm, cluster_of

    cluster = cluster_of(written) or Cluster()
    wanted = cluster.slurm or Slurm()
    name, shared = plain_slug(written.name), Path(wanted.folder or runs_folder(chosen)).absolute()
    # The job works in its folder, and keeps there what it keeps.
    by_slurm = replace(cluster, start="slurm", slurm=replace(wanted, folder=None))
    plan = replace(written, cluster=by_slurm)
    job = sbatch(plan, name)
    make_private_directory(shared)
    absolute = plans.with_absolute_files(plan, chosen.plan.parent)
    findings = [each for each in examined(absolute, shared, job) if each.state != "good"]
    if any(each.state == "bad" for each in findings):
        _say(findings)
        raise RefusedError("Nothing is submitted while something must be mended (✘).")
    return shared / name, job


def follow(chosen: argparse.Namespace) -> int:
    """Print what a job writes and how it is, until it ends; return how it ended."""
    return _followed(chosen.job)


def stop(chosen: argparse.Namespace) -> int:
    """Have a job stopped, with its state kept."""
    from gpu_studio.hosts.slurm_jobs import stop as stop_job

    with _slurm_refusals():
        kept = stop_job(chosen.job)
    note(
        f"Job {chosen.job} keeps its state after a step, and ends."
        if kept
        else f"Job {chosen.job} had not begun, and is cancelled."
    )
    return OK


def _followed(number: str) -> int:
    from gpu_studio.common.processes import counted_interrupts
    from gpu_studio.hosts.slurm_jobs import FollowedJob

    with counted_interrupts() as interrupts, _slurm_refusals():
        followed = FollowedJob(number)
        while True:
            news = followed.news()
            for line in news.lines:
                say(line)
            if news.words:
                note(f"Job {number} {news.words}")
            if followed.job.ended:
                return _how_ended(followed)
            if interrupts.came:
                note(f"The job goes on. Follow it again with: gpu-studio cluster follow {number}")
                return INTERRUPTED
            interrupts.wait(POLL_S)


def _how_ended(followed: FollowedJob) -> int:
    if followed.job.state == "COMPLETED" and not followed.stopped_early:
        return OK
    if followed.stopped_early or followed.job.state in ("TIMEOUT", "NODE_FAIL"):
        note("It goes on from what it kept with: gpu-studio cluster submit PLAN --resume")
    if followed.stopped_early or followed.job.state == "CANCELLED":
        return STOPPED
    return FAILED


@contextmanager
def _slurm_refusals() -> Iterator[None]:
    """What Slurm refuses is refused in its words."""
    from gpu_studio.hosts.slurm import SlurmError

    try:
        yield
    except SlurmError as error:
        raise RefusedError(f"Slurm refuses: {error}.") from error
