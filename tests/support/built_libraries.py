"""Stand-ins for CUDA's libraries, made of a line of C, and a library that opens one by name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from nvml_library import compiler
from patience import PATIENCE_S

needs_compiler = pytest.mark.skipif(
    compiler() is None, reason="there is no C compiler to build a library with"
)
OPENER = """
#include <dlfcn.h>
int opens(const char *name) { return dlopen(name, RTLD_LAZY) != 0; }
"""
"""In TensorFlow's place: a library that opens another by its bare name."""


def build(path: Path, code: str = "int x;") -> Path:
    """Compile the library, whose SONAME is its file's name; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    named = f"-Wl,-soname,{path.name}"
    subprocess.run(
        [compiler() or "cc", "-shared", "-fPIC", named, "-x", "c", "-o", path, "-", "-ldl"],
        input=code.encode(),
        check=True,
        timeout=PATIENCE_S,
    )
    return path
