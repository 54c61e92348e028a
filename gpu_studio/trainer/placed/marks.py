"""Whose an operation of TensorFlow's graph is, read from its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_studio.trainer.placed.scopes import LAYER, UPDATE

PLUMBING = frozenset(
    {"_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"}
    | {"Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond", "ControlTrigger"}
    | {"Const", "Identity", "IdentityN", "NoOp"}
)
"""Operations that compute nothing: they carry values between devices, into functions and round loops."""

_MARK = re.compile(rf"(?:^|/)({LAYER}|{UPDATE})\.(\d+)\.(\d+|join)(?:_\d+)?(?=/)")
# Of the gradients that are asked for here, and of a GradientTape's.
_BACKWARD = re.compile(r"(?:^|/)(?:gradients|gradient_tape)(?:_\d+)?/")


@dataclass(frozen=True, slots=True)
class Mark:
    """The seat that an operation belongs to, the part of a split layer (or `join`), and the pass."""

    seat: int
    part: str
    way: str


def mark_of(name: str) -> Mark | None:
    """The mark in the name of an operation; None if it belongs to no layer."""
    found = _MARK.search(name)
    if found is None:
        return None
    kind, seat, part = found.groups()
    return Mark(int(seat), part, "update" if kind == UPDATE else "backward" if _BACKWARD.search(name) else "forward")
