"""What TensorFlow sees: its build, its devices with their PCI addresses, and the CUDA under it."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from gpu_studio.trainer.cuda_driver import cuda_driver


def libraries(
    cuda: str, cudnn: str, environment: Mapping[str, str] = os.environ
) -> list[dict[str, str]]:
    """List the libraries that such a TensorFlow loads: each name with its path, or why it fails."""
    return [_load(name, environment) for name in sonames(cuda, cudnn)]


def _load(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    path = next(_places(name, environment), None)
    try:
        # Given the bare name, the system searches its library folders.
        ctypes.CDLL(str(path or name))
    except OSError as error:
        return {"name": name, "path": str(path or ""), "why_not": str(error)}
    return {"name": name, "path": str(path or name), "why_not": ""}


def _places(name: str, environment: Mapping[str, str]) -> Iterator[Path]:
    named = (
        Path(folder)
        for folder in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        if folder
    )
    yield from (folder / name for folder in named if (folder / name).is_file())
    packages = {sysconfig.get_path("platlib"), sysconfig.get_path("purelib")}
    for packaged in sorted(packages):
        yield from sorted(Path(packaged, "nvidia").glob(f"*/lib/{name}"))


LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "nvidia-cuda-runtime": ("libcudart",),
    "nvidia-cublas": ("libcublas", "libcublasLt"),
    "nvidia-cufft": ("libcufft",),
    "nvidia-cusolver": ("libcusolver",),
    "nvidia-cusparse": ("libcusparse",),
    "nvidia-nccl": ("libnccl",),
    "nvidia-cudnn": ("libcudnn",),
}
"""The packages that TensorFlow loads libraries of, in the order in which they are told."""
OF_CUDA: Mapping[str, Mapping[str, int]] = {
    "12": {
        "nvidia-cuda-runtime": 12,
        "nvidia-cublas": 12,
        "nvidia-cufft": 11,
        "nvidia-cusolver": 11,
        "nvidia-cusparse": 12,
        "nvidia-nccl": 2,
    },
}
"""The major versions by CUDA's, for a TensorFlow whose package names none, such as self-built."""
DISTRIBUTIONS = ("tensorflow", "tf_nightly", "tensorflow_rocm")
# `nvidia-cufft-cu12<12.0,>=11.2.3.61; extra == "and-cuda"`: since 13 the name lacks CUDA's version.
_PACKAGE = re.compile(
    r"^(nvidia-[a-z-]+?)(?:-cu\d+)?(?=[\[(<>=!~;\s]).*?(?:>=|==|~=)\s*(\d+)", re.ASCII
)


def sonames(cuda: str, cudnn: str, requirements: Iterable[str] | None = None) -> tuple[str, ...]:
    """The libraries of a TensorFlow that was built for these versions; none if nobody knows.

    `requirements` are those of TensorFlow's package, by default of the one that is installed.
    """
    versions = dict(OF_CUDA.get(cuda.partition(".")[0], {}))
    versions |= _required(installed_requirements() if requirements is None else requirements)
    if versions and cudnn:
        # What TensorFlow was built with counts, not what a package may be replaced with.
        versions["nvidia-cudnn"] = int(re.sub(r"\D.*", "", cudnn) or 0) or versions.get(
            "nvidia-cudnn", 0
        )
    known = (
        (stem, versions.get(package)) for package, stems in LIBRARIES.items() for stem in stems
    )
    return tuple(f"{stem}.so.{version}" for stem, version in known if version)


def installed_requirements() -> list[str]:
    """Return the requirements of the installed TensorFlow package; nothing if it is not one."""
    for name in DISTRIBUTIONS:
        try:
            return metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
    return []


def _required(requirements: Iterable[str]) -> dict[str, int]:
    matches = (_PACKAGE.match(requirement) for requirement in requirements)
    return {found[1]: int(found[2]) for found in matches if found and found[1] in LIBRARIES}


DESCRIPTION = re.compile(r"device: (\d+), .*pci bus id: ([0-9a-fA-F:.]+)")

# The same as for every trainer, so that TensorFlow numbers the cards alike; and without
# taking memory for a mere question.
ENVIRONMENT = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "KERAS_BACKEND": "tensorflow",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}


def answer(_about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """The answer, and whether it holds until the machine or the installation changes."""
    os.environ.update(ENVIRONMENT)
    progress("importing TensorFlow")
    import tensorflow as tf

    from gpu_studio.trainer import practice

    practice.load()
    progress("asking TensorFlow for its devices")
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
        "errors": view.errors,
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
