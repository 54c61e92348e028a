"""The Plan and its parts as plain, immutable values, and the problems that a plan can have.

Defaults are those of a plan file that leaves a part out. Values may be invalid (a batch size may be
negative): `gpu_studio.plan.validation` reports what is wrong, all at once. A problem stops a plan
from running; a warning does not. A problem is worded so that a person can fix it: the field, its
value, what to do; where an edit remedies it, that edit comes with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from gpu_studio.common.cut_texts import LONGEST_LINE, MOST_MISTAKES, cut
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.keras_objects import can_judge

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
class Callback:
    """A callback of Keras: a built-in one by `name`, or a `file.py:function` that gives some.

    The function may be a class; `options` are its arguments.
    """

    name: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model: one of a built-in `name`, a `.keras` `file`, or a `python` `file.py:function`.

    `weights` is a file that it begins with, `.weights.h5` or `.keras`. `frozen` names the layers
    that training leaves as they are, as `plan.freezing` reads it.
    """

    name: str | None = None
    file: str | None = None
    python: str | None = None
    options: Options = field(default_factory=dict)
    weights: str | None = None
    frozen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Data:
    """The data: a built-in `name`, `.npz` `file`, image `folder`, `table` or `python` function.

    Fractions refer to the remaining training samples: `test_fraction` is split off first, and only
    if the data have no test split of their own, then `validation_fraction`, likewise. `split` says
    how: "random"; "stratified", so that each class has the same share in every split; "ordered",
    the last samples for testing and those before them for validation; or "grouped", where no group
    is in two splits. The array or column `groups` (None: "groups") has the group of each sample.
    """

    name: str | None = None
    file: str | None = None
    folder: str | None = None
    table: str | None = None
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

    def instead(self, measures: Sequence[str]) -> str | None:
        """What judges in place of the default, if the model measures no loss.

        It is the first of `measures` (without splits; none if not known) of which it is known which
        way is better. None if there is none, or if `monitor` counts.
        """
        if not self.lacks_loss(measures):
            return None
        split = CheckpointSettings().monitor.partition("_")[0]
        return next((f"{split}_{each}" for each in measures if can_judge(each)), None)

    def lacks_loss(self, measures: Sequence[str]) -> bool:
        """Whether the default is to judge, and the model is known to measure no loss."""
        default = CheckpointSettings().monitor
        loss = default.partition("_")[2]
        return self.monitor == default and bool(measures) and loss not in measures


@dataclass(frozen=True, slots=True)
class Phase:
    """A later phase of the training, which begins `after` so many epochs with a new optimizer.

    Its `learning_rate` is constant, and `frozen` stands in the place of the model's.
    """

    after: int
    learning_rate: float
    frozen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputTraining:
    """What one output of a model learns by; what is None is as `Training` says for all outputs.

    `loss_weight` is that of its loss in the sum. With the loss "none" the output learns nothing.
    """

    loss: Named | None = None
    loss_weight: float = 1.0
    metrics: tuple[Named, ...] | None = None


@dataclass(frozen=True, slots=True)
class Training:
    """How to train.

    `options` are the optimizer's, as Keras names them (`momentum`, `global_clipnorm`, …).
    Optimizer, schedule, loss and metrics have Keras' names, or are a `file.py:function` of the
    user's own. "compiled" is what the user's model was compiled with; "auto" is the same where
    there is such, else Adam, and what the data suggest. `class_weight` is how much a sample, step
    or pixel counts in the loss, by its class's number. `outputs` says what each output learns by,
    by Keras' names, where a model has several. `steps_per_epoch` and `validation_steps` are global
    batches; 0 means all of the data. `phases` are those after the first, which is as all else says.
    `tf32` lets cards since 8.0 round factors of float32 products to 10 bits; `jit_compile` is
    XLA's, "auto" as in Keras. Every so many epochs as `validation_freq` are validated; so many as
    `initial_epoch` count as trained before. `as_in_script` are the names of those that are as the
    script of the data gives them to `fit`: they have their defaults here until that is known, and
    one that has another value is none.
    """

    epochs: int = 1
    batch_size: int = 32
    batch_scope: BatchScope = "global"
    shuffle: bool = True
    optimizer: str = "auto"
    options: Options = field(default_factory=dict)
    learning_rate: float = 0.001
    schedule: Named | None = None
    loss: Named = Named("auto")
    metrics: tuple[Named, ...] = (Named("auto"),)
    outputs: Mapping[str, OutputTraining] = field(default_factory=dict)
    class_weight: Options = field(default_factory=dict)
    seed: int = 0
    mixed_precision: bool = False
    tf32: bool = True
    jit_compile: bool | Literal["auto"] = "auto"
    steps_per_call: int = 0
    steps_per_epoch: int = 0
    validation_steps: int = 0
    validation_freq: int = 1
    initial_epoch: int = 0
    early_stopping: EarlyStopping | None = None
    checkpoint: CheckpointSettings = CheckpointSettings()
    callbacks: tuple[Callback, ...] = ()
    phases: tuple[Phase, ...] = ()
    as_in_script: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.as_in_script:  # whoever sets another value means it
            usual, none = Training(), object()
            pairs = {
                name: (getattr(self, name, none), getattr(usual, name, none))
                for name in self.as_in_script
            }
            left = tuple(name for name, (mine, other) in pairs.items() if mine == other)
            object.__setattr__(self, "as_in_script", left)

    @property
    def trained_epochs(self) -> int:
        """How many epochs are trained: those after the initial ones."""
        return self.epochs - self.initial_epoch

    @property
    def first_epochs(self) -> int:
        """How many of those a later phase follows: all, without phases."""
        return (self.phases[0].after if self.phases else self.epochs) - self.initial_epoch

    def validations(self, epoch: int) -> int:
        """How often is validated until so many epochs have ended, initial ones included."""
        return epoch // self.validation_freq - self.initial_epoch // self.validation_freq

    def saying(self, names: Iterable[str]) -> Training:
        """The same, where these are no longer as in the script, whatever their values."""
        said = frozenset(names)
        left = tuple(name for name in self.as_in_script if name not in said)
        return self if left == self.as_in_script else replace(self, as_in_script=left)


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
    cluster: Cluster | None = None
    version: int = VERSION

    def completed(self, given: Mapping[str, Any]) -> Self:
        """The plan with what its script's `fit` is `given` of what the plan leaves to the script.

        What is not given is left to the script still.
        """
        names = self.training.as_in_script
        known = {name: given[name] for name in names if name in given}
        if not known:
            return self
        left = tuple(name for name in names if name not in given)
        return replace(self, training=replace(self.training, **known, as_in_script=left))


LONGEST_SHOWN = 60
FEW = 8
"""So many names can be read in one sentence."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: `field`, such as `training.batch_size`; `received`, its value.

    `advice`, what to do. A text of the file may stand in both: they are cut.
    """

    field: str
    received: str
    advice: str

    def __post_init__(self) -> None:
        for name in ("received", "advice"):
            object.__setattr__(self, name, cut(getattr(self, name), LONGEST_LINE))

    def __str__(self) -> str:
        end = "" if self.advice.endswith(("?", ".")) else "."
        return f"{self.field} is {self.received}: {self.advice}{end}"


@dataclass(frozen=True, slots=True)
class Unnamed(Problem):
    """Something is not named yet, such as a file: the plan is incomplete, but not wrong."""


class PlanError(Exception):
    """A plan that cannot be used, with every problem found; `source` says where it came from."""

    def __init__(self, problems: Iterable[Problem], source: str = "plan") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(self.problems, source)

    def __str__(self) -> str:
        count = len(self.problems)
        heading = (
            f"{self.source} cannot be used; {count} "
            f"{'thing needs' if count == 1 else 'things need'} mending:"
        )
        listed = [f"  {problem}" for problem in self.problems[:MOST_MISTAKES]]
        more = [f"  and {count - MOST_MISTAKES} more"] if count > MOST_MISTAKES else []
        return "\n".join([heading, *listed, *more])


def shown(value: Any, longest: int = LONGEST_SHOWN) -> str:
    """A value as written in a plan, shortened to a readable length."""
    return cut(_as_text(value), longest)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value[: LONGEST_SHOWN * 2]
        return (
            json.dumps(text, ensure_ascii=False) if text.isprintable() else f'"{printable(text)}"'
        )
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_as_text(each) for each in value[:LONGEST_SHOWN]) + "]"
    if isinstance(value, Mapping):
        pairs = list(value.items())[:LONGEST_SHOWN]
        inner = ", ".join(f"{printable(key)} = {_as_text(each)}" for key, each in pairs)
        return f"{{ {inner} }}"
    return str(value)


def printable(text: str) -> str:
    """The text with unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names as a list in a sentence: `a, b and c`."""
    every = [printable(each) for each in names]
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"


def path_to(path: str, key: str) -> str:
    """The path of a key in the table at `path`, safe to print whatever characters the key has."""
    plain = printable(key) if len(key) <= LONGEST_SHOWN else shown(key)
    return f"{path}.{plain}" if path else plain


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy that a button offers: `label` is its text (`Use 252`).

    `make` returns the corrected plan.
    """

    label: str
    make: Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: the plan can run, but a person should know this.

    `name` identifies the warning across plans; `text` says what it is, `why` what it means. The
    `mend`, if any, returns a plan without it; so do `others`, which are alternatives. One that
    `waits` ends by itself when other programs release what the plan needs.
    """

    name: str
    text: str
    why: str
    mend: Remedy | None = None
    others: tuple[Remedy, ...] = ()
    waits: bool = False

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Every way out, the best first."""
        return (() if self.mend is None else (self.mend,)) + self.others

    def with_remedies(self, remedies: Sequence[Remedy]) -> Caution:
        """The same with these remedies."""
        return replace(self, mend=remedies[0] if remedies else None, others=tuple(remedies[1:]))


def changing(label: str, part: str, **values: Any) -> Remedy:
    """The remedy that sets fields of a part, such as `training.checkpoint`; "" is the plan."""
    path = part.split(".") if part else []

    def make(plan: Plan) -> Plan:
        changed: Plan = _with(plan, path, values)
        return changed

    return Remedy(label, make)


def _with(part: Any, path: Sequence[str], values: dict[str, Any]) -> Any:
    if not path:
        made = replace(part, **values)
        return made.saying(values) if isinstance(made, Training) else made
    return replace(part, **{path[0]: _with(getattr(part, path[0]), path[1:], values)})
