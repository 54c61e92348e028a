"""What the parts of a script need to be imported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpu_studio.common.python_syntax import names_read
from gpu_studio.export.script_text import with_comments_wrapped

_KINDS = ("Iterable", "Mapping", "MutableMapping", "MutableSequence", "MutableSet")
_AFTER_KINDS = ("from concurrent.", "from contextlib ", "from pathlib ")
_PLACED = {
    "threading": ("sysconfig", "sys", "os"),
    "itertools": ("io", "inspect", "importlib.util", "ctypes", "csv", "argparse"),
    "hashlib": ("functools", "ctypes", "csv", "argparse"),
    "random": ("os",),
    "fnmatch": ("ctypes", "csv", "argparse"),
    "builtins": ("argparse",),
    "atexit": ("argparse",),
    "ast": ("argparse",),
}
"""Modules by their names, with those of which the first that a script has stands before."""
_LOADER = "SourceFileLoader"
_OTHERS = ("Path", "functools", "np", _LOADER)


@lru_cache(maxsize=128)
def _needed(part: str) -> frozenset[str]:
    """Return what a part needs to be imported; most parts of two scripts are the same."""
    return names_read(part, {*_KINDS, *_OTHERS, *_PLACED})


def finished(parts: Sequence[str]) -> str:
    """Return the script without unused imports and with its comments wrapped."""
    script, used = "\n\n".join(parts), {name for part in parts for name in _needed(part)}
    if "Path" not in used:
        script = script.replace("from pathlib import Path\n", "", 1)
    if "np" not in used:
        script = script.replace("import numpy as np\n", "", 1)
    if "functools" in used:
        after = "import importlib.util\n"
        script = script.replace(after, f"import functools\n{after}", 1)
    for name, before in _PLACED.items():
        if name in used:
            script = _imported(script, name, before)
    if of_kinds := [each for each in _KINDS if each in used]:
        after = next(each for each in _AFTER_KINDS if each in script)
        kinds = f"from collections.abc import {', '.join(of_kinds)}\n"
        script = script.replace(after, kinds + after, 1)
    if _LOADER in used:
        after = "from pathlib "
        script = script.replace(after, f"from importlib.machinery import {_LOADER}\n{after}", 1)
    return with_comments_wrapped(script)


def _imported(script: str, name: str, before: tuple[str, ...]) -> str:
    """Return the script with one more import, after the first of those `before` that it has."""
    line = next(line for each in before if (line := f"import {each}\n") in script)
    return script.replace(line, f"{line}import {name}\n", 1)
