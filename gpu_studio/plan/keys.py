"""Every key of a plan: what it is, its default, what it becomes in TensorFlow, when to change it.

Keys, kinds and defaults come from the plan's own types, and bounds from its options; the
words stand in `key_words`. The guide's page of options is made of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gpu_studio.plan.cluster_values import Cluster, Kubernetes, Slurm
from gpu_studio.plan.key_words import WORDS
from gpu_studio.plan.options import (
    CHECKPOINT_LIMITS,
    CLUSTER_LIMITS,
    DATA_LIMITS,
    EARLY_STOPPING_LIMITS,
    KUBERNETES_LIMITS,
    PLACED_LIMITS,
    SLURM_LIMITS,
    TRAINING_LIMITS,
    Kind,
    Option,
)
from gpu_studio.plan.values import (
    Callback,
    Carve,
    CheckpointSettings,
    Data,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    ModelSettings,
    Named,
    OutputTraining,
    Phase,
    Placed,
    Plan,
    Training,
    shown,
)


@dataclass(frozen=True, slots=True)
class PlanKey:
    """One key, by its dotted path; `call` is empty where TensorFlow and Keras have none."""

    path: str
    kind: str
    default: str
    text: str
    call: str
    when: str


TABLES: Mapping[str, tuple[type[Any], str, str]] = {
    "": (Plan, "The plan", "The first lines of the file."),
    "devices": (DeviceSettings, "Devices", "What TensorFlow may see of the machine."),
    "devices.carve": (
        Carve,
        "Slices",
        "`[[devices.carve]]`, at most once for each physical device: how it is cut.",
    ),
    "model": (
        ModelSettings,
        "Model",
        "Exactly one of `name`, `file` and `python`, and the options of what it names.",
    ),
    "data": (
        Data,
        "Data",
        "Exactly one of `name`, `file`, `folder`, `table` and `python`; and what is kept aside.",
    ),
    "training": (Training, "Training", "How the model is trained."),
    "training.outputs.NAME": (
        OutputTraining,
        "One of several outputs",
        "`[training.outputs.NAME]`, with the name that Keras gives the output.",
    ),
    "training.early_stopping": (
        EarlyStopping,
        "Early stopping",
        "Without this table a run trains all its epochs.",
    ),
    "training.checkpoint": (CheckpointSettings, "Checkpoints", "When they are written."),
    "training.phases": (
        Phase,
        "Phases",
        "`[[training.phases]]`: later phases, each with a new optimizer.",
    ),
    "training.callbacks": (
        Callback,
        "Callbacks",
        "`[[training.callbacks]]`, one table for each, in the order in which they are called.",
    ),
    "distribution": (
        Distribution,
        "Distribution",
        "How the work is spread over the logical devices.",
    ),
    "distribution.placed": (Placed, "Placed", 'With `strategy = "placed"`: what runs where.'),
    "cluster": (
        Cluster,
        "Cluster",
        "With a strategy of several processes: how many there are, and what starts them.",
    ),
    "cluster.slurm": (Slurm, "Slurm", 'With `start = "slurm"`: what Slurm is asked for.'),
    "cluster.kubernetes": (
        Kubernetes,
        "Kubernetes",
        'With `start = "kubernetes"`: what the exported manifest asks for.',
    ),
}
"""The tables of a plan: their type, heading, and one sentence, in the order of a plan file."""

_LIMITS: Mapping[str, Sequence[Option]] = {
    "data": DATA_LIMITS,
    "training": TRAINING_LIMITS,
    "training.checkpoint": CHECKPOINT_LIMITS,
    "training.early_stopping": EARLY_STOPPING_LIMITS,
    "distribution.placed": PLACED_LIMITS,
    "cluster": CLUSTER_LIMITS,
    "cluster.slurm": SLURM_LIMITS,
    "cluster.kubernetes": KUBERNETES_LIMITS,
}
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "bool | Literal['auto']": 'true, false or "auto"',
    "Options": "a table",
    "tuple[str, ...]": "a list of names",
    "tuple[int, ...]": "a list of whole numbers",
    "Named": "a name, or a table of a name and its options",
    "tuple[Named, ...]": "a list of names, or of tables of a name and its options",
    "Mapping[str, tuple[str, ...]]": "a table: a device, or a list of devices, for each layer",
    "BatchScope": '"global" or "replica"',
    "StartedBy": '"local", "slurm" or "kubernetes"',
    "JobKind": '"job" or "jobset"',
    "Updates": '"async" or "sync"',
    "DataSplit": '"random", "stratified", "ordered" or "grouped"',
}

_DEFAULTS = {
    "training.optimizer": "as compiled, else Adam",
    "training.loss": "chosen from the data and the model",
    "training.metrics": "chosen from the data and the model",
    "training.outputs.NAME.loss": "as `training.loss`",
    "training.outputs.NAME.metrics": "as `training.metrics`",
    "devices.visible": "all devices",
    "distribution.devices": "all GPUs, or all logical CPUs where there is none",
    "distribution.parameter_device": "`CPU:0` for several devices",
    "training.schedule": "none: the learning rate stays as it is",
    "data.groups": '`"groups"`',
    "cluster.slurm.folder": "the folder of runs",
    "cluster.slurm.partition": "Slurm's own",
    "cluster.kubernetes.image": "required to export a manifest",
    "cluster.kubernetes.namespace": "that of `kubectl`",
    "cluster.kubernetes.claim": "none: the run is lost with its pods",
}


def plan_keys(table: str) -> Iterator[PlanKey]:
    """The keys of one of TABLES, in the order of a plan file."""
    cls = TABLES[table][0]
    limits = {option.name: option for option in _LIMITS.get(table, ())}
    for each in fields(cls):
        path = f"{table}.{each.name}" if table else each.name
        if not _is_table(cls, each, path):
            text, call, when = WORDS.get(path, ("", "", ""))
            limit = limits.get(each.name)
            yield PlanKey(
                path,
                _kind(each, limit),
                _DEFAULTS.get(path) or _default(each),
                text or (limit.help if limit else ""),
                call,
                when,
            )


def all_keys() -> tuple[PlanKey, ...]:
    """Every key of a plan."""
    return tuple(key for table in TABLES for key in plan_keys(table))


_OPTION_KINDS: Mapping[Any, Kind] = {
    str: "text",
    str | None: "text",
    bool: "bool",
    tuple[str, ...]: "texts",
}


def option_of(path: str) -> Option:
    """A key as an option: its kind, bounds or choices, and default.

    Raises KeyError for a key of another kind, such as a number without bounds or a table.
    """
    table, _, name = path.rpartition(".")
    for limit in _LIMITS.get(table, ()):
        if limit.name == name:
            return limit
    cls = TABLES[table][0]
    hint = get_type_hints(cls)[name]
    default = next(each.default for each in fields(cls) if each.name == name)
    if get_origin(hint) is Literal:
        return Option(name, "choice", default, "", choices=get_args(hint))
    return Option(name, _OPTION_KINDS[hint], default, "", free=True)


def _is_table(cls: type[Any], each: Field[Any], path: str) -> bool:
    """Whether the field is one of TABLES by itself, or holds such."""
    if path in TABLES or f"{path}.NAME" in TABLES:
        return True
    hint = get_type_hints(cls)[each.name]
    return is_dataclass(hint) and hint is not Named


def _kind(each: Field[Any], limit: Option | None) -> str:
    if limit is not None:
        problem = limit.problem(limit.name, None)
        return (problem.advice if problem else "").removeprefix("give ").removeprefix("write ")
    return _KINDS[str(each.type).removesuffix(" | None")]


def _default(each: Field[Any]) -> str:
    if each.default is MISSING:
        return "required" if each.default_factory is MISSING else "empty"
    if each.default is None:
        return "not given"
    return f"`{shown(each.default)}`" if each.default != () else "empty"
