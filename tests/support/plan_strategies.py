"""Hypothesis strategies for plans: any that can be written down, and invalid ones of every kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gpu_studio.plan import (
    ALL_REDUCES,
    STRATEGIES,
    Card,
    Carve,
    CheckpointSettings,
    Data,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    Machine,
    ModelSettings,
    Named,
    Placed,
    Plan,
    Training,
)
from gpu_studio.plan.callbacks import CALLBACKS
from gpu_studio.plan.catalogue import DATA, MODELS, OPTIMIZERS, SCHEDULES
from gpu_studio.plan.cluster_values import Cluster, Kubernetes, Slurm
from gpu_studio.plan.data import COLOURS, SPLITS
from gpu_studio.plan.keras_objects import LOSSES, METRICS
from gpu_studio.plan.values import Callback, OutputTraining

WHOLE = st.integers(-(2**63) + 1, 2**63 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Letters of every kind, but no lone surrogates: no file can hold those.
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)


def texts(*likely: str) -> st.SearchStrategy[str]:
    """One of the likely texts, or any."""
    return st.sampled_from(likely) | TEXT if likely else TEXT


def options() -> st.SearchStrategy[dict[str, Any]]:
    """Any options that TOML can hold and a plan takes."""
    values = st.recursive(
        st.booleans() | WHOLE | FINITE | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    )
    return st.dictionaries(texts("hidden", "shape", "clipnorm", "width"), values, max_size=3)


def named(*likely: str) -> st.SearchStrategy[Named]:
    """A name with options, none of which is called `name`."""
    free = options().map(
        lambda given: {key: value for key, value in given.items() if key != "name"}
    )
    return st.builds(Named, texts(*likely), free)


PHYSICAL = texts("GPU:0", "GPU:1", "CPU:0", "GPU-5d0")
LOGICAL = texts("GPU:0", "GPU:3", "CPU:0", "CPU:1")


def several(each: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Up to three of them."""
    return st.lists(each, max_size=3).map(tuple)


DEVICES = st.builds(
    DeviceSettings,
    visible=several(PHYSICAL),
    memory_growth=st.booleans(),
    soft_placement=st.booleans(),
    log_placement=st.booleans(),
    carve=several(st.builds(Carve, PHYSICAL, several(st.sampled_from([0, 1024]) | WHOLE))),
)
OPTIONAL_TEXT = st.none() | TEXT
MODEL = st.builds(
    ModelSettings, st.none() | texts(*MODELS), OPTIONAL_TEXT, OPTIONAL_TEXT, options()
)
_SIDES = st.integers(1, 4096)
FOLDERS = st.builds(
    Data,
    folder=st.sampled_from(["images/", "../pets", "~/ä b", "/data/train"]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "size": st.lists(_SIDES, min_size=2, max_size=2),
            "colours": st.sampled_from(sorted(COLOURS)),
        },
    ),
    validation_fraction=st.floats(0, 0.9),
    test_fraction=st.floats(0, 0.9),
)
"""Folders of images with which the rules see nothing wrong."""
DATA_PART = FOLDERS | st.builds(
    Data,
    name=st.none() | texts(*DATA),
    file=OPTIONAL_TEXT,
    folder=OPTIONAL_TEXT,
    python=OPTIONAL_TEXT,
    options=options(),
    split=st.sampled_from(list(SPLITS)),
    groups=OPTIONAL_TEXT,
    validation_fraction=FINITE,
    test_fraction=FINITE,
)
MONITORS = texts("loss", "val_loss", "val_sparse_categorical_accuracy")
TRAINING = st.builds(
    Training,
    epochs=WHOLE,
    batch_size=st.integers(0, 64) | WHOLE,
    batch_scope=st.sampled_from(["global", "replica"]),
    optimizer=texts(*OPTIMIZERS),
    options=options(),
    learning_rate=FINITE,
    schedule=st.none() | named(*SCHEDULES),
    loss=named(*LOSSES),
    metrics=several(named(*METRICS)),
    seed=WHOLE,
    mixed_precision=st.booleans(),
    tf32=st.booleans(),
    jit_compile=st.sampled_from([True, False, "auto"]),
    shuffle=st.booleans(),
    validation_freq=WHOLE,
    steps_per_call=WHOLE,
    early_stopping=st.none() | st.builds(EarlyStopping, MONITORS, WHOLE, FINITE, st.booleans()),
    checkpoint=st.builds(CheckpointSettings, WHOLE, WHOLE, WHOLE, MONITORS),
    outputs=st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.builds(
            OutputTraining,
            st.none() | st.builds(Named, texts("none", "huber", "mse"), options()),
            st.floats(0, 1e6),
            st.none() | several(st.builds(Named, texts("auto", "auc"), options())),
        ),
        max_size=2,
    ),
    callbacks=several(st.builds(Callback, texts(*CALLBACKS, "callbacks.py:make"), options())),
)
DISTRIBUTION = st.builds(
    Distribution,
    strategy=texts(*STRATEGIES),
    devices=several(LOGICAL),
    all_reduce=texts(*ALL_REDUCES),
    parameter_device=st.none() | LOGICAL,
    placed=st.none()
    | st.builds(Placed, WHOLE, st.dictionaries(TEXT, several(LOGICAL), max_size=3), st.booleans()),
)
CLUSTER = st.builds(
    Cluster,
    start=st.sampled_from(["local", "slurm", "kubernetes"]),
    workers=WHOLE,
    servers=WHOLE,
    updates=st.sampled_from(["async", "sync"]),
    port=WHOLE,
    start_within=WHOLE,
    lost_after=WHOLE,
    restarts=WHOLE,
    with_fewer=st.booleans(),
    trusted_network=st.booleans(),
    slurm=st.none()
    | st.builds(
        Slurm, OPTIONAL_TEXT, TEXT, OPTIONAL_TEXT, WHOLE, WHOLE, several(TEXT), several(TEXT)
    ),
    kubernetes=st.none()
    | st.builds(
        Kubernetes,
        st.sampled_from(["job", "jobset"]),
        OPTIONAL_TEXT,
        OPTIONAL_TEXT,
        OPTIONAL_TEXT,
        WHOLE,
    ),
)


def plans() -> st.SearchStrategy[Plan]:
    """Any plan that a file can hold, nearly always one that the rules refuse."""
    return st.builds(
        Plan, TEXT, DEVICES, MODEL, DATA_PART, TRAINING, DISTRIBUTION, st.none() | CLUSTER
    )


def machines() -> st.SearchStrategy[Machine]:
    """A machine with up to four cards, some of them busy, some of unknown memory."""
    return st.builds(
        _machine,
        st.lists(st.none() | st.tuples(MIB_OF_CARD, MIB_OF_CARD), max_size=4),
        st.integers(1, 64),
        STATES,
    )


MIB_OF_CARD = st.integers(0, 200_000)


STATES = st.lists(st.sampled_from(["", "", "lost", "asleep", "at work"]), min_size=4, max_size=4)


def _machine(memories: list[tuple[int, int] | None], cores: int, states: list[str]) -> Machine:
    cards = tuple(_card(index, memory, states[index]) for index, memory in enumerate(memories))
    return Machine(cards, cores, 64_000, "" if cards else "there is none")


def _card(index: int, memory: tuple[int, int] | None, state: str) -> Card:
    if state in ("lost", "asleep"):
        return Card(
            index, "", "A card", asleep=state == "asleep", lost=state == "lost", why_unknown=state
        )
    total, used = memory or (None, None)
    return Card(
        index,
        f"GPU-{index}d0f",
        "A card",
        f"0000:0{index}:00.0",
        total,
        used and min(used, total or 0),
        utilisation_percent=90 if state else 0,
    )
