"""`lab`: measure, list, show and compare, with exit codes and JSON."""

from __future__ import annotations

import json
import sys

import pytest

from gpu_studio.cli.command import FAILED, OK, REFUSED
from gpu_studio.lab.benchmarks import BenchmarkResult, BenchmarkRow
from gpu_studio.runs import benchmark_shelf, benchmarks
from gpu_studio.runs.benchmarks import keep_result

ANSWERING = """
import json, os, sys
to = int(sys.argv[sys.argv.index("--to") + 1])
row = {"what": "matmul", "devices": ["CPU:0"], "size": 64, "seconds": [0.1, 0.1], "flops": 1e6,
       "error": float(sys.argv[1])}
for line in ({"progress": "matmul 64"}, {"part": row}, {"answer": {"tensorflow": "2.21.0"}}):
    os.write(to, json.dumps(line).encode() + b"\\n")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for module in (benchmarks, benchmark_shelf):
        monkeypatch.setattr(module, "benchmarks_folder", lambda: tmp_path / "lab")
    return tmp_path / "lab"


@pytest.fixture
def answers(monkeypatch):
    def with_error(error: float) -> None:
        command = [sys.executable, "-c", ANSWERING, str(error)]
        monkeypatch.setattr("gpu_studio.runs.questions.ask.ask_command", lambda: command)

    return with_error


def kept(folder, seconds: float, begun: float) -> None:
    row = BenchmarkRow("matmul", ("CPU:0",), 64, seconds=(seconds,) * 3, flops=1e6)
    keep_result(BenchmarkResult("compute", begun, {"host": "here"}, (row,)), folder)


def test_that_a_measurement_is_told_kept_listed_and_shown(gpu_studio, folder, answers, machine):
    answers(0.0)
    done = gpu_studio("lab", "run", "compute")
    assert done.code == OK
    assert "matmul in float32 10 MFLOP/s" in done.out
    assert "matmul 64" in done.err
    assert gpu_studio("lab", "show").out == done.out
    listed = json.loads(gpu_studio("lab", "list", "--json").out)
    assert [each["benchmark"] for each in listed] == ["compute"]
    assert listed[0]["name"] in gpu_studio("lab", "list").out
    shown = json.loads(gpu_studio("lab", "show", "compute", "--json").out)
    assert shown["rows"][0]["seconds"] == [0.1, 0.1]
    assert shown["machine"]["TensorFlow"] == "2.21.0"


def test_that_a_measurement_that_cannot_be_kept_is_told_all_the_same(
    gpu_studio, folder, answers, machine
):
    answers(0.0)
    folder.write_text("no folder")
    done = gpu_studio("lab", "run", "compute")
    assert done.code == FAILED
    assert "matmul in float32 10 MFLOP/s" in done.out
    assert "It is kept in no file" in done.err


def test_that_a_wrong_result_fails(gpu_studio, folder, answers, machine):
    answers(0.5)
    done = gpu_studio("lab", "run", "compute")
    assert done.code == FAILED
    assert "WRONG RESULT" in done.out


def test_that_two_measurements_are_compared(gpu_studio, folder):
    kept(folder, 1.0, 1.0)
    kept(folder, 2.0, 2.0)
    done = gpu_studio("lab", "compare", "19700101T000001Z", "latest")
    assert done.code == OK
    assert "1 of 1 measurements differ" in done.out
    assert "0.50" in done.out
    (row,) = json.loads(gpu_studio("lab", "compare", "19700101T000001Z", "--json").out)["rows"]
    assert (row["times_as_fast"], row["told_apart"]) == (0.5, True)


@pytest.mark.parametrize(
    "given", [("show", "none"), ("compare", "a", "b"), ("show",)], ids=["show", "compare", "latest"]
)
def test_that_a_result_that_is_not_there_is_refused(gpu_studio, folder, given):
    refused = gpu_studio("lab", *given)
    assert refused.code == REFUSED
    assert "gpu-studio lab list shows those that are there" in refused.err


def test_that_an_empty_list_says_how_to_measure(gpu_studio, folder):
    done = gpu_studio("lab", "list")
    assert done.code == OK
    assert "gpu-studio lab run compute" in done.err


def test_that_a_result_is_deleted_and_taken_back_also_one_that_cannot_be_read(gpu_studio, folder):
    kept(folder, 0.1, 1.0)
    (name,) = (each["name"] for each in json.loads(gpu_studio("lab", "list", "--json").out))
    assert gpu_studio("lab", "delete", "nothing").code == REFUSED
    told = gpu_studio("lab", "delete", "compute")
    assert f"Take it back with: gpu-studio lab restore {name}" in told.err
    assert json.loads(gpu_studio("lab", "list", "--json").out) == []
    assert gpu_studio("lab", "delete", "latest").code == REFUSED
    assert gpu_studio("lab", "restore", name[:8]).code == OK
    (folder / f"{name}.benchmark.json").write_text("cut off")
    assert gpu_studio("lab", "delete", "latest", "--json").document["name"] == name
    assert gpu_studio("lab", "restore", "--json").document["name"] == name
    refused = gpu_studio("lab", "restore")
    assert (refused.code, "may be gone for good" in refused.err) == (REFUSED, True)
