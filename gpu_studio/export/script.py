"""A plan as a script, assembled from its parts."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.export import refusals
from gpu_studio.export.data import data
from gpu_studio.export.data_sets import DIGITS_FILE, digits_file
from gpu_studio.export.devices import devices
from gpu_studio.export.facts import Facts
from gpu_studio.export.layout import with_comments_wrapped
from gpu_studio.export.model import model
from gpu_studio.export.objectives import loss, metrics
from gpu_studio.export.opening import opening
from gpu_studio.export.optimizer import optimizer
from gpu_studio.export.own_code import own_code
from gpu_studio.export.passes import passes
from gpu_studio.export.steps import steps
from gpu_studio.export.strategy import strategy
from gpu_studio.export.training import training
from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.plan import Machine, Plan

_PARTS = (opening, devices, strategy, own_code, data, model, optimizer, loss, metrics, steps, passes, training)


def python_script(plan: Plan, machine: Machine | None, base: Path, seen: DataFacts | None = None) -> str:
    """The plan as a stand-alone Python script over TensorFlow and Keras, formatted as `ruff format` formats it.

    It trains the same model on the same data and devices, with the same losses. `base` is the folder that relative
    files of the plan start from; of a data file only the table of contents is read. `machine` is the one that the plan
    is for, by which cards get their UUIDs. `seen` is what the function of `data.python` last returned; other data need
    none. Raises ExportError, in words, for a plan that cannot be exported.
    """
    refusals.check(plan, machine)
    facts = Facts.of(plan, machine, base, seen)
    parts = [part(facts) for part in _PARTS]
    return _finished("\n\n".join(part.strip("\n") + "\n" for part in parts if part))


def _finished(script: str) -> str:
    """The script without an import that it has no use for, and with no comment too long."""
    if "Path(" not in script:
        script = script.replace("from pathlib import Path\n", "", 1)
    return with_comments_wrapped(script)


def files_beside(plan: Plan) -> dict[str, Path]:
    """The files that a script of this plan looks for beside itself: where each is now, by its name.

    On this machine it finds them there, too.
    """
    return {DIGITS_FILE: digits_file()} if plan.data.name == "digits" else {}
