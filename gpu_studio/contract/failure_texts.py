"""Find the device, the layer and the cause of a failure in TensorFlow's own messages.

The texts are those of TensorFlow 2.20 and 2.21, in exceptions as well as in what its native code
prints.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_DEVICE = re.compile(r"device:((?:GPU|CPU):\d+)")
_ALLOCATOR = re.compile(
    r"Allocator \((?P<allocator>[^)]+)\) ran out of memory trying to allocate "
    r"(?P<size>[\d.]+[KMGT]?i?B)"
)
_ASKED_BY = re.compile(r"requested by op (?P<operation>\S+)")
# An allocation that the caller can do without is reported in the same words, and is no failure.
_HARMLESS = "is not a failure"
# A name in brackets without `node` is an operation that only waited for the one that failed.
_NODES = re.compile(r"\{\{node ([^}]+)\}\}|Detected at node '?([^'\s]+)")
NO_ROOM_TO_LOAD = r"failed to map segment|[Cc]annot allocate memory"
"""What the dynamic linker says where a library finds no memory, or too little is allowed.

None is missing.
"""
ROOM_TO_LOAD = ("Close other programs, or raise the limit that `ulimit -v` shows.",)
_COPY = re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True)
class AllocationRefusal:
    """An allocator (`GPU_0_bfc`) that could not give a size (`7.22MiB`) to an operation.

    The operation is "" if the message does not name it.
    """

    allocator: str
    size: str
    operation: str

    @property
    def device(self) -> str | None:
        """The logical device that the memory belongs to; None for the host's."""
        found = re.fullmatch(r"(GPU)_(\d+)_bfc", self.allocator)
        return f"{found[1]}:{found[2]}" if found else None


def device_in(text: str) -> str | None:
    """The first logical device (`GPU:1`) that an error names, if any."""
    found = _DEVICE.search(text)
    return found[1] if found else None


def operations_in(text: str) -> Iterator[str]:
    """The operations that an error names, in order."""
    for groups in _NODES.findall(text):
        yield from filter(None, groups)


def layer_of(operation: str, layers: Collection[str]) -> str | None:
    """Return the layer, of `layers`, of an operation such as `while/cnn_1/conv_1/Conv2D`.

    The scopes in the operation's name are layers' names. Keras appends a number to the scope of a
    layer that was called before (`conv_1` is `conv` again), so an exact match is preferred to one
    without its number, and an inner scope to an outer one.
    """
    scopes = operation.split("/")[::-1]
    exact = next((scope for scope in scopes if scope in layers), None)
    return exact or next(
        (plain for scope in scopes if (plain := _COPY.sub("", scope)) in layers), None
    )


def refusal_in(log: str) -> AllocationRefusal | None:
    """The last allocation in a log that failed and that its caller could not do without."""
    for line in reversed(log.splitlines()):
        found = _ALLOCATOR.search(line)
        if found and _HARMLESS not in line:
            asked = _ASKED_BY.search(line)
            return AllocationRefusal(
                found["allocator"], found["size"], asked["operation"] if asked else ""
            )
    return None
