"""The beginning of a script: what it is, how to run it, and the environment that TensorFlow reads while imported."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_studio import __version__
from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import sentences
from gpu_studio.export.literals import comment, literal
from gpu_studio.export.own_code import names_code
from gpu_studio.export.saving import saves
from gpu_studio.plan import Devices, Machine
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.options import Entry

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


def opening(facts: Facts) -> str:
    """Comments, environment, imports and the plan's main numbers."""
    training = facts.plan.training
    plan_has_code = names_code(facts)
    shared = facts.several and training.batch_scope == "global"
    return fill(
        _HEADER,
        about=sentences(_about(facts)),
        before_os="import importlib.util\nimport inspect" if plan_has_code else "",
        after_os="import sys" if plan_has_code else "",
        visible=_visible(facts.plan.devices, facts.machine),
        allocator=_ALLOCATOR if any(carve.device != "CPU:0" for carve in facts.plan.devices.carve) else "",
        epochs=literal(training.epochs),
        batch=literal(training.batch_size),
        scope=_scope(facts.several, shared),
        seed=literal(training.seed),
    )


def _cuda_names(devices: Devices, machine: Machine | None) -> list[str]:
    """What CUDA is to call the visible cards: UUIDs where they are known, else numbers."""
    cards = [name for name in devices.visible if not name.startswith("CPU")]
    return [_cuda_name(name, machine) for name in cards]


def _cuda_name(name: str, machine: Machine | None) -> str:
    card = machine.card(name) if machine and not machine.simulated else None
    return card.uuid if card else name.removeprefix("GPU:")


def _visible(devices: Devices, machine: Machine | None) -> str:
    if not devices.visible:
        return ""
    cards = _cuda_names(devices, machine)
    return _VISIBLE.format(value=literal(",".join(cards))) if cards else _HIDDEN


def _scope(several: bool, shared: bool) -> str:
    if not several:
        return "samples of one step"
    return "samples of one step, shared out to the replicas" if shared else "samples of one step of each replica"


def _about(facts: Facts) -> list[str]:
    plan = facts.plan
    text = _ABOUT.format(
        name="\0",
        model=_described(plan.model.name, plan.model.file or plan.model.python, MODELS),
        data=_described(plan.data.name, plan.data.file or plan.data.folder or plan.data.python, DATA),
        version=__version__,
        output=" --output somewhere/else" if saves(facts) else "",
        saves=", and saves the model where --output says" if saves(facts) else "",
    )
    return [line.replace("\0", comment(plan.name)) for line in text.split("\n")]


def _described(name: str | None, file: str | None, known: Mapping[str, Entry]) -> str:
    return f"{name}: {known[name].help}" if name else comment(str(file))
