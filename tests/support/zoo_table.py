"""The programs of `tests/zoo` and their plans, by what `plans.toml` there says.

Nothing of the package is imported: Keras' own `fit` reads the same table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ZOO = Path(__file__).parents[1] / "zoo"
CLOSE = 1e-5
SEED = 3
TWO = ["CPU:0", "CPU:1"]
WAYS: dict[str, Mapping[str, Any]] = {
    "none": {},
    "one_device": {"strategy": "one_device", "devices": ["CPU:1"]},
    "mirrored": {"strategy": "mirrored", "devices": TWO},
    "central_storage": {"strategy": "central_storage", "devices": TWO},
    "placed": {"strategy": "placed", "placed": {"micro_batches": 1}},
    "placed, 2 parts": {"strategy": "placed", "placed": {"micro_batches": 2}},
}
CLUSTERS: dict[str, Mapping[str, Any]] = {
    "multi_worker": {"workers": 2},
    "parameter_server": {"workers": 2, "servers": 1, "updates": "sync"},
    "parameter_server, 1 worker": {"workers": 1, "servers": 1},
}
"""Ways that take several processes of this machine, which are no ways of the tests."""
IN_PARTS = ("mirrored", "central_storage", "placed, 2 parts", "multi_worker", "parameter_server")
"""Where a batch comes in two parts, each of which draws and normalises by itself."""


@dataclass(frozen=True)
class Program:
    """A program of a user, and how it is trained here."""

    name: str
    program: str = ""
    model: str = "make_model"
    reference: str = ""
    plan: Mapping[str, Any] = field(default_factory=dict)
    draws: bool = False
    batch_statistics: bool = False
    close: float = CLOSE
    why: str = ""
    folder: Path = ZOO

    @property
    def file(self) -> Path:
        """The Python file."""
        return self.folder / f"{self.program or self.name}.py"

    def document(self, way: str = "none", **training: Any) -> dict[str, Any]:
        """Return the plan for one way, as TOML has it; `training` changes that part."""
        common = {
            "version": 1,
            "name": self.name,
            "devices": {"carve": [{"device": "CPU:0", "slices_mib": [0, 0]}]},
            "model": {"python": f"{self.file}:{self.model}"},
            "data": {
                "python": f"{self.file}:load",
                "validation_fraction": 0.0,
                "test_fraction": 0.0,
            },
            "training": {
                "epochs": 2,
                "batch_size": 20,
                "seed": SEED,
                "optimizer": "auto",
                "loss": "auto",
                "metrics": ["auto"],
                "checkpoint": {"monitor": "loss", "keep": 1},
            },
            "distribution": dict(WAYS.get(way, {})),
        }
        if way in CLUSTERS:
            strategy = way.partition(",")[0]
            common["devices"], common["distribution"] = {}, {"strategy": strategy}
            common["cluster"] = {**CLUSTERS[way], "trusted_network": True}
        own = _joined(common, _beside(self.plan, self.folder))
        if "file" in own["model"]:
            del own["model"]["python"]
        return _joined(own, {"training": training})

    def difference(self, way: str) -> str:
        """Why this way trains otherwise than `fit` does; empty where it must be equal."""
        if way in IN_PARTS and self.draws:
            return "each part of a batch draws its own random numbers"
        if way in IN_PARTS and self.batch_statistics:
            return "each part of a batch is seen by itself"
        return self.why


def halved(heavy: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The simplest placement: the first half of the layers with weights on the first device."""
    half = (len(heavy) + 1) // 2
    return {path: (TWO[int(number >= half)],) for number, path in enumerate(heavy)}


def programs(folder: Path = ZOO) -> dict[str, Program]:
    """All programs, by name."""
    table = tomllib.loads((folder / "plans.toml").read_text())
    return {name: Program(name, **each, folder=folder) for name, each in table.items()}


def _joined(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(left)
    for key, value in right.items():
        known = both.get(key)
        nested = isinstance(value, Mapping) and isinstance(known, Mapping)
        both[key] = _joined(known, value) if nested else value  # type: ignore[arg-type]
    return both


def _beside(value: Any, folder: Path) -> Any:
    """Make the names of the programs' own functions absolute."""
    if isinstance(value, Mapping):
        return {key: _beside(each, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_beside(each, folder) for each in value]
    return f"{folder}/{value}" if isinstance(value, str) and ".py:" in value else value
