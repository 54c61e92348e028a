"""Only what was measured of this machine, as it is now, counts for its predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_studio.lab.benchmarks import BenchmarkResult, BenchmarkRow
from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.plan import Card, Machine
from gpu_studio.runs import machine_figures, machine_identity
from gpu_studio.runs.benchmarks import keep_result
from gpu_studio.runs.machine_figures import kept_figures
from gpu_studio.runs.machine_identity import identity

MACHINE = Machine((Card(0, "GPU-a", "a card"),), cpu_cores=2, cpu_name="a CPU")
ROW = BenchmarkRow("matmul", ("GPU:0",), 64, seconds=(1.0,), flops=7e9)


@pytest.fixture(autouse=True)
def versions(monkeypatch):
    monkeypatch.setattr(machine_identity, "module_version", lambda: "560.1")
    monkeypatch.setattr(machine_figures, "_installed", lambda: "2.21.0")


def keep(folder, begun: float = 1.0, rows=(ROW,), **other: str) -> None:
    about = {**identity(MACHINE), "TensorFlow": "2.21.0", **other}
    named: dict[str, Any] = {"devices": {"GPU:0": "GPU-a"}}
    keep_result(BenchmarkResult("compute", begun, about, rows, **named), folder)


def test_that_what_was_measured_of_this_machine_counts(tmp_path):
    assert kept_figures(MACHINE, tmp_path) == MachineFigures()
    keep(tmp_path)
    found = kept_figures(MACHINE, tmp_path)
    assert (found.flops, found.measured) == ({"GPU:0": {"float32": 7e9}}, 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "elsewhere"),
        ("driver", "550.9"),
        ("TensorFlow", "2.20.0"),
        ("GPU 0", "a card (GPU-b)"),
        ("GPU 1", "another (GPU-b)"),
        ("kernel", "older"),
        ("GPU Studio", "0.0.1"),
        ("CPU cores", "64"),
    ],
)
def test_that_another_machine_or_an_older_state_of_this_one_does_not(tmp_path, name, value):
    keep(tmp_path, **{name: value})
    assert kept_figures(MACHINE, tmp_path) == MachineFigures()


def test_that_a_newer_result_is_seen_at_once_and_one_that_is_cut_off_is_passed_over(tmp_path):
    keep(tmp_path)
    assert kept_figures(MACHINE, tmp_path).flops["GPU:0"]["float32"] == 7e9
    faster = BenchmarkRow("matmul", ("GPU:0",), 64, seconds=(1.0,), flops=9e9)
    keep(tmp_path, 2.0, (faster,))
    assert kept_figures(MACHINE, tmp_path).flops["GPU:0"]["float32"] == 9e9
    (tmp_path / "20990101T000000Z-compute.benchmark.json").write_text('{"version": 99}')
    assert kept_figures(MACHINE, tmp_path).flops["GPU:0"]["float32"] == 9e9


@pytest.mark.parametrize("other", [{"simulated": True}, {"practice": "1 × 2 GiB"}])
def test_that_nothing_is_known_of_cards_that_are_not_there(tmp_path, other):
    keep(tmp_path)
    assert kept_figures(replace(MACHINE, **other), tmp_path) == MachineFigures()
