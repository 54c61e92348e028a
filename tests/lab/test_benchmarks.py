"""What results of benchmarks say, and that a hostile or cut file is refused in words."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.lab.benchmarks import (
    BenchmarkError,
    BenchmarkResult,
    BenchmarkRow,
    TrainingPace,
    changes,
    dumps_result,
    judged,
    loads_result,
    other_machine,
    row_of,
    with_pace,
)

GIB = 1024**3


def row(what: str = "matmul", *devices: str, size: int = 1024, **more: Any) -> BenchmarkRow:
    return BenchmarkRow(what, devices or ("CPU:0",), size, **more)


def result(name: str, *rows: BenchmarkRow, **more: Any) -> BenchmarkResult:
    return BenchmarkResult(name, 1.0, {"host": "here"}, rows, **more)


def test_that_a_result_comes_back_from_its_file_as_it_was():
    whole = result("compute", row(seconds=(0.1, 0.2), flops=2e9, error=0.0), complete=False)
    assert loads_result(dumps_result(whole), "x") == whole


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no whole result"),
        (dumps_result(result("compute", row()))[:-40], "no whole result"),
        (b"[" * 100_000, "no whole result"),
        (b'{"version": 99, "new": 1}', "version 99, and this GPU Studio reads up to 2"),
        (dumps_result(result("copies")).replace(b"copies", b"copied"), "not known here"),
        (dumps_result(result("copies")).replace(b'"begun": 1.0', b'"begun": 1e999'), "mine"),
    ],
    ids=range(6),
)
def test_that_what_is_no_result_is_refused_with_what_to_do(data, said):
    with pytest.raises(BenchmarkError, match=said):
        loads_result(data, "mine")


@pytest.mark.parametrize(
    ("kind", "bad", "said"),
    [
        ("compute", row(seconds=(0.0,), flops=1.0, bytes=1.0), "took a time that is none"),
        ("together", row(seconds=(1.0,), bytes=1.0), "has no flops"),
        ("compute", row(seconds=(1.0,), flops=-1.0, bytes=1.0), "amount that is none"),
        ("launched", row(seconds=(1.0,)), "has no launched"),
        ("copies", row("copy", "host", seconds=(1.0,), bytes=1.0), "is of 1 devices"),
        ("all-reduce", row("ring", "CPU:0", seconds=(1.0,)), "has no bytes"),
        ("all-reduce", row("ring", seconds=(5e-324,), bytes=1.0), "took a time that is none"),
        ("compute", row(seconds=(1.0,), flops=1e308), "amount that is none"),
        ("compute", row(seconds=(1.0,), size=10**400), "amount that is none"),
        ("launched", row(seconds=(1.0,), launched=(1.0,), count=10**400), "was done 1000"),
        ("compute", row("matmul", "CPU:0", "CPU:1", seconds=(1.0,)), "is of 2 devices"),
        ("copies", row("overlapped copy", "a", "b", seconds=(1.0,), bytes=1.0), "no reference"),
    ],
    ids=range(12),
)
def test_that_rows_that_nothing_can_have_measured_are_refused(kind, bad, said):
    with pytest.raises(BenchmarkError, match=said):
        loads_result(dumps_result(result(kind, bad)), "mine")


@pytest.mark.parametrize("part", [{}, {"what": 1}, {"what": "x", "devices": "CPU:0", "size": 1}])
def test_that_a_measurement_that_is_none_is_refused(part):
    with pytest.raises(BenchmarkError, match="cannot be read"):
        row_of(part)


def test_that_rates_are_of_the_median_and_of_what_counts():
    measured = row(seconds=(1.0, 1.0, 9.0), flops=2e9, bytes=1.0)
    assert (measured.middle, measured.rate) == (1.0, "2 GFLOP/s")
    assert row("element-wise", seconds=(1.0,), flops=1.0, bytes=2.0 * GIB).rate == "2 GiB/s"
    assert row(seconds=(2.0,), reference=(1.0,)).against == 0.5
    assert row(why_not="no such kernel").rate == "no such kernel"
    assert math.isnan(row().middle)


def test_that_waiting_for_results_is_asked_for_only_where_calls_return_before():
    early = row("matmul", "GPU:0", seconds=(0.1,), launched=(0.05,), count=50)
    (said,) = judged(result("launched", early))
    assert "A timing that does not wait for a result measures 1 % of the truth" in said
    (said,) = judged(result("launched", msgspec.structs.replace(early, launched=(5.0,))))
    assert "were done when the calls returned" in said


def test_that_devices_at_once_are_held_against_the_sum_of_each_alone():
    alone = [row("matmul", f"GPU:{n}", seconds=(1.0,), flops=1e9) for n in range(4)]
    names = tuple(f"GPU:{n}" for n in range(4))
    (said,) = judged(result("together", *alone, row("matmul", *names, seconds=(1.0,), flops=1e9)))
    assert "4.00 times the fastest" in said
    assert "4.00 is the ideal (100 % of it)" in said
    both = row("matmul", *names, seconds=(2.0,), flops=1e9)
    (said,) = judged(result("together", *alone, both))
    assert "2.00 times" in said
    assert both.rate == "2 GFLOP/s", "what all of them reach, as the picture has it"


def test_that_cpus_that_share_their_cores_are_said_to():
    alone = [row("matmul", f"CPU:{n}", seconds=(1.0,), flops=1e9) for n in range(2)]
    both = row("matmul", "CPU:0", "CPU:1", seconds=(2.0,), flops=1e9)
    assert "Logical CPUs are one processor" in judged(result("together", *alone, both))[1]


def test_that_what_is_faster_than_the_memory_is_called_no_copy():
    slow = row("copy", "host", "GPU:0", size=GIB, seconds=(0.1,), bytes=GIB, reference=(0.1,))
    assert "10 GiB/s for 1 GiB, 1.00 times" in judged(result("copies", slow))[0]
    none = msgspec.structs.replace(slow, devices=("host", "CPU:1"), seconds=(0.001,))
    assert "no byte is copied" in judged(result("copies", none))[0]
    fast = msgspec.structs.replace(none, devices=("GPU:0", "GPU:1"))
    assert "no byte is copied" not in judged(result("copies", fast))[0], "a link, 100 times as fast"


def test_that_the_fastest_all_reduce_is_named_by_size_and_auto_is_held_against_it():
    def ways(size: int, ring: float, copy: float) -> list[BenchmarkRow]:
        both = ("GPU:0", "GPU:1")
        one = row("ring", *both, size=size, seconds=(ring,) * 5, reference_name="auto")
        return [one, row("hierarchical_copy", *both, size=size, seconds=(copy,) * 5)]

    said = judged(
        result("all-reduce", *ways(1024, 1.0, 2.0), *ways(4096, 1.0, 1.0), *ways(8192, 3, 1))
    )
    assert [each for each in said if "latency" not in each] == [
        "2 devices: from 1 KiB on and below 4 KiB, ring is the fastest.",
        "2 devices: from 4 KiB on and below 8 KiB, the methods do not differ beyond the noise.",
        "2 devices: from 8 KiB on, hierarchical_copy is the fastest.",
        (
            '2 devices: the plan\'s "auto" takes ring, and at 1 size of 3 another is faster: at '
            "8 KiB hierarchical_copy, 3.00 times."
        ),
    ]


def test_that_an_all_reduce_has_a_latency_and_a_bus_bandwidth_as_nccl_tests_defines_it():
    names = tuple(f"GPU:{n}" for n in range(4))
    small = row("ring", *names, size=1024, seconds=(20e-6,) * 5, bytes=1024.0)
    large = row("ring", *names, size=GIB, seconds=(0.5,) * 5, bytes=float(GIB))
    assert large.bus_bandwidth == 2 * GIB * 2 * 3 / 4
    assert large.rate == "2 GiB/s, bus 3 GiB/s"
    said = judged(result("all-reduce", small, large))
    assert "4 devices: the latency is 20.0 µs (ring, 1 KiB); the bus reaches 3 GiB/s" in said[1]
    auto = msgspec.structs.replace(large, reference_name="auto")
    slower = msgspec.structs.replace(large, what="nccl", seconds=(1.0,) * 5)
    said = judged(result("all-reduce", auto, slower))
    assert said[-1].endswith("the measurement agrees at every size.")
    assert math.isnan(row(seconds=(1.0,), bytes=1.0).bus_bandwidth)


def test_that_one_way_to_add_up_is_neither_the_fastest_nor_the_right_choice():
    both = ("GPU:0", "GPU:1")
    only = row("ring", *both, size=1024, seconds=(1.0,) * 5, bytes=1.0, reference_name="auto")
    said = judged(result("all-reduce", only, complete=False, why_not_complete="it was cancelled"))
    assert said[0] == "2 devices: from 1 KiB on, ring alone was measured."
    assert not any("agrees" in each or "fastest" in each for each in said)


def test_that_each_number_of_devices_is_judged_by_itself():
    two = row("ring", "GPU:0", "GPU:1", size=1024, seconds=(1.0,) * 5, bytes=1024.0)
    three = msgspec.structs.replace(two, devices=("GPU:0", "GPU:1", "GPU:2"))
    said = judged(result("all-reduce", two, three))
    assert [each.partition(":")[0] for each in said] == ["2 devices"] * 2 + ["3 devices"] * 2


def test_that_a_copy_while_its_card_computes_is_told_apart_from_one_that_is_waited_for():
    copy = row("copy", "host", "GPU:0", size=GIB, seconds=(0.1,), bytes=GIB, reported="pageable")
    both = row("overlapped copy", "host", "GPU:0", size=GIB, seconds=(0.2,), reference=(0.4,))
    pinned = row("pinned copy", "host", "GPU:0", size=GIB, seconds=(0.05,), bytes=GIB)
    said = judged(result("copies", copy, both, pinned))
    assert said[0] == "host to GPU:0 (pageable): 10 GiB/s for 1 GiB."
    assert "at once, 2.00 times as fast as one after the other" in said[1]
    assert said[2] == "host to GPU:0, pinned: 20 GiB/s for 1 GiB."


def test_that_reading_is_held_against_the_pace_of_training():
    read = row("read", size=64, seconds=(0.01,) * 3, samples=64.0)
    loaded = row("load", "host", size=9, seconds=(1.5,), samples=1797.0)
    held = with_pace(read, TrainingPace(1600.0, "as in run x"))
    assert judged(result("input", with_pace(loaded, TrainingPace(1.0, "")), held)) == [
        "Loading 1,797 samples takes 1.50 s: once.",
        "The data can be read at 6,400 samples/s, in batches of 64.",
        "That is 4.0 times the pace at which it trains (as in run x, 1,600 samples/s).",
    ]
    slow = judged(result("input", with_pace(read, TrainingPace(6400.0, "as in run x"))))
    assert slow[-1].startswith("Training waits for its data")
    assert "train it, and measure again" in judged(result("input", with_pace(read, None)))[-1]
    ended = row("read", size=64, why_not="The data ended.")
    assert judged(result("input", ended)) == ["The data ended."]


def test_that_a_wrong_result_is_said_whatever_its_speed():
    said = judged(result("compute", row(seconds=(1.0,), flops=1.0, error=0.5)))
    assert any("WRONG RESULT: matmul in float32 on CPU:0" in each for each in said)
    said = judged(result("compute", row(seconds=(1.0,), flops=1.0, error=0.0002)))
    assert said[-1].endswith("on CPU:0 differs by 0.02 % from the true one.")


def test_that_a_broken_off_result_says_so_and_an_empty_one_too():
    said = judged(result("compute", complete=False, why_not_complete="it was cancelled"))
    assert said[0] == "Nothing was measured."
    assert "broken off (it was cancelled)" in said[1]


@given(st.integers(0, 10**6))
def test_that_equal_machines_are_seldom_told_apart_and_unequal_ones_always(seed):
    noise = np.random.default_rng(seed).normal(1.0, 0.05, (3, 7))
    one, same, twice = (row(seconds=tuple(each)) for each in noise)
    twice = msgspec.structs.replace(twice, seconds=tuple(2 * each for each in twice.seconds))
    assert one.is_faster_than(twice)
    assert not twice.is_faster_than(one)
    assert not (one.is_faster_than(same) and same.is_faster_than(one))


def test_that_equal_machines_are_told_apart_in_less_than_a_twentieth_of_all_trials():
    noise = np.random.default_rng(7).normal(1.0, 0.03, (1000, 2, 7))
    rows = [[row(seconds=tuple(each)) for each in pair] for pair in noise]
    told = sum(a.is_faster_than(b) or b.is_faster_than(a) for a, b in rows)
    assert told < 50


def test_that_two_results_are_compared_in_what_both_measured():
    before = result("compute", row(seconds=(1.0,) * 3), row(size=2048, seconds=(1.0,) * 3))
    after = result("compute", row(seconds=(2.0,) * 3), row(size=4096, seconds=(1.0,) * 3))
    (change,) = changes(before, after)
    assert (change.ratio, change.is_clear) == (0.5, True)
    with pytest.raises(BenchmarkError, match="compare two of one"):
        changes(before, result("copies"))
    with pytest.raises(BenchmarkError, match="no measurement in common"):
        changes(before, result("compute"))
    newer = BenchmarkResult("compute", 2.0, {"host": "here", "driver": "560"}, ())
    assert other_machine(before, newer) == ["driver: unknown, then 560"]


def test_that_the_file_is_json_that_others_can_read():
    document = json.loads(dumps_result(result("compute", row(seconds=(1.0,)))))
    assert document["rows"][0]["devices"] == ["CPU:0"]
