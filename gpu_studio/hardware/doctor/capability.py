"""Whether the code in a TensorFlow can run on a card of some compute capability.

Machine code runs on cards of the same major version and the same or a later minor one; PTX is compiled on the card's
machine for its own or any later capability (CUDA C++ Programming Guide, "Application Compatibility"). But XLA and
cuDNN ask the toolkit for code for the card itself, which fails for cards that are later than the toolkit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Capability = tuple[int, int]
Fit = Literal["native", "compiled", "too_old", "too_new", "unknown"]

NEWEST_KNOWN: tuple[tuple[tuple[int, int], Capability], ...] = (
    ((12, 9), (12, 1)),
    ((12, 8), (12, 0)),
    ((11, 8), (9, 0)),
    ((11, 1), (8, 6)),
)
"""From which CUDA toolkit on which capability is the newest that it compiles for; later toolkits first."""


def fit(card: Capability, code: Iterable[str], toolkit: tuple[int, ...]) -> Fit:
    """How `code` (`sm_80`, `compute_90`) fits the card. `toolkit` is the version of CUDA it was built with."""
    parts = [parsed for word in code if (parsed := _parse(word))]
    if not parts:
        return "unknown"
    if any(kind == "sm" and _runs(binary, card) for kind, binary in parts):
        return "native"
    newest = next((known for since, known in NEWEST_KNOWN if toolkit[:2] >= since), None)
    if newest is not None and card > newest:
        return "too_new"
    if any(kind == "compute" and ptx <= card for kind, ptx in parts):
        return "compiled"
    return "too_old" if card < min(each for _, each in parts) else "too_new"


def _runs(binary: Capability, card: Capability) -> bool:
    return binary[0] == card[0] and binary[1] <= card[1]


def _parse(word: str) -> tuple[str, Capability] | None:
    kind, _, number = word.partition("_")
    # A letter at the end (sm_90a) is code for that one architecture.
    digits = number.rstrip("af")
    if kind not in {"sm", "compute"} or not digits.isdecimal() or len(digits) < 2:
        return None
    return kind, (int(digits[:-1]), int(digits[-1]))
