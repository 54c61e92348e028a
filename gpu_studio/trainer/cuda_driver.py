"""Ask the CUDA driver library (libcuda) whether it starts, and which card is which.

It is called through ctypes. TensorFlow reports neither the reason of a failure nor a card's
UUID, and no longer a card's PCI address once its devices are set up.
"""

from __future__ import annotations

import ctypes
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_studio.common import practice

LIBRARY = "libcuda.so.1"
TEXT = 64
"""Bytes enough for a PCI address; a name gets four times as many."""


def cuda_driver(library: str = "") -> dict[str, Any]:
    """Return CUDA's version and its cards in its own order.

    If CUDA does not start, return its name of the `error`, and `why_not` in words. Practice cards
    have a driver library of their own.
    """
    library = library or str(practice.library(practice.DRIVER_FILE) or LIBRARY)
    nothing: dict[str, Any] = {"version": "", "cards": [], "error": "", "why_not": ""}
    try:
        cuda = ctypes.CDLL(library)
        return nothing | _ask(cuda)
    except OSError as error:
        return nothing | {"why_not": f"{library} cannot be loaded: {error}"}
    except AttributeError as error:
        return nothing | {"why_not": f"{library} is too old: {error}"}


_MEMORY_TYPE, _HOST_MEMORY, _UNKNOWN_POINTER = 2, 1, 1
"""CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST, CUDA_ERROR_INVALID_VALUE (cuda.h)."""


def is_pinned(address: int, library: str = LIBRARY) -> bool | None:
    """Whether CUDA has pinned the host's memory at this address; None if that cannot be asked.

    Of memory that it was never told of, the driver says that the value is invalid.
    """
    kind = ctypes.c_uint()
    try:
        cuda = ctypes.CDLL(library)
        code = cuda.cuPointerGetAttribute(
            ctypes.byref(kind), _MEMORY_TYPE, ctypes.c_uint64(address)
        )
    except (OSError, AttributeError):
        return None
    if code:
        return False if code == _UNKNOWN_POINTER else None
    return kind.value == _HOST_MEMORY


def _ask(cuda: Any) -> dict[str, Any]:
    version = _version(cuda)
    if code := cuda.cuInit(0):
        return {
            "version": version,
            "error": _text(cuda.cuGetErrorName, code),
            "why_not": _reason(cuda, code),
        }
    count = ctypes.c_int()
    if code := cuda.cuDeviceGetCount(ctypes.byref(count)):
        return {
            "version": version,
            "error": _text(cuda.cuGetErrorName, code),
            "why_not": _reason(cuda, code),
        }
    return {"version": version, "cards": [_card(cuda, ordinal) for ordinal in range(count.value)]}


def _version(cuda: Any) -> str:
    version = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)):
        return ""
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _card(cuda: Any, ordinal: int) -> dict[str, Any]:
    device = ctypes.c_int()
    if cuda.cuDeviceGet(ctypes.byref(device), ordinal):
        return {"ordinal": ordinal}
    return {
        "ordinal": ordinal,
        "uuid": _uuid(cuda, device),
        "bus_id": _filled(cuda.cuDeviceGetPCIBusId, device, TEXT),
        "name": _filled(cuda.cuDeviceGetName, device, 4 * TEXT),
    }


def _uuid(cuda: Any, device: Any) -> str:
    raw = (ctypes.c_ubyte * 16)()
    if cuda.cuDeviceGetUuid(ctypes.byref(raw), device):
        return ""
    return f"GPU-{uuid.UUID(bytes=bytes(raw))}"


def _filled(function: Any, device: Any, size: int) -> str:
    buffer = ctypes.create_string_buffer(size)
    return "" if function(buffer, size, device) else buffer.value.decode("utf-8", "replace")


def _text(function: Any, code: int) -> str:
    text = ctypes.c_char_p()
    if function(code, ctypes.byref(text)) or text.value is None:
        return f"CUDA error {code}"
    return text.value.decode("utf-8", "replace")


def _reason(cuda: Any, code: int) -> str:
    return _text(cuda.cuGetErrorString, code)


_PART = re.compile(r"MIG-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class CardIdentity:
    """A card's UUID and PCI address (`0000:2d:00.0`); None if unknown."""

    uuid: str | None = None
    bus_id: str | None = None


NO_CARD = CardIdentity()


def identities(described: Mapping[str, str]) -> dict[str, CardIdentity]:
    """Return the card of each physical GPU (`/physical_device:GPU:0`).

    The argument gives TensorFlow's name of the card for each of them. TensorFlow itself states
    neither UUID nor address once its devices are set up: the description that holds the address
    comes only with a second set of devices, which a carved card refuses. But the number in the name
    of a physical device is the CUDA ordinal, and CUDA in the same process, under the same
    variables, says which card that ordinal is.
    """
    if not described:
        return {}
    cards, visible = cuda_driver()["cards"], os.environ.get("CUDA_VISIBLE_DEVICES")
    return {name: identity(name, card, cards, visible) for name, card in described.items()}


def identity(
    device: str, description: str, cards: Iterable[Mapping[str, Any]], visible: str | None
) -> CardIdentity:
    """Return the card of the physical GPU `device`, among `cards` in CUDA's numbering.

    CUDA numbers them under CUDA_VISIBLE_DEVICES=`visible`. The identity is unknown if TensorFlow
    and CUDA name the device differently: then their numbering differs.
    """
    ordinal = device.rpartition(":")[2]
    card = next((card for card in cards if str(card["ordinal"]) == ordinal), {})
    if description and card.get("name") and description != card["name"]:
        return NO_CARD
    return CardIdentity(
        _part(visible) or card.get("uuid") or None, card.get("bus_id", "").lower() or None
    )


def _part(visible: str | None) -> str | None:
    """Return the UUID of the MIG instance that CUDA shows.

    CUDA shows only one instance, under the UUID of its card.
    """
    name = (visible or "").strip()
    return name if _PART.fullmatch(name) else None
