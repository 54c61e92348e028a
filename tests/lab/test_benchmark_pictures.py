"""The pictures of results: what stands in them, whoever draws them."""

from __future__ import annotations

import itertools
import math

import pytest
from made_benchmarks import CARDS, GIB, ROWS, made, row

from gpu_studio.lab.benchmark_pictures import (
    Bars,
    Curves,
    Heat,
    described,
    in_unit,
    pictures,
    with_links,
)
from gpu_studio.lab.benchmarks import BENCHMARKS, BenchmarkResult
from gpu_studio.lab.published_peaks import against_peak


def test_that_every_kind_that_is_measured_in_seconds_has_its_picture():
    kinds = {name: type(pictures(made(name))[0]) for name in ROWS}
    assert kinds == {
        "compute": Curves,
        "launched": Bars,
        "together": Bars,
        "copies": Heat,
        "all-reduce": Curves,
    }
    assert set(ROWS) < set(BENCHMARKS)


@pytest.mark.parametrize("name", list(ROWS))
def test_that_nothing_measured_makes_no_picture(name):
    assert pictures(made(name, rows=())) == ()
    assert pictures(made(name, rows=(row("matmul", why_not="no"),))) == ()


@pytest.mark.parametrize("name", list(ROWS))
def test_that_one_row_alone_of_any_kind_can_be_looked_at(name):
    for each in made(name).rows:
        for picture in pictures(made(name, rows=(each,))):
            assert described(picture)


def test_that_a_roofline_lies_over_all_that_was_measured_and_touches_the_best():
    roofs = [each for each in pictures(made("compute")) if isinstance(each, Curves)]
    assert [each.title for each in roofs] == [f"Roofline of {name}" for name in CARDS]
    for curve in roofs[0].curves:
        over = [_at(curve.ceiling, mark.x) / mark.y for mark in curve.marks]
        assert min(over) == pytest.approx(1)
        assert sorted(over)[1] == pytest.approx(1), "one touches the slope, one the top"
    assert [each.title for each in pictures(made("compute", CARDS[:1]))] == [
        "Roofline",
        "Best by type",
    ]


def _at(line, x: float) -> float:
    """The height of a line of straight pieces over logarithmic axes."""
    for (left, low), (right, high) in itertools.pairwise(line):
        if left <= x <= right:
            share = math.log(x / left) / math.log(right / left)
            return float(low * (high / low) ** share)
    raise AssertionError("the line does not reach so far")


def test_that_a_matrix_has_each_way_and_the_figures_in_one_unit():
    largest, smallest = pictures(made("copies"))
    assert (largest.title, smallest.title) == ("64 MiB", "4 KiB")
    assert largest.names == ("host", *CARDS)
    assert len(largest.cells) == 20
    assert largest.unit == "GiB/s"
    cell = largest.cells["host", "GPU:0"]
    assert cell.text == "19.9"
    assert cell.said == "host to GPU:0: 19.9 GiB/s"


def test_that_a_way_on_which_nothing_is_copied_has_no_figure():
    rows = [
        row("copy", "host", "CPU:0", size=GIB, seconds=(1e-3,), bytes=GIB, reference=(0.1,)),
        row("copy", "CPU:0", "host", size=GIB, seconds=(0.1,), bytes=GIB, reference=(0.1,)),
    ]
    (matrix,) = pictures(made("copies", rows=tuple(rows)))
    assert matrix.cells["host", "CPU:0"].value is None
    assert matrix.cells["host", "CPU:0"].text == "no copy"
    assert matrix.cells["CPU:0", "host"].value == pytest.approx(10 * GIB)


def test_that_bus_bandwidth_is_that_of_the_nccl_tests():
    bus, time = pictures(made("all-reduce"))
    assert (bus.title, time.title) == ("Bus bandwidth, 4 devices", "Time, 4 devices")
    (nccl, ring) = bus.curves
    assert (nccl.name, ring.name) == ("nccl", "ring")
    seconds = time.curves[0].marks[-1].y
    assert nccl.marks[-1].y == pytest.approx((1 << 26) / seconds * 2 * 3 / 4)
    assert [mark.x for mark in nccl.marks] == [1 << 10, 1 << 18, 1 << 26]
    assert all(mark.low <= mark.y <= mark.high for mark in (*nccl.marks, *time.curves[1].marks))


def test_that_the_sum_of_each_alone_is_what_all_at_once_is_held_against():
    (bars,) = pictures(made("together"))
    assert [bar.device for bar in bars.bars] == [*CARDS, ""]
    assert bars.ideal == pytest.approx(sum(bar.value for bar in bars.bars[:-1]))
    assert bars.bars[-1].value == pytest.approx(4 * 1e11 / 2.1e-3)


def test_that_what_has_returned_is_a_part_of_what_is_done():
    (bars,) = pictures(made("launched", CARDS[:1]))
    returned, done = bars.bars
    assert (returned.part, done.part) == (True, False)
    assert (returned.text, done.text) == ("900 µs", "490 ms")


def test_that_reading_is_held_against_training():
    read = row("read", "CPU:0", size=64, seconds=(0.1,), samples=640.0, reference=(0.4,))
    (bars,) = pictures(BenchmarkResult("input", 1.0, {}, (read,)))
    assert [bar.text for bar in bars.bars] == ["6,400 samples/s", "1,600 samples/s"]


def test_that_a_picture_can_be_heard():
    (bars,) = pictures(made("launched", CARDS[:1]))
    said = "Returned, and done: GPU:0, calls returned 900 µs; GPU:0, results there 490 ms."
    assert described(bars) == said
    assert "host to GPU:1: 22.9 GiB/s" in described(pictures(made("copies"))[0])


def test_that_values_on_axes_have_their_units():
    assert in_unit(0.02, "seconds") == "20.0 ms"
    assert in_unit(1024.0, "bytes") == "1 KiB"
    assert in_unit(1024.0, "bytes a second") == "1 KiB/s"
    assert in_unit(2e9, "flops a second") == "2 GFLOP/s"
    assert (in_unit(0.25, "flops a byte"), in_unit(1000, "flops a byte")) == ("0.25", "1,000")


def test_that_published_peaks_are_lines_over_what_was_reached():
    card = "NVIDIA H100 80GB HBM3"
    rows = tuple(against_peak(each, card) for each in made("compute", CARDS[:1]).rows)
    (roof, _best) = pictures(made("compute", rows=rows))
    peaks = {curve.name: curve.published[-1][1] for curve in roof.curves}
    assert peaks["bfloat16"] == pytest.approx(989.5e12)
    assert peaks["float32"] == pytest.approx(67e12)
    assert roof.curves[0].published[0][1] == pytest.approx(3350e9 * roof.curves[0].published[0][0])
    unknown = tuple(against_peak(each, "a card") for each in made("compute", CARDS[:1]).rows)
    (roof, _best) = pictures(made("compute", rows=unknown))
    assert all(curve.published == () for curve in roof.curves)


def test_that_pinned_and_overlapped_copies_have_matrices_of_their_own():
    plain = made("copies", CARDS[:1]).rows
    way = ("host", "GPU:0")
    pinned = row("pinned copy", *way, size=1 << 26, seconds=(1e-3,), bytes=float(1 << 26))
    both = row(
        "overlapped copy",
        *way,
        size=1 << 26,
        seconds=(1e-3,),
        bytes=float(1 << 26),
        reference=(1.9e-3,),
        reference_name="one after the other",
    )
    made_of = pictures(made("copies", rows=(*plain, pinned, both)))
    titles = [picture.title for picture in made_of]
    assert titles == ["64 MiB", "4 KiB", "pinned copy, 64 MiB", "overlapped copy, 64 MiB"]
    assert made_of[2].cells[way].text == "62.5"
    assert made_of[3].cells[way].text == "1.90 ×"
    assert "2 is the ideal" in made_of[3].cells[way].said


def test_that_what_has_no_bytes_lies_on_no_roofline():
    one = row("matmul", "CPU:0", seconds=(0.1,), flops=1e9)
    assert [picture.title for picture in pictures(made("compute", rows=(one,)))] == ["Best by type"]


def test_that_a_matrix_says_what_joins_two_cards_as_far_as_it_is_known():
    links = {("GPU:0", "GPU:1"): "NV18"}
    matrix = with_links(pictures(made("copies"))[0], links)
    assert matrix.cells["GPU:0", "GPU:1"].link == "NV18"
    assert matrix.cells["GPU:0", "GPU:1"].said == "GPU:0 to GPU:1: 43.7 GiB/s, over NV18"
    assert matrix.cells["host", "GPU:0"].link == ""
    bars = pictures(made("launched"))[0]
    assert with_links(bars, links) is bars
