"""Cached answers of TensorFlow, keyed by everything they depend on: any change is a cache miss."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from gpu_studio import __version__
from gpu_studio.contract import make_private_directory, read_json, write_private

FORMAT = 53
"""Goes up when the same question is answered otherwise within one version of the program."""
_LARGEST = 64 * 1024 * 1024
MOST_KEPT = 32
"""Answers kept of each question."""
VARIABLES = (
    "CUDA",
    "GPU_STUDIO_PRACTICE",
    "KERAS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NCCL",
    "NVIDIA",
    "PYTHONPATH",
    "TF",
    "XLA",
)
"""Beginnings of the variables that change what TensorFlow finds."""
PACKAGES = ("tensorflow", "keras", "nvidia-", "nvidia_", "tf-nightly", "tf_nightly")
MACHINE = (
    "/sys/module/nvidia/version",
    "/proc/driver/nvidia/version",
    "/proc/sys/kernel/random/boot_id",
)
LISTINGS = ("/sys/bus/pci/drivers/nvidia", "/dev")
LIBRARIES = Path("/etc/ld.so.cache")


def folder() -> Path:
    """The cache's folder."""
    return Path(user_cache_path("gpu-studio")) / "answers"


def content(
    question: str, command: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Any]:
    """All that the answer depends on: command, installed packages, variables, driver and cards."""
    return {
        "format": FORMAT,
        "gpu_studio": __version__,
        "question": question,
        "command": list(command),
        "packages": _packages(),
        "variables": {
            name: value for name, value in sorted(environment.items()) if name.startswith(VARIABLES)
        },
        "machine": [_text(Path(path)) for path in MACHINE],
        "cards": [name for path in LISTINGS for name in _listed(Path(path))],
        "libraries": _changed(LIBRARIES),
    }


def look_up(key: Mapping[str, Any]) -> dict[str, Any] | None:
    """The cached answer for this content; None if there is none, or none that can be read."""
    try:
        kept = read_json(_file(key), json.loads, _LARGEST)
    except OSError:
        return None
    # The content is stored with the answer, so that two contents of one name are distinguished.
    if not isinstance(kept, dict) or kept.get("content") != json.loads(json.dumps(key)):
        return None
    answer = kept.get("answer")
    return answer if isinstance(answer, dict) else None


def keep(key: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Cache an answer, and drop the oldest of too many.

    A failure is ignored: it will be asked again.
    """
    try:
        make_private_directory(folder())
        write_private(_file(key), json.dumps({"content": key, "answer": answer}).encode())
        _forget_oldest(str(key["question"]))
    except OSError:
        return


def _file(key: Mapping[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return folder() / f"{key['question']}-{digest[:32]}.json"


def _forget_oldest(question: str) -> None:
    files = sorted(
        folder().glob(f"{question}-*.json"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for path in files[MOST_KEPT:]:
        path.unlink(missing_ok=True)


def _packages() -> list[str]:
    folders = tuple((folder, _changed(Path(folder))) for folder in sys.path)
    return list(_packages_in(folders))


@lru_cache(maxsize=1)
def _packages_in(folders: tuple[tuple[str, int], ...]) -> tuple[str, ...]:  # noqa: ARG001
    """The packages of interest while the search path's `folders`, and when they changed, are these.

    An installer makes and removes entries of such a folder, which changes it. To read the metadata
    of every package takes 50 ms, for which the window would stand still whenever a run starts.
    """
    from importlib.metadata import distributions  # which would delay the window's start

    found = distributions()
    named = ((str(one.metadata["Name"]).lower(), one.version) for one in found)
    wanted = (f"{name}=={version}" for name, version in named if name.startswith(PACKAGES))
    return tuple(sorted(wanted))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _listed(folder: Path) -> list[str]:
    """The cards and device files in a folder, with their permissions."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    cards = (
        entry
        for entry in entries
        if entry.name.startswith(("nvidia", "dxg")) or entry.name.count(":") > 1
    )
    return [f"{entry} {os.access(entry, os.R_OK | os.W_OK)}" for entry in cards]


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
