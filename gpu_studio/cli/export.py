"""`export`: a plan as a script in plain TensorFlow and Keras, and what starts its workers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_command,
    add_force,
    add_machine,
    add_plan,
    add_set,
    note,
    refuse_to_replace,
    say_whole,
)

if TYPE_CHECKING:
    from gpu_studio import plan as plans
    from gpu_studio.placement.plan_facts import PlanFacts

_EXPORT_SUMMARY = (
    "write a plan as a script in plain TensorFlow and Keras, which "
    "trains the same without GPU Studio"
)
SCRIPT_KIND = "script"
_NEXT = {
    "tf_config": "Put the addresses of your machines in place of 127.0.0.1.",
    "launch": "Start all workers with: bash {file}",
    "sbatch": "Submit it in its folder with: sbatch {name}",
    "kubernetes": "Start it with: kubectl apply -f {file}",
}
"""What is done next with a file, of each kind."""
_NO_JOB = (
    "This plan trains in one process, and a job has several workers: set distribution.strategy = "
    '"multi_worker".'
)
_EXPORT = """examples:
  gpu-studio export digits.plan.toml
  gpu-studio export digits.plan.toml --to train.py
  gpu-studio export digits.plan.toml --to train.py --set training.epochs=50 --force

of a plan of several workers (strategy = "multi_worker"), also what starts them:
  gpu-studio export digits.plan.toml --to tf_config       TF_CONFIG of each worker, a line each
  gpu-studio export digits.plan.toml --to launch.sh       commands that start all on this machine
  gpu-studio export digits.plan.toml --to job.sbatch      a job for Slurm
  gpu-studio export digits.plan.toml --to digits.yaml     a Job or JobSet for Kubernetes"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "export", _EXPORT_SUMMARY, _EXPORT, export)
    add_plan(parser)
    parser.add_argument(
        "--to",
        metavar="WHAT",
        default=SCRIPT_KIND,
        help="script (the default), tf_config, launch, sbatch or kubernetes, to stdout; or a file, "
        "whose ending says which (.py, .jsonl, .sh, .sbatch, .yaml), with what it needs beside it",
    )
    add_force(parser, "what is there")
    add_set(parser)
    add_machine(parser, "write for the machine described in FILE")


def export(chosen: argparse.Namespace) -> int:
    """Write the script of a plan to stdout or a file, and beside the file what the script reads."""
    from gpu_studio.export import files_beside

    kind, target = _meant_by(chosen.to)
    written, script = script_of(chosen, of_workers=kind != SCRIPT_KIND)
    if kind != SCRIPT_KIND:
        _export_job(kind, target, written, script, chosen)
    elif target is None:
        say_whole(script.rstrip("\n"))
        _tell_what_else_it_reads(files_beside(written), chosen.plan)
    else:
        _write_script(target, script, files_beside(written), chosen)
    return OK


def script_of(
    chosen: argparse.Namespace, *, of_workers: bool, runs: bool = False
) -> tuple[plans.Plan, str]:
    """The plan that is given, and its script; one process is refused if several are `of_workers`.

    A script that `runs` at once has no code that may not run. Raises PlanError, RefusedError.
    """
    from gpu_studio import plan as plans
    from gpu_studio.cli.given_plan import described_machine
    from gpu_studio.export import writable
    from gpu_studio.runs.launch import problems_of
    from gpu_studio.runs.sources import ConsentProblem, fits_left

    written = plans.with_settings(plans.load(chosen.plan, chosen.fit), chosen.settings)
    plan = plans.with_absolute_files(written, chosen.plan.parent)
    machine = described_machine(chosen.machine) if chosen.machine else None
    found = problems_of(written, plan, machine)
    # Where code may not run, the script is written without a look at what it makes.
    refused = [each for each in found if isinstance(each, ConsentProblem) and not runs]
    if problems := [problem for problem in writable(written, found) if problem not in refused]:
        raise plans.PlanError(problems, str(chosen.plan))
    if of_workers:
        _refuse_alone(written, submitted=runs)
    for each in fits_left(plan):
        note(f"{each.text} {each.why}")
    return written, _script(written, plan, chosen, may_look=not refused)


def _meant_by(to: str) -> tuple[str, Path | None]:
    """What is to be written, and where to: a word goes to stdout, a file by its ending."""
    from gpu_studio.export.jobs import KINDS, SUFFIXES

    if to in (SCRIPT_KIND, *KINDS):
        return to, None
    return SUFFIXES.get(Path(to).suffix.lower(), SCRIPT_KIND), Path(to)


def _refuse_alone(plan: plans.Plan, *, submitted: bool) -> None:
    from gpu_studio.export import ExportError
    from gpu_studio.export.jobs import refuse_alone

    try:
        refuse_alone(plan)
    except ExportError as error:
        raise RefusedError(_NO_JOB if submitted else str(error)) from error


def _export_job(
    kind: str, target: Path | None, plan: plans.Plan, script: str, chosen: argparse.Namespace
) -> None:
    """Print or write what starts the workers; beside a file also the script that it starts."""
    from gpu_studio.contract import plain_slug
    from gpu_studio.export import ExportError
    from gpu_studio.export.jobs import SCRIPT, job_text, starts_script

    beside = contents_beside(plan)
    file = target.name if target else None
    try:
        text = job_text(kind, plan, plain_slug(plan.name), script, beside, file)
    except ExportError as error:
        raise RefusedError(str(error)) from error
    if target is None:
        say_whole(text.rstrip("\n"))
        if starts_script(kind):
            plan_file = shlex.quote(str(chosen.plan))
            note(f"It starts {SCRIPT}: gpu-studio export {plan_file} --to {SCRIPT}")
        return
    contents = {target: text.encode()}
    if starts_script(kind):
        contents[target.parent / SCRIPT] = script.encode()
        contents |= {target.parent / name: content for name, content in beside.items()}
    _write_all(contents, chosen)
    quoted = shlex.quote(str(target)), shlex.quote(target.name)
    note(f"{target}: written. {_NEXT[kind].format(file=quoted[0], name=quoted[1])}")


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
        except UnseenError as unseen:
            of_model = unseen.of_model or plan.model.name is None
            looked = _looked_at(plan, "what is learnt", of_model=of_model)
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
        facts = decoded(look(plan, progress=lambda text: note(f"{text}…"), trains=True))
    except AskError as error:
        raise RefusedError(f"A script depends on {what}. {error}") from error
    if problem := facts.data_error or facts.model_error:
        advice = facts.advice or (facts.model.advice if facts.model else ())
        raise RefusedError(" ".join((problem, *advice)))
    return facts


def contents_beside(plan: plans.Plan) -> dict[str, bytes]:
    """What the script of a plan reads beside itself: the bytes of each file, by its name."""
    from gpu_studio.export import files_beside

    return {name: path.read_bytes() for name, path in files_beside(plan).items()}


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
    _write_all(contents, chosen)
    note(f"{target}: written. Run it with: python {shlex.quote(str(target))}")


def _write_all(contents: dict[Path, bytes], chosen: argparse.Namespace) -> None:
    """Write files that do not hold the same already. Raises RefusedError, with none written."""
    from gpu_studio.common.safe_files import write_output

    new = {path: content for path, content in contents.items() if not _holds_already(path, content)}
    _refuse_own(new, chosen)
    refuse_to_replace(new, force=chosen.force, code=True)
    for path, content in new.items():
        write_output(path, [content])


def _refuse_own(paths: Iterable[Path], chosen: argparse.Namespace) -> None:
    """Raises RefusedError for the plan itself, and for what it reads, as its script does too."""
    from gpu_studio import plan as plans
    from gpu_studio.runs.sources import reads

    written = plans.with_settings(plans.load(chosen.plan, chosen.fit), chosen.settings)
    plan = plans.with_absolute_files(written, chosen.plan.parent)
    for path in paths:
        if reads(plan, chosen.plan, path):
            raise RefusedError(f"{path} is a file of the plan itself: choose another name.")


def _holds_already(path: Path, content: bytes) -> bool:
    from gpu_studio.common.safe_files import read_regular

    if not path.is_file() or path.stat().st_size != len(content):
        return False
    return read_regular(path, len(content), follow=True) == content


def _tell_what_else_it_reads(beside: dict[str, Path], plan: Path) -> None:
    for name in beside:
        note(
            f"On another machine the script needs {name}: `gpu-studio export "
            f"{shlex.quote(str(plan))} --to FILE.py` writes it too."
        )
