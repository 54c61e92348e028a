"""The most that TensorFlow's allocators may take of each device.

Of a card without slices TensorFlow decides itself, by what is free when it starts. No part of its
Python says how much that is, so its C API is asked (`c_api.h`, `eager/c_api.h`).
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context


def allocator_limits() -> dict[str, int]:
    """The limit of each logical GPU in bytes, by name; empty if TensorFlow does not tell."""
    library = ctypes.CDLL(str(Path(tf.__file__).with_name("libtensorflow_cc.so.2")))
    try:
        return _asked(library)
    except AttributeError:  # a TensorFlow without these functions
        return {}


def _asked(library: ctypes.CDLL) -> dict[str, int]:
    pointer, number = ctypes.c_void_p, ctypes.c_int
    status = _function(library.TF_NewStatus, pointer)()
    devices = _function(library.TFE_ContextListDevices, pointer, pointer, pointer)(
        _context(), status
    )
    count = _function(library.TF_DeviceListCount, number, pointer)(devices)
    name = _function(library.TF_DeviceListName, ctypes.c_char_p, pointer, number, pointer)
    size = _function(library.TF_DeviceListMemoryBytes, ctypes.c_int64, pointer, number, pointer)
    limits = {
        name(devices, place, status).decode().rpartition("device:")[2]: size(devices, place, status)
        for place in range(count)
    }
    _function(library.TF_DeleteDeviceList, None, pointer)(devices)
    _function(library.TF_DeleteStatus, None, pointer)(status)
    return {device: limit for device, limit in limits.items() if device.startswith("GPU")}


def _function(function: Any, result: Any, *takes: Any) -> Any:
    function.restype, function.argtypes = result, takes
    return function


def _context() -> int | None:
    pointer_in = _function(
        ctypes.pythonapi.PyCapsule_GetPointer, ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    )
    found: int | None = pointer_in(context.context()._handle, None)  # noqa: SLF001
    return found
