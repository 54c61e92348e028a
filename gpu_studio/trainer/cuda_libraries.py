"""The CUDA libraries that TensorFlow loads: which they are, where they lie, and loading them first.

TensorFlow opens them by name, and the system looks where TensorFlow's own file says (its RUNPATH),
which leaves out some of the packages that `pip install tensorflow[and-cuda]` brings: version 2.21
cannot open libcusolver and then uses no card. A library that a process has loaded already is found
by its name wherever it lies. Nothing here imports TensorFlow.
"""

from __future__ import annotations

import ctypes
import os
import re
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from gpu_studio.common.practice import PRACTICE

HIDE_ALL: Final = "-1"
"""The CUDA_VISIBLE_DEVICES that hides all cards; so does an empty one."""


def load_packaged(
    environment: Mapping[str, str] = os.environ, driver: str = "libcuda.so.1"
) -> list[str]:
    """Load those of TensorFlow's libraries that lie in pip's packages, and return their paths.

    With practice cards TensorFlow needs none of them.
    """
    return [] if environment.get(PRACTICE) else load_libraries(sonames("", ""), environment, driver)


# Scripts have these functions, too.


def load_libraries(
    names: Iterable[str],
    environment: Mapping[str, str] = os.environ,
    driver: str = "libcuda.so.1",
) -> list[str]:
    """Load those of these libraries that lie in pip's packages, and return their paths.

    TensorFlow 2.21's own search path lacks one of pip's CUDA libraries, and without it
    no card is used; but what is loaded already is found by its name. LD_LIBRARY_PATH is
    left to the system, which looks there first. Without NVIDIA's driver, or with all
    cards hidden, none is needed; of one that cannot be loaded TensorFlow tells itself.
    """
    hidden = environment.get("CUDA_VISIBLE_DEVICES", "all").strip() in {"", "-1"}
    if hidden or not is_loaded(driver):
        return []
    wanted = [name for name in names if not any(in_search_path(name, environment))]
    found = (next(in_packages(name), None) for name in wanted)
    return [str(path) for path in found if path is not None and is_loaded(str(path))]


def is_loaded(library: str) -> bool:
    """Whether the system loads this library, which then stays loaded."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def in_search_path(name: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """Each place of a library in the folders of LD_LIBRARY_PATH."""
    folders = filter(None, environment.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    yield from (path for folder in folders if (path := Path(folder, name)).is_file())


def in_packages(name: str) -> Iterator[Path]:
    """Each place of a library in the packages that pip has installed."""
    folders = {sysconfig.get_path("platlib"), sysconfig.get_path("purelib")}
    for folder in sorted(folders):
        yield from sorted(Path(folder, "nvidia").glob(f"*/lib/{name}"))


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
    yield from in_search_path(name, environment)
    yield from in_packages(name)


LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "nvidia-cuda-runtime": ("libcudart",),
    "nvidia-cublas": ("libcublas", "libcublasLt"),
    "nvidia-cufft": ("libcufft",),
    "nvidia-cusolver": ("libcusolver",),
    "nvidia-cusparse": ("libcusparse",),
    "nvidia-nccl": ("libnccl",),
    "nvidia-cudnn": ("libcudnn",),
}
"""The packages that TensorFlow loads libraries of, in the order in which they are listed."""
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
