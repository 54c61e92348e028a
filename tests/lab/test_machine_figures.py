"""What kept results say of a machine's devices and links."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_studio.lab.benchmarks import BenchmarkResult, BenchmarkRow
from gpu_studio.lab.machine_figures import MachineFigures, figures_of

CARDS = {"GPU:0": "GPU-a", "GPU:1": "GPU-b"}
NAMES = {"GPU-a": "GPU:0", "GPU-b": "GPU:1", "CPU:0": "CPU:0"}


def row(what: str, *devices: str, size: int = 1024, **more: Any) -> BenchmarkRow:
    return BenchmarkRow(what, devices, size, **more)


def result(name: str, *rows: BenchmarkRow, begun: float = 9.0, **more: Any) -> BenchmarkResult:
    return BenchmarkResult(name, begun, {}, rows, **{"devices": CARDS, **more})


COMPUTE = result(
    "compute",
    row("matmul", "GPU:0", flops=2e9, seconds=(1.0, 1.0, 9.0)),
    row("matmul", "GPU:0", size=8192, flops=8e9, seconds=(1.0,)),
    row("matmul", "GPU:0", dtype="bfloat16", flops=30e9, seconds=(1.0,)),
    row("convolution", "GPU:0", flops=99e9, seconds=(1.0,)),
    row("matmul", "GPU:1", flops=4e9, seconds=(1.0,)),
    row("matmul", "GPU:1", dtype="bfloat16", why_not="no kernel"),
)
COPIES = result(
    "copies",
    row("copy", "host", "GPU:1", bytes=9e9, seconds=(1.0,)),
    row("copy", "GPU:0", "GPU:1", size=9, bytes=9.0, seconds=(1.0,)),
    row("copy", "GPU:0", "GPU:1", bytes=5e9, seconds=(1.0,)),
    row("copy", "GPU:1", "GPU:0", bytes=7e9, seconds=(1.0,)),
    row("overlapped copy", "host", "GPU:0", bytes=1.0, seconds=(1.0,)),
    begun=5.0,
)


def test_that_the_best_product_of_each_type_and_the_largest_copy_count():
    found = figures_of([COMPUTE, COPIES], NAMES)
    assert found.flops == {"GPU:0": {"float32": 8e9, "bfloat16": 30e9}, "GPU:1": {"float32": 4e9}}
    assert found.links == {"GPU:0": 7e9, "GPU:1": 5e9}
    assert found.measured == 5.0


def test_that_devices_are_known_by_their_cards_and_not_by_how_a_plan_numbered_them():
    turned = figures_of([COMPUTE], {"GPU-a": "GPU:1", "GPU-b": "GPU:0"})
    assert turned.flops["GPU:1"]["bfloat16"] == 30e9
    assert figures_of([COMPUTE], {"GPU-c": "GPU:0"}) == MachineFigures()
    assert figures_of([result("compute", *COMPUTE.rows, devices={})], NAMES) == MachineFigures()


def test_that_the_slowest_way_to_a_device_counts_and_slices_of_a_card_are_no_way():
    slow = row("copy", "GPU:2", "GPU:1", bytes=1e9, seconds=(1.0,))
    more = {**CARDS, "GPU:2": "GPU-a"}
    assert figures_of([result("copies", *COPIES.rows, slow, devices=more)], NAMES).links == {
        "GPU:0": 7e9,
        "GPU:1": 1e9,
    }
    same = row("copy", "GPU:0", "GPU:2", bytes=1e9, seconds=(1.0,))
    assert figures_of([result("copies", same, devices=more)], NAMES) == MachineFigures()


def test_that_newer_results_hide_older_ones_and_other_benchmarks_say_nothing():
    older = result("compute", row("matmul", "GPU:0", flops=1.0, seconds=(1.0,)), begun=1.0)
    assert figures_of([COMPUTE, older], NAMES).flops["GPU:0"]["float32"] == 8e9
    assert figures_of([result("together", *COMPUTE.rows)], NAMES) == MachineFigures()


@pytest.mark.parametrize("measured", [None, 9.0])
def test_that_it_is_said_how_the_figures_are_known(measured):
    found = MachineFigures({"GPU:0": {"tf32": 95e12}, "CPU:0": {"float32": 1e11}}, {}, measured)
    assert bool(found.known) == (measured is not None)
    assert found.in_words("tf32") == "GPU:0 95 TFLOP/s; CPU:0 100 GFLOP/s"
    assert MachineFigures(links={"GPU:1": 1024.0**3}).in_words("tf32") == "to GPU:1 1 GiB/s"
