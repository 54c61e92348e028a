"""Which CUDA libraries a TensorFlow loads, by the names under which the system knows them.

TensorFlow's wheel says for `tensorflow[and-cuda]` which NVIDIA packages it was built against; each of them has one
library or two, whose name ends in the package's major version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import metadata

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
"""The major versions by CUDA's, for a TensorFlow whose package says nothing: a distribution's, or one self-built."""
DISTRIBUTIONS = ("tensorflow", "tf_nightly", "tensorflow_rocm")
# `nvidia-cufft-cu12<12.0,>=11.2.3.61; extra == "and-cuda"`: from 13 on, CUDA's version is no part of the name.
_PACKAGE = re.compile(r"^(nvidia-[a-z-]+?)(?:-cu\d+)?(?=[\[(<>=!~;\s]).*?(?:>=|==|~=)\s*(\d+)", re.ASCII)


def sonames(cuda: str, cudnn: str, requirements: Iterable[str] | None = None) -> tuple[str, ...]:
    """The libraries of a TensorFlow that was built for these versions; none if nobody knows.

    `requirements` are those of TensorFlow's package, by default of the one that is installed.
    """
    versions = dict(OF_CUDA.get(cuda.partition(".")[0], {}))
    versions |= _required(installed_requirements() if requirements is None else requirements)
    if versions and cudnn:
        # What was built in counts, and not what a package may be replaced with.
        versions["nvidia-cudnn"] = int(re.sub(r"\D.*", "", cudnn) or 0) or versions.get("nvidia-cudnn", 0)
    known = ((stem, versions.get(package)) for package, stems in LIBRARIES.items() for stem in stems)
    return tuple(f"{stem}.so.{version}" for stem, version in known if version)


def installed_requirements() -> list[str]:
    """What the installed TensorFlow's package asks for; nothing if it is not one."""
    for name in DISTRIBUTIONS:
        try:
            return metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
    return []


def _required(requirements: Iterable[str]) -> dict[str, int]:
    matches = (_PACKAGE.match(requirement) for requirement in requirements)
    return {found[1]: int(found[2]) for found in matches if found and found[1] in LIBRARIES}
