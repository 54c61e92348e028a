"""`study new`: write a study of a plan, of batches with the largest that fits."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_force,
    add_json,
    note,
    refuse_to_replace,
    runs_folder,
    say,
    say_json,
    typed,
)

if TYPE_CHECKING:
    from gpu_studio.lab.largest_batch import LargestBatch
    from gpu_studio.lab.study import Study
    from gpu_studio.plan import Machine, Plan

_TEMPLATES: Final = ("scaling-strong", "scaling-weak", "strategies", "batch", "sweep")
_NEW: Final = """\
templates:
  scaling-strong   1 to all devices of the plan, the same global batch
  scaling-weak     1 to all devices, the same batch on each replica
  strategies       every strategy that runs, each way to sum gradients
  batch            batches from a quarter of the plan's own to the largest that fits
  sweep            learning rates and seeds, to be changed to any fields

For "batch", the largest that fits is searched first, of the plan as it is and on each kind of its
devices alone: by the predicted memory, then by real steps, each size in a process of its own. The
next size up is tried as well, but on a CPU, whose memory is that of all programs. On practice cards
this tells what their limits hold.

examples:
  gpu-studio study new strategies digits.plan.toml --to strategies.study.toml
  gpu-studio study new batch digits.plan.toml
  gpu-studio --practice 1x2GiB study new batch digits.plan.toml --json

exit codes:
  0  it is written
  2  refused, with nothing written, or not even the smallest batch fits"""


def register_new(actions: Commands) -> None:
    """Add the action."""
    new = add_command(actions, "new", "write a study of a plan, to run or to change", _NEW, _new)
    new.add_argument("template", metavar="TEMPLATE", choices=_TEMPLATES, help="what to measure")
    new.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        type=Path,
        help="the plan file; without it, a plan for this machine is written beside the study",
    )
    new.add_argument("--to", metavar="FILE", type=Path, help="the study file to write")
    new.add_argument(
        "--no-search",
        action="store_true",
        help="batches up to eight times the plan's own, whether or not they fit",
    )
    add_allowing(new)
    add_force(new, "a file that is there")
    add_json(new)


def _new(chosen: argparse.Namespace) -> int:
    import msgspec

    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import this_machine
    from gpu_studio.common.figures import plural
    from gpu_studio.contract import slug
    from gpu_studio.lab.study import SUFFIX, points_of
    from gpu_studio.lab.templates import study_from
    from gpu_studio.plan.starter import spread
    from gpu_studio.runs.study_shelf import plan_as_written

    machine = this_machine(users=chosen.plan is None)
    plan = plans.load(chosen.plan) if chosen.plan else spread(machine)
    stem = chosen.plan.name.partition(".")[0] if chosen.plan else slug(plan.name)
    target = chosen.to or Path(f"{stem}-{chosen.template}{SUFFIX}")
    if not target.name:
        raise RefusedError(f"{target} is a folder: name a file with --to.")
    path = chosen.plan or target.with_name(f"{stem}.plan.toml")
    refuse_to_replace([target, *([] if chosen.plan else [path])], force=chosen.force)
    largest = _largest(chosen, plan, path.parent, machine)
    samples = _samples(plan, path.parent)
    written = plan_as_written(path, target)
    study = study_from(chosen.template, plan, written, machine, largest, samples)
    points = points_of(study, plan)
    _write(study, target, runs_folder(chosen), () if chosen.plan else (plan, path))
    runs = len(points) * study.repeats
    if chosen.json:
        made = {"study": str(target), "plan": str(path), "points": len(points), "runs": runs}
        say_json(made | ({"largest": msgspec.to_builtins(largest)} if largest else {}))
    else:
        say(str(target))
        counts = f"{plural(len(points), 'point')}, {plural(runs, 'run')}"
        note(f"{counts}. Start them with: {typed('study', 'run', target)}")
    return OK


def _write(
    study: Study, target: Path, runs: Path, with_plan: tuple[()] | tuple[Plan, Path]
) -> None:
    """Write the study, after its plan if that is in no file yet, and list it."""
    from gpu_studio import plan as plans
    from gpu_studio.common.safe_files import write_output
    from gpu_studio.lab.study import dumps_study
    from gpu_studio.runs.study_shelf import remember

    try:
        if with_plan:
            plans.save(*with_plan)
        write_output(target, [dumps_study(study).encode()])
    except OSError as error:
        raise RefusedError(
            f"{target} cannot be written: {error.strerror or error}. Free some space there, or "
            "name another file with --to."
        ) from error
    with suppress(OSError):  # it is only not listed then
        remember(runs, target)


def _samples(plan: Plan, folder: Path) -> int:
    """How many samples there are to train with, 0 if that is not known: a study can do without."""
    from gpu_studio import plan as plans
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.plan_question import ask_about_data

    with suppress(AskError):
        answer = ask_about_data(plans.with_absolute_files(plan, folder.absolute()))
        return int((answer.get("data") or {}).get("train", 0))
    return 0


def _largest(
    chosen: argparse.Namespace, plan: Plan, folder: Path, machine: Machine
) -> tuple[LargestBatch, ...]:
    """The largest batches that fit, said as they are found; empty where they are not wanted."""
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import have_allowed, waiting
    from gpu_studio.lab.largest_batch import in_words
    from gpu_studio.runs.batch_search import BatchSearchError, ProofAsking, largest_batches
    from gpu_studio.runs.questions.ask import AskError

    if chosen.template != "batch" or chosen.no_search:
        return ()
    absolute = plans.with_absolute_files(plan, folder.absolute())
    have_allowed(absolute, allow=chosen.allow_code, may_ask=not chosen.json)
    try:
        found = largest_batches(absolute, folder.absolute(), machine, ProofAsking(waiting))
    except (BatchSearchError, AskError) as error:
        raise RefusedError(
            f"The largest batch cannot be searched: {str(error).rstrip('.')}. With --no-search the "
            "study has batches up to eight times the plan's own."
        ) from error
    for each in found:
        note(in_words(each))
    if not found[0].batch:
        raise RefusedError("There is no batch that fits, so no study is written.")
    return found
