"""The machine's hardware, queried in separate processes: NVML is never called in this one.

`python -m gpu_studio.hardware` prints the inventory once; `python -m gpu_studio.hardware.sampler`
watches it continuously.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_studio.hardware.accompanying import accompany
    from gpu_studio.hardware.asking import InventoryError, inventory, parse_inventory

__all__ = ["InventoryError", "accompany", "inventory", "parse_inventory"]

_HOMES = {"accompany": "accompanying"}


def __getattr__(name: str) -> Any:
    """Import names only on use: the process that queries NVML needs none and must start fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'asking')}"), name)
