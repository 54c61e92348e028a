"""Train programs of the zoo as runs and by Keras' own `fit`, and hold one against the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import warm_members
import warm_python
from training_runs import Finished, running
from zoo_table import CLUSTERS, Program

from gpu_studio import plan as plans
from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import decode
from gpu_studio.contract.files import Tail
from gpu_studio.runs.launch import problems_of

SUPPORT = Path(__file__).parent
LOOSE = 0.5
"""How far a program may be that draws other random numbers: nearer than nonsense."""
_UNEXPLAINED = ("", "layer", "import", "system")


@dataclass
class Trained:
    """What became of a program: measures of each epoch, weights, ends of the epochs (s).

    `tested` is what was measured at the end. `refused` and `crashed` say why it did not train,
    `warned` what was to be thought of, `advice` what to do, `logged` what else was said.
    """

    epochs: list[dict[str, Any]] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    refused: str = ""
    crashed: str = ""
    warned: Sequence[str] = ()
    logged: Sequence[str] = ()
    advice: Sequence[str] = ()
    trace: str = ""
    tested: Mapping[str, float | None] = field(default_factory=dict)


def trained(
    programs: Iterable[Program], way: str, folder: Path, **training: Any
) -> dict[str, Trained]:
    """Train programs one way, all in one process; `training` changes that part of their plans."""
    documents = {each.name: each.document(way, **training) for each in programs}
    made = {name: plans.loads(tomli_w.dumps(each)) for name, each in documents.items()}
    if way in CLUSTERS:
        return {name: _together(plan, folder) for name, plan in made.items()}
    return trained_plans(made, folder)


def trained_plans(made: Mapping[str, plans.Plan], folder: Path) -> dict[str, Trained]:
    """Train plans, all in one process."""
    found: dict[str, Trained] = {}
    runs: dict[str, RunDirectory] = {}
    for name, plan in made.items():
        try:
            runs[name] = _prepared(plan, folder)
        except plans.PlanError as error:
            found[name] = _faulty(error)
    if runs:
        said = _run("zoo_train.py", [str(run.path) for run in runs.values()], folder)
        found |= {name: _read(run, said) for name, run in runs.items()}
    return found


def _together(plan: plans.Plan, folder: Path) -> Trained:
    """Train a plan whose run is several processes."""
    try:
        with running(plan, folder / "runs", trainer=warm_members.command()) as under_way:
            return _told(under_way.finish())
    except plans.PlanError as error:
        return _faulty(error)
    except subprocess.TimeoutExpired as error:
        return Trained(crashed=f"it had not ended after {error.timeout:.0f} s")


def fitted(names: Sequence[str], folder: Path, **training: Any) -> dict[str, Trained]:
    """The same programs by `fit`, all in one process."""
    said = _run("zoo_fit.py", [str(folder), json.dumps(training), *names], folder)
    return {name: _read_fit(folder, name, said) for name in names}


def _faulty(error: plans.PlanError) -> Trained:
    problem = error.problems[0]
    return Trained(refused=str(problem), advice=[problem.advice])


def _prepared(plan: plans.Plan, folder: Path) -> RunDirectory:
    if problems := problems_of(plan, plans.with_absolute_files(plan, folder)):
        raise plans.PlanError(problems)
    run = RunDirectory.create(folder / "runs", plan.name)
    plans.save(plan, run.plan_file)
    return run


def _run(script: str, words: Sequence[str], folder: Path) -> str:
    """What the process printed at its end, which is of interest where it told nothing else."""
    done = subprocess.run(
        [*warm_python.command(str(SUPPORT / script)), *words],
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=False,
    )
    return (done.stdout + done.stderr)[-3000:]


def _read(run: RunDirectory, said: str) -> Trained:
    tail, told = Tail(run.events_file, decode), list[Any]()
    while batch := tail.read():
        told += batch
    return _told(Finished(run, told, 0, said))


def _told(ended: Finished) -> Trained:
    failed = ended.of(events.Failed)
    if not failed and not ended.of(events.Finished):
        return Trained(crashed="the process ended without a word", trace=ended.log)
    if failed:
        return _failure(failed[0])
    marks = [each.time for each in ended.of(events.Epoch)]
    saved = list(ended.directory.checkpoints.glob("step-*"))
    weights = list(ended.weights().values()) if saved else []
    warned = ended.of(events.Warned)
    return Trained(
        ended.epochs,
        weights,
        marks,
        warned=[each.message for each in warned],
        logged=[each.message for each in ended.of(events.Log)],
        advice=[each.suggestion for each in warned],
        tested=ended.of(events.Finished)[0].metrics,
    )


def _failure(failed: events.Failed) -> Trained:
    raised = failed.kind == "user_code" and " stopped " in failed.message
    known = failed.kind not in _UNEXPLAINED and not raised
    found = Trained(advice=failed.suggestions, trace=failed.traceback)
    setattr(found, "refused" if known else "crashed", failed.message)
    return found


def _read_fit(folder: Path, name: str, said: str) -> Trained:
    path = folder / f"{name}.json"
    told: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"error": said}
    if "error" in told:
        return Trained(crashed=told["error"].strip().splitlines()[-1], trace=told["error"])
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        return Trained(told["epochs"], [archive[each] for each in archive.files], told["ends"])


@dataclass(frozen=True)
class Verdict:
    """What a program became one way, in a `word`: equal, alike, WRONG, refused or crashed.

    `apart` is the greatest difference, relative to what is larger than 1; `why` says more.
    """

    word: str
    apart: float = 0.0
    why: str = ""

    @property
    def good(self) -> bool:
        """Whether it trained to what `fit` trains to."""
        return self.word in ("equal", "alike")

    def __str__(self) -> str:
        if self.word in ("equal", "alike", "WRONG"):
            figure = f"{self.word} {self.apart:.0e}"
            return f"{figure}: {self.why}" if self.why else figure
        return f"{self.word}: {self.why}"


def verdict(program: Program, way: str, mine: Trained, reference: Trained) -> Verdict:
    """Hold a run against `fit`."""
    if reference.crashed:
        return Verdict("no fit", why=reference.crashed)
    for word, why in (("refused", mine.refused), ("crashed", mine.crashed)):
        if why:
            return Verdict(word, why=why)
    if len(mine.epochs) != len(reference.epochs):
        return Verdict("WRONG", why=f"{len(mine.epochs)} epochs for {len(reference.epochs)}")
    apart, where = max(_differences(mine, reference), key=lambda each: each[0])
    different = program.difference(way)
    if apart <= program.close:
        return Verdict("equal", apart, program.why)
    if different and apart <= max(LOOSE, program.close):
        return Verdict("alike", apart, different)
    return Verdict("WRONG", apart, where)


def _differences(mine: Trained, reference: Trained) -> Iterable[tuple[float, str]]:
    for number, (told, wanted) in enumerate(zip(mine.epochs, reference.epochs, strict=True), 1):
        for name, value in wanted.items():
            if name == "learning_rate":  # which a callback of Keras' adds to what `fit` tells
                continue
            given = told.get(name)
            if given is None:
                yield float("inf"), f"epoch {number} has no {name}, but {', '.join(told)}"
            else:
                yield _apart(given, value), f"{name} of epoch {number}: {given:.7g} for {value:.7g}"
    if len(mine.weights) != len(reference.weights):
        yield float("inf"), f"{len(mine.weights)} weights for {len(reference.weights)}"
        return
    for number, (weight, right) in enumerate(zip(mine.weights, reference.weights, strict=True)):
        if weight.shape != right.shape:
            yield float("inf"), f"weight {number} is {weight.shape} for {right.shape}"
        else:
            yield _apart(weight, right), f"weight {number} {weight.shape}"


def _apart(value: Any, wanted: Any) -> float:
    one, other = np.asarray(value, np.float64), np.asarray(wanted, np.float64)
    if not one.size:
        return 0.0
    distance = float((np.abs(one - other) / np.maximum(1.0, np.abs(other))).max())
    return distance if np.isfinite(distance) else float("inf")
