"""Plan files with one hostile value in one field, for every field that a plan can have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any

import tomli_w

from gpu_studio.plan.keys import TABLES, all_keys

LONG = "x" * 100_000
DEEP: list[Any] = []
for _ in range(40):
    DEEP = [DEEP]

VALUES: Mapping[str, Any] = {
    "a yes": True,
    "a number": 7,
    "nothing": "",
    "empty list": [],
    "empty table": {},
    "zero": 0,
    "negative": -1,
    "least of 64 bits": -(2**63),
    "greatest of 64 bits": 2**63 - 1,
    "more than 64 bits": 2**64,
    "3,000 digits": 10**3000,
    "great fraction": 1e308,
    "small fraction": 5e-324,
    "infinity": math.inf,
    "less than all": -math.inf,
    "not a number": math.nan,
    "long text": LONG,
    "long words": "word " * 20_000,
    "many lines": "\n" * 100_000,
    "null": "a\0b",
    "escapes": "\x1b]0;PWNED\x07\x1b[31m\x9b2J",
    "bidi": "abc\u202egnp.exe\u2066",
    "unknown letters": "\ue000\ufffe\U0010ffff",
    "markup": "<script>alert(1)</script>",
    "above": "../../../../../../etc/passwd",
    "above with code": "../../../../../etc/passwd:run",
    "device": "/dev/zero",
    "device with code": "/dev/zero:run",
    "folder": "/",
    "folder with code": "/:run",
    "memory": "/proc/self/mem",
    "line of code": "loss\nimport unasked\n#",
    "shell": "'$(touch unasked)`id`;\"\\",
    "picture": '<img src="/dev/zero">',
    "address": "http://127.0.0.1:9/x",
    "long path": "/" + "a/" * 20_000,
    "long list": [0] * 9_999,
    "long list of texts": ["x"] * 9_999,
    "list of long texts": [LONG] * 3,
    "deep list": DEEP,
    "list of tables": [{}, {"name": "x"}, {"device": LONG}],
    "table": {"name": LONG, LONG: 1, "\x1b[31m": "\x1b[31m"},
    "table of tables": {"a": {"a": {"a": {"a": 1}}}},
    "infinite name": {"name": "x", "value": math.inf},
}

BASE: Mapping[str, Any] = {
    "version": 1,
    "name": "hostile",
    "devices": {"carve": [{"device": "CPU:0", "slices_mib": [0, 0]}]},
    "model": {"name": "mlp", "options": {"hidden": [4]}},
    "data": {"name": "digits", "options": {"samples": 64}},
    "training": {
        "epochs": 1,
        "schedule": {"name": "CosineDecay", "decay_steps": 10},
        "early_stopping": {"monitor": "val_loss"},
        "checkpoint": {"every_epochs": 1},
        "callbacks": [{"name": "CSVLogger", "options": {"filename": "log.csv"}}],
        "phases": [{"after": 1, "learning_rate": 0.01}],
    },
    "distribution": {"strategy": "none", "placed": {"layers": {"dense": "CPU:0"}}},
    "cluster": {"workers": 2, "slurm": {}, "kubernetes": {}},
}


_SOUND: Mapping[str, Any] = {
    "version": 1,
    "name": "sound",
    "devices": {"carve": [{"device": "CPU:0", "slices_mib": [0, 0]}]},
    "model": {"name": "mlp", "options": {"hidden": [4]}},
    "data": {"name": "synthetic", "options": {"samples": 64, "shape": [6], "classes": 3}},
    "training": {
        "epochs": 3,
        "batch_size": 16,
        "optimizer": "adam",
        "metrics": ["accuracy"],
        "early_stopping": {"monitor": "val_loss"},
        "checkpoint": {"every_epochs": 1},
    },
}
_PARTS: Mapping[str, Mapping[str, Any]] = {
    "none": {"devices": {}, "model": {"name": "mlp", "frozen": ["dense"]}},
    "one_device": {"distribution": {"devices": ["CPU:1"]}},
    "mirrored": {"distribution": {"devices": ["CPU:0", "CPU:1"], "all_reduce": "auto"}},
    "central_storage": {"distribution": {"parameter_device": "CPU:0"}},
    "placed": {
        "distribution": {"placed": {"micro_batches": 2, "layers": {"outputs": "CPU:1"}}},
    },
    "multi_worker": {
        "devices": {},
        "cluster": {"workers": 2, "start": "slurm", "slurm": {"time": "10", "partition": "p"}},
    },
    "parameter_server": {"devices": {}, "cluster": {"workers": 2, "servers": 1}},
}
SOUND: Mapping[str, Mapping[str, Any]] = {
    name: {**_SOUND, **parts, "distribution": {**parts.get("distribution", {}), "strategy": name}}
    for name, parts in _PARTS.items()
}
"""A plan for each strategy that nothing is wrong with: what is put into it, all rules look at."""


def fields() -> list[str]:
    """Every key of a plan by its dotted path, tables too; a layer and an option stand for all."""
    named = [each.replace("NAME", "out") for each in TABLES if each]
    keys = [key.path.replace("NAME", "out") for key in all_keys()]
    inner = (
        "model.options.hidden",
        "data.options.samples",
        "distribution.placed.layers.dense",
        "training.options.momentum",
        "training.class_weight.0",
        "training.schedule.decay_steps",
        "training.schedule.name",
        "training.loss.name",
        "unknown",
        "training.unknown",
    )
    return sorted({*named, *keys, *inner})


def hostile_plans(
    base: Mapping[str, Any] = BASE, first: int = 0, every: int = 1
) -> Iterator[tuple[str, str, str]]:
    """Fields with values, one of so many: the field, what it has, the text of the plan file."""
    pairs = ((field, what) for field in fields() for what in VALUES)
    for field, what in islice(pairs, first, None, every):
        yield field, what, tomli_w.dumps(_with(base, field.split("."), VALUES[what]))


def _with(base: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    tables: dict[str, Any] = deepcopy(dict(base))
    table: Any = tables
    for key in path[:-1]:
        if isinstance(table, list):
            table = table[0]
        if not isinstance(table.get(key), dict | list):
            table[key] = {}
        table = table[key]
    if isinstance(table, list):
        table = table[0]
    table[path[-1]] = value
    return tables
