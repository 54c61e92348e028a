"""What the machine has. NVML is asked in a process of its own, `python -m gpu_studio.hardware`, never in this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_studio.hardware.asking import InventoryError, inventory, parse_inventory

__all__ = ["InventoryError", "inventory", "parse_inventory"]


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: the process that asks NVML needs none of it, and must start fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.asking"), name)
