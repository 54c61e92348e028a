"""Fake NVML handles: pointers whose values are the indices of cards."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_INSTANCES = 1000


@dataclass(frozen=True, slots=True)
class InstanceOf:
    """A MIG instance, counted from 0, of the card with an index."""

    place: int
    instance: int


Where = int | InstanceOf


def handle_of(handle: Any) -> Where:
    """The card or MIG instance of a handle."""
    number = (ctypes.cast(handle, ctypes.c_void_p).value or 0) - 1
    instance, place = divmod(number, _INSTANCES)
    return InstanceOf(place, instance - 1) if instance else place


def set_handle(reference: Any, where: Where) -> None:
    """Set the handle that `reference`, a `byref`, refers to, to this card or instance."""
    put_handle(reference._obj, where)  # noqa: SLF001 - a byref has no other way to its target


def put_handle(handle: Any, where: Where, offset: int = 0) -> None:
    """Set `handle`, or the one at a byte offset in a structure, to this card or instance."""
    number = (
        where.place + _INSTANCES * (where.instance + 1) if isinstance(where, InstanceOf) else where
    )
    ctypes.c_void_p.from_address(ctypes.addressof(handle) + offset).value = number + 1
