"""The Plan and its parts as plain, immutable values.

Defaults are those of a plan file that leaves a part out. Values may be invalid (a batch size may be
negative): `gpu_studio.plan.validation` reports what is wrong, all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

VERSION = 1

BatchScope = Literal["global", "replica"]
DataSplit = Literal["random", "stratified", "ordered", "grouped"]
Options = Mapping[str, Any]

ALL_REDUCES = ("auto", "nccl", "ring", "hierarchical_copy", "reduction_to_one_device")


@dataclass(frozen=True, slots=True)
class Carve:
    """One physical device cut into slices, each of which TensorFlow sees as a logical device.

    `slices_mib` is the memory limit of each slice in MiB; on a CPU each is 0, because TensorFlow
    sets no limit there.
    """

    device: str
    slices_mib: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """What TensorFlow may see of the machine. `visible` empty means all of it."""

    visible: tuple[str, ...] = ()
    memory_growth: bool = False
    soft_placement: bool = True
    log_placement: bool = False
    carve: tuple[Carve, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """Something of Keras' by name, with its options: a metric, a loss, a schedule."""

    name: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model.

    Exactly one of a built-in `name`, a `.keras` `file`, or a `python` function `file.py:function`.
    """

    name: str | None = None
    file: str | None = None
    python: str | None = None
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Data:
    """The data: exactly one of a built-in `name`, `.npz` `file`, image `folder`, `python` function.

    Fractions refer to the remaining training samples: `test_fraction` is split off first, and only
    if the data have no test split of their own, then `validation_fraction`, likewise. `split` says
    how: "random"; "stratified", so that each class has the same share in every split; "ordered",
    the last samples for testing and those before them for validation; or "grouped", where no group
    is in two splits. The array `groups` (None: "groups") has the group of each sample.
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
class CheckpointSettings:
    """When to write checkpoints and how many to keep.

    The best by `monitor` is kept besides the last `keep`. `every_epochs` 0 writes none at epoch
    ends; `every_steps` 0 writes none within an epoch.
    """

    every_epochs: int = 1
    every_steps: int = 0
    keep: int = 3
    monitor: str = "val_loss"


@dataclass(frozen=True, slots=True)
class Training:
    """How to train.

    `options` are the optimizer's, as Keras names them (`momentum`, `global_clipnorm`, …).
    """

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
    checkpoint: CheckpointSettings = CheckpointSettings()


@dataclass(frozen=True, slots=True)
class Placed:
    """Which layer runs on which logical device.

    A tuple of several devices splits the layer's units over them. A batch is cut into
    `micro_batches`, so that the devices work at the same time. With `recompute` a stage keeps only
    its inputs for the backward pass and recomputes the rest: less memory, more time.
    """

    micro_batches: int = 1
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recompute: bool = False


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the work is distributed. `devices` are logical names; empty means all of them."""

    strategy: str = "none"
    devices: tuple[str, ...] = ()
    all_reduce: str = "auto"
    parameter_device: str | None = None
    placed: Placed | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that defines a run."""

    name: str = "untitled"
    devices: DeviceSettings = DeviceSettings()
    model: ModelSettings = ModelSettings()
    data: Data = Data()
    training: Training = Training()
    distribution: Distribution = Distribution()
    version: int = VERSION
