"""What a trainer printed, read in slices: long files, floods, progress bars, damaged text."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.ui.train.run_log import LONGEST_LINE, SLICE_BYTES, SLICES, OutputLog, level_of

MIB = 1024 * 1024
FLOOD = 100 * MIB


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trainer.log"


def everything(log) -> list[str]:
    return [line for _ in range(SLICES) for line in log.new()]


def write_much(path, size: int, mode: str = "wb") -> None:
    block = b"".join(
        b"step %07d of user code that prints at every one of them\n" % n for n in range(MIB // 58)
    )
    with path.open(mode) as file:
        for _ in range(size // len(block) + 1):
            file.write(block)


def test_that_a_long_output_is_read_from_near_its_end(path) -> None:
    path.write_text("".join(f"line {number}\n" for number in range(100_000)))
    log = OutputLog(path)
    lines = everything(log)
    assert lines[0] == f"… earlier lines stand in {path}"
    first = int(lines[1].split()[1])
    assert lines[1:] == [f"line {number}" for number in range(first, 100_000)]
    with path.open("a") as file:
        file.write("one more\nhalf a li")
    assert log.new() == ["one more"]
    with path.open("a") as file:
        file.write("ne\n")
    assert log.new() == ["half a line"]


def test_that_a_hundred_mebibytes_cost_no_more_than_their_end(path) -> None:
    write_much(path, FLOOD)
    tracemalloc.start()
    try:
        log = OutputLog(path)
        lines = everything(log)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 4000 < len(lines) < 5000
    assert peak < 4 * MIB


def test_that_a_flood_between_two_looks_is_passed_over_and_said_so(path) -> None:
    path.write_text("first\n")
    log = OutputLog(path)
    assert log.new() == ["first"]
    write_much(path, FLOOD, "ab")
    lines = log.new()
    assert lines[0].startswith("… 10")
    assert "MiB passed over" in lines[0]
    assert sum(map(len, lines[1:])) <= SLICE_BYTES
    assert all(line.startswith("step ") for line in lines[1:])
    everything(log)
    with path.open("a") as file:
        file.write("the end\n")
    assert log.new() == ["the end"]


def test_that_a_file_that_was_begun_anew_is_read_from_its_beginning(path) -> None:
    path.write_text("old\nold\n")
    log = OutputLog(path)
    log.new()
    path.write_text("new\n")
    assert log.new() == ["… the file was started again", "new"]


def test_that_of_a_progress_bar_the_last_state_is_shown_and_a_long_line_is_cut(path) -> None:
    path.write_bytes(b"1/3\r2/3\r3/3\r\n" + b"x" * 5000 + b"\n")
    bar, long = OutputLog(path).new()
    assert bar == "3/3"
    assert long == "x" * LONGEST_LINE + "… (5,000 characters)"


def test_that_a_line_without_an_end_is_not_kept_for_ever(path) -> None:
    path.write_bytes(b"")
    log = OutputLog(path)
    log.new()
    shown: list[str] = []
    for _ in range(2 * SLICES):
        with path.open("ab") as file:
            file.write(b"y" * SLICE_BYTES)
        shown += log.new()
    assert shown
    assert max(map(len, shown)) < LONGEST_LINE + 40


def test_that_an_output_that_is_not_there_yet_has_no_lines_and_is_read_once_it_is(path) -> None:
    log = OutputLog(path)
    assert log.new() == []
    path.write_text("here\n")
    assert log.new() == ["here"]


def test_that_an_output_that_cannot_be_read_says_so_once(tmp_path) -> None:
    log = OutputLog(tmp_path)
    assert "cannot be read" in log.new()[0]
    assert log.new() == []


letters = st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",))


@given(st.lists(st.text(letters, max_size=40)), st.lists(st.integers(1, 60)))
def test_that_lines_come_back_however_they_were_written(tmp_path_factory, lines, pieces) -> None:
    path = tmp_path_factory.mktemp("log") / "trainer.log"
    data, found = "".join(f"{line}\n" for line in lines).encode(), []
    path.write_bytes(b"")
    log = OutputLog(path)
    log.new()
    for size in [*pieces, len(data)]:
        with path.open("ab") as file:
            file.write(data[:size])
        data = data[size:]
        found += log.new()
    assert found == lines


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2026-11-20 14:02:01.123: W tensorflow/core/x.cc:3] slow", "warning"),
        ("2026-11-20 14:02:01.123: E external/xla/y.cc:3] no", "error"),
        ("2026-11-20 14:02:01.123: I tensorflow/core/x.cc:3] fine", "info"),
        ("W0000 00:00:1732.123   12 gpu_device.cc:2] cannot", "warning"),
        ("WARNING:tensorflow:careful", "warning"),
        ("/x/y.py:3: UserWarning: careful", "info"),
        ("UserWarning: careful", "warning"),
        ("ValueError: no", "error"),
        ("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM", "error"),
        ("no error here", "info"),
        ("epoch 3", "info"),
    ],
)
def test_that_levels_are_told_by_the_beginning_of_a_line(line, level) -> None:
    assert level_of(line) == level
