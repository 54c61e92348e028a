"""Handles, which are pointers to nothing known, as the places of cards."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_INSTANCES = 1000


@dataclass(frozen=True, slots=True)
class InstanceOf:
    """A MIG instance, counted from 0, of the card in a place."""

    place: int
    instance: int


Where = int | InstanceOf


def handle_of(handle: Any) -> Where:
    """The card, or MIG instance, that a handle is of."""
    number = (ctypes.cast(handle, ctypes.c_void_p).value or 0) - 1
    instance, place = divmod(number, _INSTANCES)
    return InstanceOf(place, instance - 1) if instance else place


def set_handle(reference: Any, where: Where) -> None:
    """Make the handle that `reference`, a `byref`, refers to one of this card or instance."""
    put_handle(reference._obj, where)  # noqa: SLF001 - a byref has no other way to its target


def put_handle(handle: Any, where: Where, offset: int = 0) -> None:
    """Make `handle`, or the one so many bytes into a structure, one of this card or instance."""
    number = where.place + _INSTANCES * (where.instance + 1) if isinstance(where, InstanceOf) else where
    ctypes.c_void_p.from_address(ctypes.addressof(handle) + offset).value = number + 1
