"""Sizes in words."""

from __future__ import annotations


def binary_size(size: int) -> str:
    """A number of bytes in KiB, MiB or GiB."""
    value = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} GiB"
