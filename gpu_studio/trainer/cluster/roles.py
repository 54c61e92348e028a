"""Who takes part in a run of several processes, and what TensorFlow is told of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpu_studio.contract import process_title

Role = Literal["chief", "worker", "server"]

JOBS: dict[Role, str] = {"chief": "chief", "worker": "worker", "server": "ps"}
"""What TensorFlow calls each role."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process. It `serves` if another, the chief, says what it does."""

    role: Role
    index: int
    serves: bool = False

    @property
    def title(self) -> str:
        """Its name for a person."""
        return process_title(self.role, self.index)

    @property
    def called(self) -> str:
        """It in a sentence: `worker 1`, `the chief`."""
        return f"the {self.title}" if self.role == "chief" else self.title

    @property
    def is_first(self) -> bool:
        """Whether its files are the run's."""
        return self.index == 0 and not self.serves

    @property
    def can_be_replaced(self) -> bool:
        """Whether the others go on without it, and with a new one: it keeps nothing."""
        return self.serves and self.role == "worker"


def equal_parts(workers: int) -> list[Part]:
    """The processes of a run of equal workers; the files of the first are the run's."""
    return [Part("worker", index) for index in range(workers)]


def served_parts(workers: int, servers: int) -> list[Part]:
    """The processes of a run with servers; the files of the chief are the run's."""
    return [
        Part("chief", 0),
        *(Part("worker", index, serves=True) for index in range(workers)),
        *(Part("server", index, serves=True) for index in range(servers)),
    ]


def config_of(part: Part, parts: Sequence[Part], addresses: Sequence[str]) -> str:
    """The TF_CONFIG of a process; `addresses` are those of the `parts`."""
    cluster: dict[str, list[str]] = {}
    for one, address in zip(parts, addresses, strict=True):
        cluster.setdefault(JOBS[one.role], []).append(address)
    task = {"type": JOBS[part.role], "index": part.index}
    return json.dumps({"cluster": cluster, "task": task})
