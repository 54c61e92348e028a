"""Assemble a script from the parts that are written for a plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpu_studio import __version__
from gpu_studio.export import refusals
from gpu_studio.export.data import data
from gpu_studio.export.data_sets import DIGITS_FILE, digits_file
from gpu_studio.export.devices import devices
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import sentences, with_comments_wrapped
from gpu_studio.export.literals import comment, literal
from gpu_studio.export.model import model
from gpu_studio.export.objectives import loss, metrics
from gpu_studio.export.optimizer import optimizer
from gpu_studio.export.own_code import names_code, own_code
from gpu_studio.export.passes import passes
from gpu_studio.export.saving import saves
from gpu_studio.export.steps import steps
from gpu_studio.export.strategies import strategy
from gpu_studio.export.training import training
from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.plan import DeviceSettings, Machine, Plan
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.options import BuiltIn

_HEADER = """\
$about

import argparse
$before_os
import os
$after_os
from pathlib import Path

# TensorFlow and CUDA read these once, while TensorFlow is imported: later is too late.
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
# A cluster left over in the environment would make TensorFlow wait for its workers.
os.environ.pop("TF_CONFIG", None)
# CUDA numbers the fastest card first unless told to number them as nvidia-smi does.
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
$visible
$allocator

import keras
import numpy as np
import tensorflow as tf

EPOCHS = $epochs
BATCH_SIZE = $batch  # $scope
SEED = $seed  # of the initial weights, the order of the samples, the splits
"""

_ABOUT = """\
{name}

Trains a model ({model}) on data ({data}), in plain TensorFlow and Keras. GPU Studio {version} wrote it
from a plan, and is not needed to run it. What is needed:

    pip install "tensorflow>=2.20,<2.22" "keras>=3.15,<4" "numpy>=1.26"

(for NVIDIA cards: "tensorflow[and-cuda]>=2.20,<2.22"). Run it with

    python train.py
    python train.py --epochs 1{output}

It prints one line for each epoch{saves}."""

_ALLOCATOR = """\
# This allocator would give all slices of a card one common pool, without limits.
os.environ.pop("TF_GPU_ALLOCATOR", None)"""

_VISIBLE = """\
# TensorFlow sees these cards only, and numbers them in this order. A UUID names a card
# whatever slot it is in; `nvidia-smi -L` lists those of another machine.
os.environ["CUDA_VISIBLE_DEVICES"] = {value}"""

_HIDDEN = """\
# The plan hides all cards: everything runs on the CPU.
os.environ["CUDA_VISIBLE_DEVICES"] = "-1\""""


def opening(facts: ScriptFacts) -> str:
    """Return the comments, environment, imports and the plan's main numbers."""
    training = facts.plan.training
    plan_has_code = names_code(facts)
    shared = facts.several and training.batch_scope == "global"
    return fill(
        _HEADER,
        about=sentences(_about(facts)),
        before_os="import importlib.util\nimport inspect" if plan_has_code else "",
        after_os="import sys" if plan_has_code else "",
        visible=_visible(facts.plan.devices, facts.machine),
        allocator=_ALLOCATOR
        if any(carve.device != "CPU:0" for carve in facts.plan.devices.carve)
        else "",
        epochs=literal(training.epochs),
        batch=literal(training.batch_size),
        scope=_scope(facts.several, shared),
        seed=literal(training.seed),
    )


def _cuda_names(devices: DeviceSettings, machine: Machine | None) -> list[str]:
    """Return what CUDA must call the visible cards.

    These are UUIDs if they are known, else numbers.
    """
    cards = [name for name in devices.visible if not name.startswith("CPU")]
    return [_cuda_name(name, machine) for name in cards]


def _cuda_name(name: str, machine: Machine | None) -> str:
    card = machine.card(name) if machine and not machine.simulated else None
    return card.uuid if card else name.removeprefix("GPU:")


def _visible(devices: DeviceSettings, machine: Machine | None) -> str:
    if not devices.visible:
        return ""
    cards = _cuda_names(devices, machine)
    return _VISIBLE.format(value=literal(",".join(cards))) if cards else _HIDDEN


def _scope(several: bool, shared: bool) -> str:
    if not several:
        return "samples of one step"
    return (
        "samples of one step, shared out to the replicas"
        if shared
        else "samples of one step of each replica"
    )


def _about(facts: ScriptFacts) -> list[str]:
    plan = facts.plan
    text = _ABOUT.format(
        name="\0",
        model=_described(plan.model.name, plan.model.file or plan.model.python, MODELS),
        data=_described(
            plan.data.name, plan.data.file or plan.data.folder or plan.data.python, DATA
        ),
        version=__version__,
        output=" --output somewhere/else" if saves(facts) else "",
        saves=", and saves the model where --output says" if saves(facts) else "",
    )
    return [line.replace("\0", comment(plan.name)) for line in text.split("\n")]


def _described(name: str | None, file: str | None, known: Mapping[str, BuiltIn]) -> str:
    return f"{name}: {known[name].help}" if name else comment(str(file))


_PARTS = (
    opening,
    devices,
    strategy,
    own_code,
    data,
    model,
    optimizer,
    loss,
    metrics,
    steps,
    passes,
    training,
)


def python_script(
    plan: Plan, machine: Machine | None, base: Path, seen: DataFacts | None = None
) -> str:
    """The plan as a stand-alone Python script over TensorFlow and Keras, formatted as `ruff format`
    formats it.

    It trains the same model on the same data and devices, with the same losses. `base` is the
    folder that relative files of the plan start from; of a data file only the table of contents is
    read. `machine` is the one that the plan is for, by which cards get their UUIDs. `seen` is what
    the function of `data.python` last returned; other data need none. Raises ExportError, in words,
    for a plan that cannot be exported.
    """
    refusals.check(plan, machine)
    facts = ScriptFacts.of(plan, machine, base, seen)
    parts = [part(facts) for part in _PARTS]
    return _finished("\n\n".join(part.strip("\n") + "\n" for part in parts if part))


def _finished(script: str) -> str:
    """Return the script without unused imports and with its comments wrapped."""
    if "Path(" not in script:
        script = script.replace("from pathlib import Path\n", "", 1)
    return with_comments_wrapped(script)


def files_beside(plan: Plan) -> dict[str, Path]:
    """Return the files that the script expects beside itself: the present path of each, by name.

    On this machine the script finds them at those paths, too.
    """
    return {DIGITS_FILE: digits_file()} if plan.data.name == "digits" else {}
