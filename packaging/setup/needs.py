"""Find missing system libraries and programs, as Debian packages."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).parent / "libraries.toml"


@dataclass(frozen=True)
class Missing:
    """One thing that is not there: its own name, and the Debian package that has it."""

    name: str
    package: str


def missing(groups: Iterable[str], table: Path = TABLE) -> list[Missing]:
    """List what the groups need that this machine lacks, and what Python needs for a venv."""
    known = tomllib.loads(table.read_text(encoding="utf-8"))
    return [*_python(), *(item for group in groups for item in _of_group(known[group]))]


def _of_group(group: dict[str, dict[str, str]]) -> Iterator[Missing]:
    for name, package in group.get("libraries", {}).items():
        if not _loads(name):
            yield Missing(name, package)
    for name, package in group.get("programs", {}).items():
        if not shutil.which(name):
            yield Missing(name, package)


def _loads(library: str) -> bool:
    # The loader's own word, which holds on every Linux, wherever the library lies.
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _python() -> Iterator[Missing]:
    # Debian ships Python without the part that puts pip into a new environment.
    if importlib.util.find_spec("ensurepip") is None:
        yield Missing("Python's ensurepip", f"python3.{sys.version_info.minor}-venv")
