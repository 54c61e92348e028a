"""Operations that a person puts on devices by hand, to see where TensorFlow executes them.

Pure values and rules. All operations take and make square matrices of one size, so that any may
follow any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gpu_studio.common.figures import grouped
from gpu_studio.lab.benchmark_results import BenchmarkError, BenchmarkRow
from gpu_studio.plan import is_logical_name, listed

KINDS: Final[Mapping[str, int]] = {
    "matmul": 2,
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "relu": 1,
    "tanh": 1,
    "softmax": 1,
    "transpose": 1,
}
"""The kinds of operations, each with how many matrices it takes."""
MOST_OPERATIONS: Final = 64
LARGEST_SIDE: Final = 16_384
SIDE: Final = 1000
"""The side of the matrices, if nothing else is said."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}", re.ASCII)
_WRITTEN: Final = re.compile(
    r"\s*(?P<name>[^=@()]*?)\s*=\s*(?P<kind>[^=@()]*?)\s*(?:\((?P<inputs>[^()]*)\))?\s*"
    r"(?:@\s*(?P<device>[^=@()]*?)\s*)?"
)


@dataclass(frozen=True, slots=True)
class HandOperation:
    """An operation: its name, its kind, the operations whose results it takes, and its device.

    What it takes besides is made up. Without a device TensorFlow chooses.
    """

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    device: str = ""

    def __str__(self) -> str:
        taken = f"({', '.join(self.inputs)})" if self.inputs else ""
        return f"{self.name}={self.kind}{taken}{f'@{self.device}' if self.device else ''}"


@dataclass(frozen=True, slots=True)
class HandPlacement:
    """Operations, each after those whose results it takes, on square matrices of `side` float32.

    With `soft_placement` TensorFlow may execute an operation elsewhere than it was asked to.
    """

    operations: tuple[HandOperation, ...] = field(default=())
    soft_placement: bool = True
    side: int = SIDE

    @property
    def asked(self) -> dict[str, Any]:
        """What the trainer is asked, as JSON values."""
        each = [
            {"name": one.name, "kind": one.kind, "inputs": list(one.inputs), "device": one.device}
            for one in self.operations
        ]
        return {"operations": each, "side": self.side}


def operation_of(text: str) -> HandOperation:
    """Read `total=add(a,b)@CPU:0`. Raises BenchmarkError for anything else."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise BenchmarkError(
            f"{text!r} is no operation: write NAME=KIND(INPUT,…)@DEVICE, such as a=matmul@CPU:0 or "
            "total=add(a,b)@CPU:0."
        )
    inputs = tuple(each.strip() for each in (found["inputs"] or "").split(",") if each.strip())
    return HandOperation(found["name"], found["kind"], inputs, found["device"] or "")


def classic(
    devices: Sequence[str], side: int = SIDE, *, soft_placement: bool = True
) -> HandPlacement:
    """One multiplication on each device, and their sum on the CPU."""
    products = [HandOperation(f"product_{n}", "matmul", (), on) for n, on in enumerate(devices)]
    sums: list[HandOperation] = []
    for place, product in enumerate(products[1:]):
        before = sums[-1].name if sums else products[0].name
        name = "total" if place + 2 == len(products) else f"sum_{place}"
        sums.append(HandOperation(name, "add", (before, product.name), "CPU:0"))
    return HandPlacement((*products, *sums), soft_placement, side)


def checked(placement: HandPlacement) -> HandPlacement:
    """The placement itself. Raises BenchmarkError with all that is wrong with it."""
    if wrong := problems(placement):
        raise BenchmarkError(" ".join(wrong))
    return placement


def problems(placement: HandPlacement) -> list[str]:
    """What is wrong with it, in sentences, whatever the machine has."""
    found = [] if placement.operations else ["There is no operation: add one."]
    if len(placement.operations) > MOST_OPERATIONS:
        found.append(
            f"There are {len(placement.operations)} operations, and at most {MOST_OPERATIONS} may "
            "be: leave some out."
        )
    if not 1 <= placement.side <= LARGEST_SIDE:
        found.append(
            f"The side of the matrices is {placement.side}: give one from 1 to "
            f"{grouped(LARGEST_SIDE)}."
        )
    known: list[str] = []
    for each in placement.operations:
        found += _problems_of(each, known)
        known.append(each.name)
    return found


def _problems_of(one: HandOperation, known: Sequence[str]) -> list[str]:
    found = []
    if not _NAME.fullmatch(one.name):
        found.append(
            f"{one.name!r} is no name of an operation: take letters, digits and _, a letter first, "
            "32 at most."
        )
    elif one.name in known:
        found.append(f"Two operations are called {one.name}: call one otherwise.")
    if one.kind not in KINDS:
        found.append(f"{one.name} is {one.kind!r}, which is none of {listed(KINDS)}.")
    elif len(one.inputs) > KINDS[one.kind]:
        found.append(f"{one.name} takes {len(one.inputs)} results; {one.kind} {KINDS[one.kind]}.")
    missing = (name for name in one.inputs if name not in known)
    found += [f"{one.name} takes {name}, which is no operation before it." for name in missing]
    if one.device and not is_logical_name(one.device):
        found.append(
            f"{one.name} is on {one.device!r}, which is no name of a device: write it as "
            "TensorFlow does, CPU:0 or GPU:1."
        )
    return found


def unknown_devices(placement: HandPlacement, there: Sequence[str]) -> dict[str, str]:
    """What is to be said of each operation, by name, whose device is not among those there."""
    return {
        one.name: why_not_there(one.device, there, soft_placement=placement.soft_placement)
        for one in placement.operations
        if one.device and one.device not in there
    }


def why_not_there(device: str, there: Sequence[str], *, soft_placement: bool) -> str:
    """Say that a device does not exist, what becomes of what is asked of it, and what to do."""
    then = (
        "With soft placement TensorFlow takes another instead, without a word."
        if soft_placement
        else "Without soft placement TensorFlow executes nothing of what is asked together with it."
    )
    more = "a card" if device.startswith("GPU") else "the CPU"
    return (
        f"There is no {device}: TensorFlow has {listed(there)}. {then} Ask for one of those, or "
        f"carve {more} into as many in a plan, and name it."
    )


def with_explanation(row: BenchmarkRow, explained: Mapping[str, str]) -> BenchmarkRow:
    """The row of an operation, with why it has no device, or another one, if nothing says so."""
    if not row.name or row.what == "sent":
        return row
    if row.devices:
        moved = row.asked and row.devices != (row.asked,)
        why_not = explained.get(row.name, "") if moved else ""
    else:
        why_not = explained.get(row.name) or "TensorFlow refused another one, and so all."
    return msgspec.structs.replace(row, why_not=row.why_not or why_not)
