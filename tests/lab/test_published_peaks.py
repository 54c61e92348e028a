"""Rows against what NVIDIA publishes of a card, and cards of which nothing is known."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpu_studio.lab.benchmark_figures import row_words
from gpu_studio.lab.benchmarks import BenchmarkResult, BenchmarkRow, judged
from gpu_studio.lab.published_peaks import PEAKS, against_peak, peak_of

H100 = "NVIDIA H100 80GB HBM3"


def row(what: str = "matmul", dtype: str = "float32", **more: Any) -> BenchmarkRow:
    return BenchmarkRow(what, ("GPU:0",), 8192, dtype, seconds=(1.0,) * 3, **more)


@pytest.mark.parametrize(
    ("name", "float16"),
    [
        (H100, 989.5),
        ("NVIDIA A100-SXM4-40GB", 312.0),
        ("Tesla T4", 65.0),
        ("Tesla V100-SXM2-16GB", 125.0),
        ("NVIDIA GeForce RTX 4090", 165.2),
        ("NVIDIA L4", 121.0),
    ],
)
def test_that_a_card_is_known_by_the_name_that_its_driver_gives(name, float16):
    found = peak_of(name)
    assert found is not None
    assert found.teraflops["float16"] == float16


@pytest.mark.parametrize("name", ["", "NVIDIA Made-Up 1", "H100", "NVIDIA L4000", "GeForce"])
def test_that_no_peak_is_guessed(name):
    assert peak_of(name) is None


def test_that_every_peak_names_its_document_and_older_cards_have_no_tf32():
    assert all("NVIDIA" in each.source for each in PEAKS.values())
    old = [name for name, each in PEAKS.items() if "tf32" not in each.teraflops]
    assert all(name.startswith(("T4", "V100")) for name in old)
    assert all("bfloat16" not in PEAKS[name].teraflops for name in old)


def test_that_products_are_held_against_computing_and_element_wise_against_memory():
    half = against_peak(row("matmul", "bfloat16", flops=500e12, bytes=1e9), H100)
    assert half.against == pytest.approx(500 / 989.5)
    single = against_peak(row("convolution", flops=33.5e12), H100)
    assert single.against == pytest.approx(0.5)
    memory = against_peak(row("element-wise", flops=1e9, bytes=1.675e12), H100)
    assert memory.against == pytest.approx(0.5)
    assert "H100 Tensor Core GPU datasheet" in memory.reference_name
    (said, _) = judged(BenchmarkResult("compute", 1.0, {}, (half,)))
    assert "matmul in bfloat16 500 TFLOP/s (51 % of its published peak)" in said


def test_that_an_unknown_card_is_held_against_nothing_and_says_so():
    unknown = against_peak(row(flops=1e12), "Made-Up 1")
    assert math.isnan(unknown.against)
    assert row_words(unknown)[-1] == "no published peak of Made-Up 1 is known here"
    said = judged(BenchmarkResult("compute", 1.0, {}, (unknown,)))
    assert said[1] == "It is held against nothing: no published peak of Made-Up 1 is known here."


def test_that_what_has_a_reference_or_no_figure_or_no_card_stays_as_it_is():
    held = row(flops=1e12, reference=(1.0,), reference_name="NumPy")
    nothing = BenchmarkRow("matmul", ("GPU:0",), 1, why_not="no kernel")
    assert against_peak(held, H100) is held
    assert against_peak(nothing, H100) is nothing
    assert against_peak(row(flops=1e12), "") == row(flops=1e12)
    assert against_peak(row("matmul", "tf32", flops=1e12), "Tesla T4").reference == ()
