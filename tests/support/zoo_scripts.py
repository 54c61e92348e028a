"""Write programs of the zoo as scripts, and run these where the package cannot be imported."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import tomli_w
from exported_scripts import epochs_in, run_script
from patience import PATIENCE_S
from worker_scripts import environment
from zoo_runs import Trained
from zoo_table import Program, halved

from gpu_studio import plan as plans
from gpu_studio.export import ExportError, python_script
from gpu_studio.export.jobs import job_text
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.runs.questions.plan_question import ask_about

LOGGED = re.compile(r"\s*$|WARNING: All log|[IWE]0000 ")
"""Lines of TensorFlow's own."""


def facts_of(program: Program, folder: Path) -> PlanFacts:
    """What the data and the model of a program are; its files must be allowed."""
    plan = plans.loads(tomli_w.dumps(program.document()))
    return decoded(ask_about(plans.with_absolute_files(plan, folder)))


def with_places(plan: plans.Plan, facts: PlanFacts) -> plans.Plan:
    """Give a placed plan without layers the placement that its run would get."""
    placed = plan.distribution.placed
    if placed is None or placed.layers or facts.graph is None:
        return plan
    heavy = [each.name for each in facts.graph.layers if each.weight_bytes]
    layers = halved(heavy)
    distribution = replace(plan.distribution, placed=replace(placed, layers=layers))
    return replace(plan, distribution=distribution)


def scripted(
    program: Program, way: str, facts: PlanFacts, folder: Path, **training: object
) -> Trained:
    """Train the script of a program in `folder`: the measures of its epochs, as it prints them."""
    plan = with_places(plans.loads(tomli_w.dumps(program.document(way, **training))), facts)
    try:
        script = python_script(plan, None, folder, facts.data, facts.model)
    except ExportError as error:
        return Trained(refused=str(error))
    place = folder / f"script of {way}"
    place.mkdir(parents=True)
    path = place / "train.py"
    path.write_text(script, encoding="utf-8")
    code, output = _as_workers(plan, place) if way == "multi_worker" else _alone(path)
    if code:
        said = [each for each in output.splitlines() if not LOGGED.match(each)]
        last = said or ["it said nothing"]
        if "Traceback" not in output:  # the script itself says why not
            return Trained(refused=last[-1])
        return Trained(crashed=last[-1], trace=output)
    return Trained(epochs_in(output))


def _alone(path: Path) -> tuple[int, str]:
    printed = run_script(path, dict(os.environ))
    return printed.code, printed.output


def _as_workers(plan: plans.Plan, folder: Path) -> tuple[int, str]:
    """Start the script in `folder` as its workers, by the file that is exported for that."""
    launch = folder / "launch.sh"
    launch.write_text(job_text("launch", plan, "zoo", "", {}, launch.name))
    ended = subprocess.run(
        ["bash", launch.name],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return ended.returncode, ended.stdout
