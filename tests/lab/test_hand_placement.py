"""Operations placed by hand: how they are written, what is wrong with them, what is said."""

from __future__ import annotations

import pytest

from gpu_studio.lab.benchmark_figures import row_words
from gpu_studio.lab.benchmarks import BenchmarkError, BenchmarkResult, BenchmarkRow, judged
from gpu_studio.lab.hand_placement import (
    MOST_OPERATIONS,
    HandOperation,
    HandPlacement,
    checked,
    classic,
    operation_of,
    problems,
    unknown_devices,
    with_explanation,
)

THERE = ("CPU:0", "CPU:1")
REFUSED = "Unable to find any devices for spec /device:GPU:3"


def placed(*texts: str, **more: bool) -> HandPlacement:
    return HandPlacement(tuple(map(operation_of, texts)), **more)


def said_of(*rows: BenchmarkRow) -> list[str]:
    return judged(BenchmarkResult("place", 1.0, {}, rows))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a=matmul@CPU:0", HandOperation("a", "matmul", (), "CPU:0")),
        ("total=add(a,b)@GPU:1", HandOperation("total", "add", ("a", "b"), "GPU:1")),
        (" b = relu ( a ) ", HandOperation("b", "relu", ("a",))),
        ("c=tanh()", HandOperation("c", "tanh")),
    ],
)
def test_that_an_operation_is_read_as_it_is_written(text, meant):
    assert operation_of(text) == meant
    assert operation_of(str(meant)) == meant


@pytest.mark.parametrize("text", ["", "a", "a=b=c", "a=add(b", "a=add(b))", "a@CPU:0", "a=add(b)c"])
def test_that_what_is_no_operation_is_refused_with_how_to_write_one(text):
    with pytest.raises(BenchmarkError, match="write NAME=KIND"):
        operation_of(text)


@pytest.mark.parametrize(
    ("placement", "said"),
    [
        (HandPlacement(), "There is no operation"),
        (placed("a=matmul", "a=add"), "Two operations are called a"),
        (placed("a=add(b)", "b=add"), "a takes b, which is no operation before it"),
        (placed("a=matmul", "b=relu(a,a)"), "b takes 2 results; relu 1"),
        (placed("a=divide"), "none of matmul, add"),
        (placed("a=add@/gpu"), "write it as TensorFlow does"),
        (placed("1=add"), "'1' is no name of an operation"),
        (HandPlacement(placed("a=add").operations, side=0), "from 1 to 16,384"),
        (placed(*(f"a{n}=add" for n in range(MOST_OPERATIONS + 1))), "at most 64"),
    ],
    ids=range(9),
)
def test_that_what_cannot_be_is_said(placement, said):
    assert any(said in each for each in problems(placement))
    with pytest.raises(BenchmarkError):
        checked(placement)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_that_the_classic_multiplies_on_each_device_and_adds_all_on_the_cpu(count):
    found = checked(classic([f"GPU:{n}" for n in range(count)]))
    assert [one.device for one in found.operations[:count]] == [f"GPU:{n}" for n in range(count)]
    sums = found.operations[count:]
    assert [(one.kind, one.device) for one in sums] == [("add", "CPU:0")] * (count - 1)
    assert not sums or sums[-1].name == "total"
    taken = {name for one in sums for name in one.inputs}
    assert {one.name for one in found.operations} - taken == {found.operations[-1].name}


def test_that_an_unknown_device_is_explained_by_whether_placement_is_soft():
    soft = unknown_devices(placed("a=matmul@GPU:3", "b=matmul@CPU:1", "c=relu"), THERE)
    assert list(soft) == ["a"]
    assert "There is no GPU:3: TensorFlow has CPU:0 and CPU:1." in soft["a"]
    assert "takes another instead, without a word" in soft["a"]
    hard = unknown_devices(placed("a=matmul@CPU:3", soft_placement=False), THERE)
    assert "executes nothing" in hard["a"]
    assert "carve the CPU" in hard["a"]


def test_that_a_refusal_is_told_in_tensorflows_words_and_in_ours():
    explained = unknown_devices(placed("a=matmul@GPU:3", soft_placement=False), THERE)
    rows = [
        BenchmarkRow("matmul", (), 100, name="a", asked="GPU:3", reported=REFUSED),
        BenchmarkRow("relu", (), 100, name="b", reported=REFUSED),
    ]
    said = said_of(*(with_explanation(row, explained) for row in rows))
    assert said == [f"TensorFlow refused: {REFUSED}", explained["a"], "Nothing was executed."]


def test_that_what_was_moved_and_what_was_merged_is_said():
    log = "/job:localhost/replica:0/task:0/device:CPU:0"
    explained = unknown_devices(placed("a=matmul@GPU:3"), THERE)
    moved = BenchmarkRow("matmul", ("CPU:0",), 9, name="a", asked="GPU:3", reported=log)
    same = BenchmarkRow("add", ("CPU:0",), 9, name="b", reported=log, why_not="executed once")
    said = said_of(*(with_explanation(row, explained) for row in (moved, same)))
    assert said[0] == f"a was asked for GPU:3, and executed on CPU:0. {explained['a']}"
    assert said[1:] == ["b: executed once.", "TensorFlow's own log of placements says the same."]


def test_that_a_log_that_says_otherwise_is_not_hushed_up():
    row = BenchmarkRow(
        "add", ("CPU:1",), 9, name="a", asked="CPU:1", reported="/task:0/device:CPU:0"
    )
    assert said_of(row)[1] == (
        "TensorFlow's log of placements says otherwise of a: /task:0/device:CPU:0."
    )


def test_that_a_device_that_cannot_do_an_operation_is_said_to():
    row = BenchmarkRow("softmax", ("CPU:0",), 9, name="a", asked="GPU:0")
    assert "TensorFlow has nothing that does a softmax there." in said_of(row)[0]


def test_that_the_table_has_what_was_asked_beside_what_was_executed():
    moved = BenchmarkRow(
        "add", ("CPU:0",), 9, name="c", inputs=("a", "b"), asked="GPU:3", seconds=(1.0,)
    )
    words = row_words(moved)
    assert (words[0], words[1], words[-1]) == ("c = add(a, b)", "CPU:0", "asked for GPU:3")
    refused = row_words(BenchmarkRow("add", (), 9, name="c", reported=REFUSED, why_not="not there"))
    assert refused[0] == "c = add"
    assert (refused[1], refused[4], refused[-1]) == ("nothing", "not there", "asked for any")
    sent = row_words(BenchmarkRow("sent", ("CPU:1", "CPU:0"), 36, bytes=36.0, name="a"))
    assert sent[:2] == ("a sent", "CPU:1 to CPU:0")
