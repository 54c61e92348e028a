"""The command line and environment that start a module of this package as another process."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def module_command(module: str, python: str = sys.executable) -> list[str]:
    """The command line that runs `module` of this package.

    `-P` keeps a `json.py` in the current folder from shadowing Python's: no user code runs unasked.
    """
    return [python, "-P", "-m", module]


def module_environment(added: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for `module_command`: this process's, plus `added`.

    PYTHONPATH is set only where Python could not find the package otherwise.
    """
    environment = {**os.environ, **(added or {})}
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
    if _ROOT not in installed:
        paths = (str(_ROOT), environment.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment
