"""Which layer an operation of TensorFlow's graph belongs to, read from its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_studio.trainer.placed.scopes import LAYER, UPDATE

PLUMBING = frozenset(
    {"_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"}
    | {"Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond", "ControlTrigger"}
    | {"Const", "Identity", "IdentityN", "NoOp"}
)
"""Operations that compute nothing.

They carry values between devices, into functions and round loops.
"""

_MARK = re.compile(rf"(?:^|/)({LAYER}|{UPDATE})\.(\d+)\.(\d+|join)(?:_\d+)?(?=/)")
# The scopes of the gradients requested here, and of a GradientTape's.
_BACKWARD = re.compile(r"(?:^|/)(?:gradients|gradient_tape)(?:_\d+)?/")


@dataclass(frozen=True, slots=True)
class Mark:
    """The operation's seat, the part of a split layer (or `join`), and the pass."""

    seat: int
    part: str
    way: str


def mark_of(name: str) -> Mark | None:
    """Return the mark in the name of an operation; None if it belongs to no layer."""
    found = _MARK.search(name)
    if found is None:
        return None
    kind, seat, part = found.groups()
    return Mark(
        int(seat),
        part,
        "update" if kind == UPDATE else "backward" if _BACKWARD.search(name) else "forward",
    )
