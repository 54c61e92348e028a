"""What the parts of a script need to be imported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpu_studio.common.python_syntax import names_read
from gpu_studio.export.script_text import with_comments_wrapped

_KINDS = ("Iterable", "Mapping", "MutableMapping", "MutableSequence", "MutableSet")
_AFTER_KINDS = ("from concurrent.", "from contextlib ", "from pathlib ")
_OTHERS = ("Path", "fnmatch", "functools", "hashlib", "itertools", "np", "random", "threading")


@lru_cache(maxsize=128)
def _needed(part: str) -> frozenset[str]:
    """Return what a part needs to be imported; most parts of two scripts are the same."""
    return names_read(part, {*_KINDS, *_OTHERS})


def finished(parts: Sequence[str]) -> str:
    """Return the script without unused imports and with its comments wrapped."""
    script, used = "\n\n".join(parts), {name for part in parts for name in _needed(part)}
    if "threading" in used:
        script = _imported(script, "threading", ("sysconfig", "sys", "os"))
    if "Path" not in used:
        script = script.replace("from pathlib import Path\n", "", 1)
    if "np" not in used:
        script = script.replace("import numpy as np\n", "", 1)
    if "functools" in used:
        after = "import importlib.util\n"
        script = script.replace(after, f"import functools\n{after}", 1)
    if "itertools" in used:
        before = ("io", "inspect", "importlib.util", "ctypes", "csv", "argparse")
        script = _imported(script, "itertools", before)
    if of_kinds := [each for each in _KINDS if each in used]:
        after = next(each for each in _AFTER_KINDS if each in script)
        kinds = f"from collections.abc import {', '.join(of_kinds)}\n"
        script = script.replace(after, kinds + after, 1)
    if "hashlib" in used:
        script = _imported(script, "hashlib", ("functools", "ctypes", "csv", "argparse"))
    if "random" in used:
        script = _imported(script, "random", ("os",))
    if "fnmatch" in used:
        script = _imported(script, "fnmatch", ("ctypes", "csv", "argparse"))
    return with_comments_wrapped(script)


def _imported(script: str, name: str, before: tuple[str, ...]) -> str:
    """Return the script with one more import, after the first of those `before` that it has."""
    line = next(line for each in before if (line := f"import {each}\n") in script)
    return script.replace(line, f"{line}import {name}\n", 1)
