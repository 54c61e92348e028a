"""Folders like the kernel's for PCI devices, `/sys/bus/pci/devices`."""

from __future__ import annotations

from pathlib import Path


def listed_device(
    folder: Path,
    bus_id: str,
    *,
    vendor: str = "0x10de",
    kind: str = "0x030200",
    status: str = "active",
) -> None:
    """Add a device: by default an NVIDIA card that is awake."""
    device = folder / bus_id
    (device / "power").mkdir(parents=True)
    for name, text in (("vendor", vendor), ("class", kind), ("power/runtime_status", status)):
        (device / name).write_text(f"{text}\n", encoding="ascii")
