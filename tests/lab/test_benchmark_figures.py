"""What results of benchmarks come to in short: one figure each, rows in words and for programs."""

from __future__ import annotations

import csv
import io

import pytest
from made_benchmarks import CARDS, GIB, made, row

from gpu_studio.lab.benchmark_figures import (
    HEADINGS,
    NO_FIGURE,
    csv_of,
    directions_without_copy,
    headline,
    machine_in_words,
    row_words,
)
from gpu_studio.lab.benchmarks import BenchmarkResult


@pytest.mark.parametrize(
    ("name", "figure", "of"),
    [
        ("compute", "70 TFLOP/s", "matmul, float32 · 4 devices"),
        ("launched", "900 µs / 490 ms", "50 × 4,000² · GPU:0"),
        ("together", "3.81 × of 4", "4 devices"),
        ("copies", "76.1 GiB/s", "GPU:3 to GPU:2, 64 MiB"),
        ("all-reduce", "182.5 GiB/s", "nccl, 64 MiB · 4 devices"),
    ],
)
def test_that_each_kind_has_the_figure_that_sums_it_up(name, figure, of):
    found = headline(made(name))
    assert (found.figure, found.of) == (figure, of)


def test_that_a_result_with_nothing_in_it_says_so():
    assert headline(made("compute", rows=())).figure == NO_FIGURE
    assert headline(made("compute", rows=(row("matmul", why_not="no"),))).figure == NO_FIGURE


def test_that_a_kind_of_row_that_is_not_known_has_its_first_figure():
    other = made("compute", rows=(row("sort", "GPU:0", seconds=(0.5,), bytes=1.0 * GIB),))
    assert (headline(other).figure, headline(other).of) == ("2 GiB/s", "GPU:0")


def test_that_a_way_copies_nothing_if_its_largest_copy_does_not():
    held = {"reference": (0.01,), "bytes": 1.0}
    rows = [
        row("copy", "host", "CPU:0", size=4, seconds=(0.02,), **held),
        row("copy", "host", "CPU:0", size=900, seconds=(0.001,), **held),
        row("copy", "CPU:0", "CPU:1", size=900, seconds=(0.01,), **held),
    ]
    assert directions_without_copy(rows) == {("host", "CPU:0")}
    assert headline(BenchmarkResult("copies", 1.0, {}, (rows[0], rows[1]))).figure == "no copy"
    assert headline(BenchmarkResult("copies", 1.0, {}, tuple(rows))).of == "CPU:0 to CPU:1, 900 B"


def test_that_a_row_has_a_word_for_each_heading():
    words = [row_words(each) for name in ("copies", "compute") for each in made(name).rows]
    assert {len(each) for each in words} == {len(HEADINGS)}
    assert words[0][:4] == ("copy", "host to GPU:0", "uint8", "4 KiB")
    failed = row_words(row("matmul", "GPU:0", why_not="no such kernel"))
    assert dict(zip(HEADINGS, failed, strict=True))["Reaches"] == "no such kernel"


def test_that_rows_for_programs_are_whole_numbers_of_base_units():
    result = made("compute", CARDS[:1])
    failed = row("matmul", "GPU:0", size=7, why_not='no, "never"')
    result = BenchmarkResult("compute", 1.0, {}, (*result.rows, failed))
    lines = list(csv.DictReader(io.StringIO(csv_of(result))))
    assert len(lines) == len(result.rows)
    first = lines[0]
    assert float(first["median_seconds"]) == 2e-3
    assert float(first["flops_per_second"]) == pytest.approx(7e13)
    assert first["repeats"] == "3"
    assert (lines[-1]["size"], lines[-1]["why_not"]) == ("7", 'no, "never"')
    assert lines[-1]["median_seconds"] == ""
    tabs = csv_of(result, separator="\t").splitlines()
    assert tabs[0].split("\t")[:2] == ["what", "devices"]


@pytest.mark.parametrize("separator", [",", "\t"])
def test_that_no_text_of_a_file_is_a_formula_to_a_spreadsheet(separator):
    odd = row("=cmd|calc", "+1", "@x", seconds=(1.0,), dtype="-2+3", why_not="=1")
    text = csv_of(BenchmarkResult("compute", 1.0, {}, (odd,)), separator)
    (line,) = csv.DictReader(io.StringIO(text), delimiter=separator)
    assert (line["what"], line["devices"], line["type"]) == ("'=cmd|calc", "'+1 @x", "'-2+3")
    assert line["why_not"] == "'=1"


def test_that_the_figure_of_copies_is_that_of_plain_ones():
    plain = made("copies", CARDS[:1])
    way = ("host", "GPU:0")
    fast = row("pinned copy", *way, size=1 << 28, seconds=(1e-6,), bytes=float(1 << 28))
    with_pinned = BenchmarkResult("copies", 1.0, {}, (*plain.rows, fast))
    assert headline(with_pinned) == headline(plain)


def test_that_cards_of_one_kind_stand_in_one_line():
    names = ["one", "one", "two", "one", "one", "one"]
    cards = {f"GPU {n}": f"{name} (GPU-{n}-uuid)" for n, name in enumerate(names)}
    assert machine_in_words({"host": "here", **cards, "driver": "580"}) == {
        "host": "here",
        "GPU 0 to 1": "one",
        "GPU 2": "two",
        "GPU 3 to 5": "one",
        "driver": "580",
    }
    assert machine_in_words({"GPU Studio": "0.1", "CPU": "a"}) == {"GPU Studio": "0.1", "CPU": "a"}
