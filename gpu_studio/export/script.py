"""Assemble a script from the parts that are written for a plan.

Its opening and its devices are written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpu_studio import __version__
from gpu_studio.export import refusals
from gpu_studio.export.data import data
from gpu_studio.export.data_sets import DIGITS_FILE, digits_file
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_script import FIT_PARTS
from gpu_studio.export.fitted import FittedPlan, why_fitted
from gpu_studio.export.joined_updates import joined_updates
from gpu_studio.export.keras_objects import loss, metrics
from gpu_studio.export.learning import ExportError
from gpu_studio.export.model import model
from gpu_studio.export.needed_imports import finished
from gpu_studio.export.optimizers import optimizer
from gpu_studio.export.own_code import names_code, own_code
from gpu_studio.export.passes import passes
from gpu_studio.export.phases import phases
from gpu_studio.export.prepared import prepared
from gpu_studio.export.saving import saves
from gpu_studio.export.script_text import (
    comment,
    fill,
    functions_of,
    listing,
    literal,
    sentences,
)
from gpu_studio.export.steps import steps
from gpu_studio.export.strategies import strategy
from gpu_studio.export.training import training
from gpu_studio.export.workers import run_workers
from gpu_studio.placement.plan_facts import DataFacts, ModelFacts
from gpu_studio.plan import Carve, DeviceSettings, Machine, Plan, visible_cards
from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.data import path_of
from gpu_studio.plan.options import BuiltIn

_SET_UP = """\
def set_up_devices():
    \"\"\"What TensorFlow may use, said before anything makes it start its devices.\"\"\"
    # $soft_words
    tf.config.set_soft_device_placement($soft)
    $products
    $logging
    $carves
    $growth
"""

_SOFT = "An operation that has no version for its device runs on another one instead."
_HARD = "An operation that has no version for its device is an error."

_NO_TF32 = """\
# As a CPU does: cards since Ampere would compute products of float32 in TF32, which is
# faster, and whose products differ by about a thousandth.
tf.config.experimental.enable_tensor_float_32_execution(False)"""

_LOGGING = """\
# Print on which device each operation runs.
tf.debugging.set_log_device_placement(True)"""

_GROWTH = """\
# Take memory as it is needed; otherwise TensorFlow takes nearly all of a card at once.
for card in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(card, True)"""

_CPU_CARVE = """\
# One CPU shown as several logical devices, CPU:0 to CPU:$last. Strategies treat them as
# they treat cards, so that a plan can be tried without any; they have no limits.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration() for _ in range($count)],
)"""

_CARD_CARVE = """\
# A card cut into slices, each a logical device with a memory limit in MiB. The limits
# are TensorFlow's own: CUDA itself, cuDNN and NCCL take some memory besides.
$limits
cards = tf.config.list_physical_devices("GPU")
if len(cards) <= $index:
    raise SystemExit("TensorFlow does not see GPU:$index, which is to be cut.")
tf.config.set_logical_device_configuration(
    cards[$index],
    [tf.config.LogicalDeviceConfiguration(memory_limit=mib) for mib in slices_mib],
)"""


def devices(facts: ScriptFacts) -> str:
    """Return the function `set_up_devices`.

    Raises ExportError for a carve of a card whose number cannot be known.
    """
    wanted = facts.plan.devices
    return fill(
        _SET_UP,
        soft_words=_SOFT if wanted.soft_placement else _HARD,
        soft=literal(wanted.soft_placement),
        products="" if facts.plan.training.tf32 else _NO_TF32,
        logging=_LOGGING if wanted.log_placement else "",
        carves="\n".join(_carve(carve, wanted, facts.machine) for carve in wanted.carve),
        growth=_GROWTH if wanted.memory_growth else "",
    )


def _carve(carve: Carve, wanted: DeviceSettings, machine: Machine | None) -> str:
    count = len(carve.slices_mib)
    if carve.device == "CPU:0":
        return fill(_CPU_CARVE, last=str(count - 1), count=str(count))
    limits = listing("slices_mib = ", [literal(mib) for mib in carve.slices_mib], indent=4)
    return fill(_CARD_CARVE, limits=limits, index=str(_card_number(carve.device, wanted, machine)))


def _card_number(device: str, wanted: DeviceSettings, machine: Machine | None) -> int:
    """Return the card's number among the cards that TensorFlow sees."""
    named = [name for name in wanted.visible if not name.startswith("CPU")]
    if device in named:
        return named.index(device)
    card = machine.card(device) if machine else None
    if machine and card:
        return visible_cards(wanted, machine).index(card)
    if device.startswith("GPU:") and not named:
        return int(device.removeprefix("GPU:"))
    raise ExportError(
        f"Which card {device} is, only a machine that has it can tell: export the plan there, or "
        "name the card in devices.visible as it is named in devices.carve."
    )


_HEADER = """\
$about

import argparse
$before_os
import os
$after_os
$futures
$managers
from pathlib import Path

# TensorFlow and CUDA read these once, while TensorFlow is imported: later is too late.
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
$alone
# CUDA numbers the fastest card first unless told to number them as nvidia-smi does.
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
$visible
$allocator

import keras
import numpy as np
$parquet
import tensorflow as tf

EPOCHS = $epochs
BATCH_SIZE = $batch  # $scope
SEED = $seed  # of the initial weights, the order of the samples, the splits
"""

_FUTURES = "from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait"

_ALONE = """\
# A cluster left over in the environment would make TensorFlow wait for its workers.
os.environ.pop("TF_CONFIG", None)"""

_ABOUT = """\
{name}

Trains a model ({model}) on data ({data}), in plain TensorFlow and Keras. \
GPU Studio {version} wrote it
from a plan, and is not needed to run it. What is needed:

    pip install "tensorflow>=2.20,<2.22" "keras>=3.15,<4" "numpy>=1.26"{parquet}

(for NVIDIA cards: "tensorflow[and-cuda]>=2.20,<2.22"). {run}

It prints one line for each epoch{saves}."""

_RUN = """\
Run it with

    python train.py
    python train.py --epochs 1{output}"""

_PRACTISED = """

The plan was made in practice, on cards that are not there ({cards}): the script needs cards
that are as large."""

_ALLOCATOR = """\
# This allocator would give all slices of a card one common pool, without limits.
os.environ.pop("TF_GPU_ALLOCATOR", None)"""

_VISIBLE = """\
# TensorFlow sees these cards only, and numbers them in this order. A UUID names a card
# whatever slot it is in; `nvidia-smi -L` lists those of another machine.
os.environ["CUDA_VISIBLE_DEVICES"] = {value}"""

_VISIBLE_BY_WORKER = """\
# TensorFlow sees these cards only, unless who starts the workers gives each its own.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", {value})"""

_ON_CPUS = """\
# The workers of servers compute on CPUs: no card is used.
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
# Else a worker that asks a server which has gone would wait for ten minutes.
os.environ["GRPC_FAIL_FAST"] = "use_caller\""""

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
        before_os=_modules(facts, plan_has_code),
        after_os="\n".join(_modules_after(facts, plan_has_code)),
        futures=_FUTURES if facts.serves else "",
        managers="from contextlib import contextmanager" if facts.apart else "",
        alone="" if facts.clusters else _ALONE,
        visible=_visible(facts.plan.devices, facts.machine, clusters=facts.clusters)
        if not facts.serves
        else _ON_CPUS,
        allocator=_ALLOCATOR
        if any(carve.device != "CPU:0" for carve in facts.plan.devices.carve)
        else "",
        epochs=literal(training.epochs),
        batch=literal(training.batch_size),
        scope=_scope(facts.several, shared),
        seed=literal(training.seed),
        parquet="import pyarrow.parquet as pq" if _reads_parquet(facts) else "",
    )


# Of the versions of TensorFlow that `_ABOUT` asks for. A test holds them against the trainer's.
_CUDA_LIBRARIES = """\
# What TensorFlow opens to use NVIDIA cards, by the names that pip's packages give.
CUDA_LIBRARIES = [
    "libcudart.so.12",
    "libcublas.so.12",
    "libcublasLt.so.12",
    "libcufft.so.11",
    "libcusolver.so.11",
    "libcusparse.so.12",
    "libnccl.so.2",
    "libcudnn.so.9",
]


"""


def libraries(facts: ScriptFacts) -> str:
    """Return the trainer's function `load_libraries`, and the names that it is to load.

    Nothing for a plan that hides all cards.
    """
    names = ("load_libraries", "is_loaded", "in_search_path", "in_packages")
    functions = functions_of("cuda_libraries.py", *names) if facts.may_use_cards else ""
    return f"{_CUDA_LIBRARIES}{functions}" if functions else ""


def _modules(facts: ScriptFacts, plan_has_code: bool) -> str:
    """Return the imports of the standard library that stand before `os`, in their order."""
    table = facts.source.table
    names = {"importlib.util", "inspect"} if plan_has_code else set()
    names |= {"ctypes"} if facts.may_use_cards else set()
    if facts.clusters:
        names |= {"io", "json"}
    if table is not None and table.reads_by:
        names.add(table.reads_by)
    return "\n".join(f"import {name}" for name in sorted(names))


def _modules_after(facts: ScriptFacts, plan_has_code: bool) -> list[str]:
    """Return the imports that stand after `os`."""
    signals = ["import signal"] if facts.clusters else []
    signals += ["import socket"] if facts.serves else []
    paths = ["import sysconfig"] if facts.may_use_cards else []
    times = ["import time"] if facts.serves else []
    return [*signals, *(["import sys"] if plan_has_code else []), *paths, *times]


def _reads_parquet(facts: ScriptFacts) -> bool:
    table = facts.source.table
    return table is not None and not table.reads_by


def _cuda_names(devices: DeviceSettings, machine: Machine | None) -> list[str]:
    """Return what CUDA must call the visible cards.

    These are UUIDs if they are known, else numbers.
    """
    cards = [name for name in devices.visible if not name.startswith("CPU")]
    return [_cuda_name(name, machine) for name in cards]


def _cuda_name(name: str, machine: Machine | None) -> str:
    card = machine.card(name) if machine and not machine.marked else None
    return card.uuid if card else name.removeprefix("GPU:")


def _visible(devices: DeviceSettings, machine: Machine | None, *, clusters: bool) -> str:
    if not devices.visible:
        return ""
    cards = _cuda_names(devices, machine)
    if cards and clusters:
        return _VISIBLE_BY_WORKER.format(value=literal(",".join(cards)))
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
    output = " --output somewhere/else" if saves(facts) else ""
    text = _ABOUT.format(
        name="\0",
        model=_described(plan.model.name, plan.model.file or plan.model.python, MODELS),
        data=_described(plan.data.name, path_of(plan.data), DATA),
        version=__version__,
        parquet=' "pyarrow>=20"' if _reads_parquet(facts) else "",
        run=run_workers(facts) if facts.clusters else _RUN.format(output=output),
        saves=", and saves the model where --output says" if saves(facts) else "",
    )
    if facts.machine is not None and facts.machine.practice:
        text += _PRACTISED.format(cards=facts.machine.practice)
    return [line.replace("\0", comment(plan.name)) for line in text.split("\n")]


def _described(name: str | None, file: str | None, known: Mapping[str, BuiltIn]) -> str:
    return f"{name}: {known[name].help}" if name else comment(str(file))


_PARTS = (
    opening,
    libraries,
    devices,
    strategy,
    own_code,
    data,
    model,
    prepared,
    optimizer,
    joined_updates,
    phases,
    loss,
    metrics,
    steps,
    passes,
    training,
)


def python_script(
    plan: Plan,
    machine: Machine | None,
    base: Path,
    seen: DataFacts | None = None,
    built: ModelFacts | None = None,
) -> str:
    """The plan as a stand-alone script for TensorFlow and Keras, formatted like `ruff format`'s.

    It trains the same model on the same data and devices, with the same losses. `base` is the
    folder that relative files of the plan start from; of a data file only the table of contents is
    read. `machine` is the one that the plan is for, by which cards get their UUIDs. `seen` is what
    the function of `data.python` last returned, or the file holds; `built` is what the model was
    when it was last looked at. Raises ExportError, in words, for a plan that cannot be exported: an
    UnseenError where these two would help.
    """
    plan = plan.completed(seen.fit) if seen else plan
    if why_fitted(plan, seen, built):
        refusals.check_fitted(plan, built.own_steps if built else ())
        fitted = FittedPlan(plan, machine, base, seen, built)
        common = [part(fitted.facts) for part in (opening, libraries, devices, strategy)]
        parts = [*common, *(part(fitted) for part in FIT_PARTS)]
    else:
        refusals.check(plan)
        facts = ScriptFacts.of(plan, machine, base, seen, built)
        parts = [part(facts) for part in _PARTS]
    return finished([part.strip("\n") + "\n" for part in parts if part])


def files_beside(plan: Plan) -> dict[str, Path]:
    """Return the files that the script expects beside itself: the present path of each, by name.

    On this machine the script finds them at those paths, too.
    """
    return {DIGITS_FILE: digits_file()} if plan.data.name == "digits" else {}
