"""The libraries that TensorFlow loads: looked for where it looks, and loaded before it looks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig

import pytest
from built_libraries import OPENER, build, needs_compiler
from patience import PATIENCE_S

from gpu_studio.trainer.cuda_libraries import libraries, load_packaged, sonames


def found(name, environment, monkeypatch, packages):
    monkeypatch.setattr(sysconfig, "get_path", lambda _kind: str(packages))
    return {library["name"]: library for library in libraries("12.5.1", "9", environment)}[name]


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


PROCESS = """
import ctypes, json, sys, sysconfig
sysconfig.get_path = lambda _kind: sys.argv[1]
from gpu_studio.trainer.cuda_libraries import load_packaged
opener, name = ctypes.CDLL(sys.argv[2]), sys.argv[4].encode()
before = opener.opens(name)
loaded = load_packaged({}, sys.argv[3])
print(json.dumps([before, loaded, opener.opens(name)]))
"""


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is known to go by the SONAME")
def test_that_a_packaged_library_is_found_by_its_name_once_it_is_loaded(tmp_path):
    name = "libcusolver.so.11"
    path = build(tmp_path / "nvidia" / "cusolver" / "lib" / name)
    opener, driver = build(tmp_path / "opener.so", OPENER), build(tmp_path / "libcuda.so.1")
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    told = subprocess.run(
        [sys.executable, "-c", PROCESS, tmp_path, opener, driver, name],
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
        env=environment,
    )

    assert json.loads(told.stdout) == [0, [str(path)], 1]


@needs_compiler
def test_that_what_the_variable_names_is_left_to_the_system(monkeypatch, tmp_path):
    for folder in (tmp_path / "nvidia" / "cudnn" / "lib", tmp_path / "own"):
        build(folder / "libcudnn.so.9")
    other = build(tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    driver = build(tmp_path / "libcuda.so.1")
    monkeypatch.setattr(sysconfig, "get_path", lambda _kind: str(tmp_path))

    loaded = load_packaged({"LD_LIBRARY_PATH": f"{tmp_path / 'own'}"}, str(driver))

    assert loaded == [str(other)]


@needs_compiler
@pytest.mark.parametrize(
    ("environment", "has_driver"),
    [
        ({}, False),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, True),
        ({"CUDA_VISIBLE_DEVICES": ""}, True),
        ({"GPU_STUDIO_PRACTICE": "2x1GiB"}, True),
    ],
)
def test_that_nothing_is_loaded_where_there_is_no_card(
    environment, has_driver, monkeypatch, tmp_path
):
    build(tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    driver = build(tmp_path / "libcuda.so.1") if has_driver else tmp_path / "libcuda.so.1"
    monkeypatch.setattr(sysconfig, "get_path", lambda _kind: str(tmp_path))

    assert load_packaged(environment, str(driver)) == []


@needs_compiler
def test_that_a_library_that_is_broken_keeps_none_of_the_others_from_being_loaded(
    monkeypatch, tmp_path
):
    broken = tmp_path / "nvidia" / "cublas" / "lib" / "libcublas.so.12"
    broken.parent.mkdir(parents=True)
    broken.write_text("no library")
    sound = build(tmp_path / "nvidia" / "cufft" / "lib" / "libcufft.so.11")
    driver = build(tmp_path / "libcuda.so.1")
    monkeypatch.setattr(sysconfig, "get_path", lambda _kind: str(tmp_path))

    assert load_packaged({}, str(driver)) == [str(sound)]
