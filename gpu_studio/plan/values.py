"""The Plan and its parts as plain, immutable values.

Every part has the defaults of a plan file that leaves it out. Values here may be wrong (a negative batch size can be
written down): `gpu_studio.plan.validation` says what is wrong with them, all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

VERSION = 1

BatchScope = Literal["global", "replica"]
DataSplit = Literal["random", "stratified", "ordered", "grouped"]
Options = Mapping[str, Any]

STRATEGIES = (
    "none",
    "one_device",
    "mirrored",
    "central_storage",
    "multi_worker",
    "parameter_server",
    "tpu",
    "placed",
)
RUNNABLE_STRATEGIES = ("none", "one_device", "mirrored", "central_storage", "placed")
ALL_REDUCES = ("auto", "nccl", "ring", "hierarchical_copy", "reduction_to_one_device")


@dataclass(frozen=True, slots=True)
class Carve:
    """One physical device cut into slices, each of which TensorFlow sees as a logical device.

    `slices_mib` holds a memory limit for each slice in MiB; on a CPU each is 0, because TensorFlow has no limit there.
    """

    device: str
    slices_mib: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Devices:
    """What TensorFlow may see of the machine. `visible` empty means all of it."""

    visible: tuple[str, ...] = ()
    memory_growth: bool = False
    soft_placement: bool = True
    log_placement: bool = False
    carve: tuple[Carve, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """Something of Keras' by its name, with the options Keras gives it: a metric, a loss, a schedule."""

    name: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """The model: exactly one of a built-in `name`, a `.keras` `file`, or a `python` function `file.py:function`."""

    name: str | None = None
    file: str | None = None
    python: str | None = None
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Data:
    """The data: exactly one of a built-in `name`, an `.npz` `file`, an image `folder`, or a `python` function.

    Fractions are of the samples left for training: `test_fraction` is cut off first and only where the data brings
    no test split of its own, then `validation_fraction`, likewise. `split` says how: "random"; "stratified", so that
    each class has its share everywhere; "ordered", the last samples for testing and those before them for validation;
    or "grouped", where no group is in two splits. The group of each sample is in the array `groups` (None: "groups").
    """

    name: str | None = None
    file: str | None = None
    folder: str | None = None
    python: str | None = None
    options: Options = field(default_factory=dict)
    split: DataSplit = "random"
    groups: str | None = None
    validation_fraction: float = 0.1
    test_fraction: float = 0.1


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Stop when `monitor` has not improved by `min_delta` for `patience` epochs."""

    monitor: str = "val_loss"
    patience: int = 3
    min_delta: float = 0.0
    restore_best: bool = True


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """When to write checkpoints and how many to keep, the best by `monitor` always besides the last `keep`.

    `every_epochs` 0 writes none at epoch ends; `every_steps` 0 writes none in mid-epoch.
    """

    every_epochs: int = 1
    every_steps: int = 0
    keep: int = 3
    monitor: str = "val_loss"


@dataclass(frozen=True, slots=True)
class Training:
    """How to train. `options` are the optimizer's, as Keras names them (`momentum`, `global_clipnorm`, …)."""

    epochs: int = 1
    batch_size: int = 32
    batch_scope: BatchScope = "global"
    optimizer: str = "adam"
    options: Options = field(default_factory=dict)
    learning_rate: float = 0.001
    schedule: Named | None = None
    loss: Named = Named("auto")
    metrics: tuple[Named, ...] = (Named("auto"),)
    seed: int = 0
    mixed_precision: bool = False
    steps_per_call: int = 0
    early_stopping: EarlyStopping | None = None
    checkpoint: Checkpoint = Checkpoint()


@dataclass(frozen=True, slots=True)
class Placed:
    """Which layer runs on which logical device; a tuple of several devices splits the layer's units over them.

    A batch is cut into `micro_batches`, so that the devices work at the same time. With `recompute` a stage keeps only
    its inputs for the backward pass and computes the rest again: less memory, more time.
    """

    micro_batches: int = 1
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recompute: bool = False


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the work is spread. `devices` are logical names; empty means all of them."""

    strategy: str = "none"
    devices: tuple[str, ...] = ()
    all_reduce: str = "auto"
    parameter_device: str | None = None
    placed: Placed | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run is made from."""

    name: str = "untitled"
    devices: Devices = Devices()
    model: Model = Model()
    data: Data = Data()
    training: Training = Training()
    distribution: Distribution = Distribution()
    version: int = VERSION
