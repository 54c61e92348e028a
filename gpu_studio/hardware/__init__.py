"""The machine's hardware, queried in separate processes: NVML is never called in this one.

`python -m gpu_studio.hardware` prints the inventory once; `python -m gpu_studio.hardware.sampler`
watches it continuously.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_studio.common.late_names import late_names

if TYPE_CHECKING:
    from gpu_studio.hardware.accompanying import accompany
    from gpu_studio.hardware.asking import InventoryError, inventory, parse_inventory

__all__ = ["InventoryError", "accompany", "inventory", "parse_inventory"]

if not TYPE_CHECKING:
    # The process that queries NVML needs none of them, and must start fast.
    __getattr__ = late_names(__name__, ("asking", "accompanying"))
