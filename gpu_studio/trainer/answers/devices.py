"""What TensorFlow sees: its build, its devices with their PCI addresses, and the CUDA under it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from gpu_studio.trainer.answers.overhearing import LOUD, overheard, unloaded, warnings_in
from gpu_studio.trainer.cuda_driver import cuda_driver
from gpu_studio.trainer.cuda_libraries import libraries, load_packaged

DESCRIPTION = re.compile(r"device: (\d+), .*pci bus id: ([0-9a-fA-F:.]+)")

# The same as for every trainer, so that TensorFlow numbers the cards alike; and without
# taking memory for a mere question.
ENVIRONMENT = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "KERAS_BACKEND": "tensorflow",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    **LOUD,
}


def answer(_about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """The answer, and whether it holds until the machine or the installation changes."""
    os.environ.update(ENVIRONMENT)
    load_packaged()
    progress("importing TensorFlow")
    import tensorflow as tf

    from gpu_studio.trainer import practice

    practice.load()
    progress("asking TensorFlow for its devices")
    with overheard() as said:
        view = DeviceListing(tf, _local_devices)
    build = _build(tf)
    progress("asking CUDA for its cards")
    cuda = cuda_driver()
    found = libraries(build["cuda"], build["cudnn"]) if build["is_cuda"] else []
    answer = {
        "tensorflow": tf.__version__,
        "keras": _version("keras"),
        "python": platform.python_version(),
        "executable": sys.executable,
        "build": build,
        "physical": view.physical,
        "logical": view.logical,
        "cuda": cuda,
        "libraries": found,
        "unloaded": [
            {"name": name, "why_not": why_not} for name, why_not in unloaded(said.words).items()
        ],
        "errors": view.errors,
        "words": warnings_in(said.words),
    }
    return answer, not view.errors and not cuda["error"]


class DeviceListing:
    """TensorFlow's devices. Where TensorFlow refuses an answer, its words go to `errors`.

    Everything else is reported all the same. `local_devices` returns TensorFlow's local devices
    with their descriptions.
    """

    def __init__(self, tf: Any, local_devices: Callable[[], list[Any]]) -> None:
        self.errors: list[str] = []
        self.physical = self._try(
            lambda: [_physical(tf, device) for device in tf.config.list_physical_devices()]
        )
        local = self._try(local_devices)
        self.logical = [
            {"name": _name(device), "limit_bytes": device.memory_limit or None} for device in local
        ]
        _add_addresses(self.physical, local)

    def _try(self, look: Callable[[], list[Any]]) -> list[Any]:
        try:
            return look()
        # A card that is full, or lost, must not hide the others.
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"{type(error).__name__}: {error}"[:2000])
            return []


def address_in(description: str) -> tuple[str, str]:
    """The physical device and its PCI address, from TensorFlow's description of a device.

    It reads `device: 0, name: …, pci bus id: 0000:2d:00.0, compute …`. Both are empty if it does
    not. The number is the physical device's: TensorFlow leaves small
    cards out of the logical devices, which then count differently.
    """
    found = DESCRIPTION.search(description)
    return (f"GPU:{found.group(1)}", found.group(2)) if found else ("", "")


def _local_devices() -> list[Any]:
    from tensorflow.python.client import device_lib

    # Only here does TensorFlow give the PCI address. It creates each card's context.
    local: list[Any] = device_lib.list_local_devices()
    return local


def _add_addresses(physical: Iterable[dict[str, Any]], local: Iterable[Any]) -> None:
    addresses = dict(address_in(device.physical_device_desc) for device in local)
    for device in physical:
        device["bus_id"] = addresses.get(device["name"], "")


def _physical(tf: Any, device: Any) -> dict[str, Any]:
    name = device.name.removeprefix("/physical_device:")
    if device.device_type != "GPU":
        return {"name": name, "card": "", "capability": None}
    details = tf.config.experimental.get_device_details(device)
    return {
        "name": name,
        "card": details.get("device_name", ""),
        "capability": details.get("compute_capability"),
    }


def _name(device: Any) -> str:
    return str(device.name).removeprefix("/device:")


def _build(tf: Any) -> dict[str, Any]:
    info = tf.sysconfig.get_build_info()
    return {
        "cuda": str(info.get("cuda_version", "")),
        "cudnn": str(info.get("cudnn_version", "")),
        "capabilities": [str(one) for one in info.get("cuda_compute_capabilities", [])],
        "is_cuda": bool(info.get("is_cuda_build")),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
