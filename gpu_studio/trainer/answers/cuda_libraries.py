"""The CUDA libraries that TensorFlow loads when it finds a card: where they are, and whether they load.

TensorFlow without them uses no card, and says so in one line among many. It looks, as its libraries' RUNPATH has it,
in LD_LIBRARY_PATH first, then in the `nvidia` packages beside it, then where the system keeps libraries.
"""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpu_studio.trainer.answers.cuda_sonames import sonames


def libraries(cuda: str, cudnn: str, environment: Mapping[str, str] = os.environ) -> list[dict[str, str]]:
    """Each library that a TensorFlow built for these versions loads: its name, and its path or why it does not load."""
    return [_load(name, environment) for name in sonames(cuda, cudnn)]


def _load(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    path = next(_places(name, environment), None)
    try:
        # By its name alone, the system looks for it where it keeps libraries.
        ctypes.CDLL(str(path or name))
    except OSError as error:
        return {"name": name, "path": str(path or ""), "why_not": str(error)}
    return {"name": name, "path": str(path or name), "why_not": ""}


def _places(name: str, environment: Mapping[str, str]) -> Iterator[Path]:
    named = (Path(folder) for folder in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder)
    yield from (folder / name for folder in named if (folder / name).is_file())
    packages = {sysconfig.get_path("platlib"), sysconfig.get_path("purelib")}
    for packaged in sorted(packages):
        yield from sorted(Path(packaged, "nvidia").glob(f"*/lib/{name}"))
