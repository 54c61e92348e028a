"""Ask the CUDA driver library (libcuda) whether it starts, and how it numbers the cards.

It is called through ctypes because TensorFlow reports neither the reason of a failure nor a card's
UUID.
"""

from __future__ import annotations

import ctypes
import uuid
from typing import Any

LIBRARY = "libcuda.so.1"
TEXT = 64
"""Bytes enough for a PCI address; a name gets four times as many."""


def cuda_driver(library: str = LIBRARY) -> dict[str, Any]:
    """Return CUDA's version and its cards in its own order.

    If CUDA does not start, return its name of the `error`, and `why_not` in words.
    """
    nothing: dict[str, Any] = {"version": "", "cards": [], "error": "", "why_not": ""}
    try:
        cuda = ctypes.CDLL(library)
        return nothing | _ask(cuda)
    except OSError as error:
        return nothing | {"why_not": f"{library} cannot be loaded: {error}"}
    except AttributeError as error:
        return nothing | {"why_not": f"{library} is too old: {error}"}


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
