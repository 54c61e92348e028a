"""Python files of a user, and a process that is restored as if none of them had run in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpu_studio.contract.consent import allow_file

Written = Callable[..., Path]

SCALE = """
import keras

class Scale(keras.layers.Layer):
    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")

    def call(self, x):
        return x * self.factor
"""
"""A layer of the user's own."""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Writes a file of the user's own, allowed or not, and gives its path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)

    def write(code: str, name: str = "own.py", *, allowed: bool = True) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        if allowed:
            allow_file(path, path.read_bytes())
        return path

    yield write
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
