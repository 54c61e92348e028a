"""The number of a logical device from which it has its colour and dash, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_studio.ui.theme.tokens import HOST


def places(names: Iterable[str]) -> dict[str, int]:
    """The place of each of TensorFlow's logical devices, given all of them in its order.

    Beside cards the CPU is the host, which has no colour of its own; without cards the logical CPUs stand for them.
    """
    listed = tuple(names)
    beside_cards = any(name.startswith("GPU") for name in listed)
    return {name: HOST if beside_cards and name.startswith("CPU") else place for place, name in enumerate(listed)}
