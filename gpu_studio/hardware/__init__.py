"""What the machine has. NVML is asked in processes of their own, never in this one.

`python -m gpu_studio.hardware` tells once what there is, `python -m gpu_studio.hardware.sampler` goes on watching it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_studio.hardware.accompanying import accompany
    from gpu_studio.hardware.asking import InventoryError, inventory, parse_inventory

__all__ = ["InventoryError", "accompany", "inventory", "parse_inventory"]

_HOMES = {"accompany": "accompanying"}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: the process that asks NVML needs none of it, and must start fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'asking')}"), name)
