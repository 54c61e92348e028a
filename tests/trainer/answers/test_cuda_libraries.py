"""The libraries that TensorFlow loads, looked for where it looks."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig

import pytest
from patience import PATIENCE_S

from gpu_studio.trainer.answers.devices import libraries, sonames

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler to build a library with"
)


def found(name, environment, monkeypatch, packages):
    monkeypatch.setattr(sysconfig, "get_path", lambda _kind: str(packages))
    return {library["name"]: library for library in libraries("12.5.1", "9", environment)}[name]


def build(path):
    path.parent.mkdir(parents=True)
    subprocess.run(
        [str(COMPILER), "-shared", "-fPIC", "-x", "c", "-o", path, "-"],
        input=b"int x;",
        check=True,
        timeout=PATIENCE_S,
    )
    return path


def test_that_what_tensorflow_was_built_for_is_looked_for():
    told = [library["name"] for library in libraries("12.5.1", "9", {})]
    assert told == list(sonames("12.5.1", "9"))
    assert {"libcudart.so.12", "libcufft.so.11", "libnccl.so.2", "libcudnn.so.9"} <= set(told)


def test_that_a_library_that_is_nowhere_is_told(monkeypatch, tmp_path):
    library = found("libcudnn.so.9", {}, monkeypatch, tmp_path)

    assert library["path"] == ""
    assert "libcudnn.so.9" in library["why_not"]


@needs_compiler
def test_that_the_packages_beside_tensorflow_are_looked_through(monkeypatch, tmp_path):
    path = build(tmp_path / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9")

    assert found("libcudnn.so.9", {}, monkeypatch, tmp_path) == {
        "name": "libcudnn.so.9",
        "path": str(path),
        "why_not": "",
    }


@needs_compiler
def test_that_the_variable_comes_first_as_it_does_for_tensorflow(monkeypatch, tmp_path):
    build(tmp_path / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9")
    broken = tmp_path / "old" / "libcudnn.so.9"
    broken.parent.mkdir()
    broken.write_text("no library")
    library = found(
        "libcudnn.so.9", {"LD_LIBRARY_PATH": f":{broken.parent}"}, monkeypatch, tmp_path
    )

    assert library["path"] == str(broken)
    assert library["why_not"]
