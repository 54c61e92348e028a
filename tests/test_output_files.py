"""Files that a person asked for by name."""

from __future__ import annotations

import csv
import errno
import io
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.output_files import csv_line, is_stream, write_output


def test_that_a_file_is_replaced_whole_and_is_its_owners(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    write_output(path, [b"new ", b"report"])
    assert path.read_bytes() == b"new report"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_that_a_file_stays_as_it_was_when_writing_fails(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("old")

    def parts():
        yield b"new"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_output(path, parts())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_that_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_output(tmp_path / "link", [b"new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_that_nothing_is_written_through_a_file_that_stands_where_a_temporary_one_might(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in (f".out.{os.getpid()}.tmp", ".out.tmp", ".out."):
        (tmp_path / name).symlink_to(victim)
    write_output(tmp_path / "out", [b"new"])
    assert victim.read_text() == "precious"


def test_that_a_device_is_written_into_and_stays_a_device(tmp_path):
    before = Path(os.devnull).stat()
    assert is_stream(tmp_path / os.devnull)
    write_output(tmp_path / os.devnull, [b"lost"])
    after = Path(os.devnull).stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)


def test_that_a_full_device_is_an_error_and_stays_a_device(tmp_path):
    with pytest.raises(OSError, match="No space") as refused:
        write_output(tmp_path / "/dev/full", [b"lost"])
    assert refused.value.errno == errno.ENOSPC
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_that_a_pipe_is_written_into_once_somebody_reads_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="nobody reads this pipe"):
        write_output(pipe, [b"unheard"])
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    large = b"x" * (1 << 20)  # more than a pipe holds
    held = os.open(pipe, os.O_WRONLY)  # so that the pipe has no end before the writer has opened it
    writer = threading.Thread(target=write_output, args=(pipe, [large]))
    writer.start()
    os.set_blocking(reading, True)
    with os.fdopen(reading, "rb") as file:
        assert file.read(len(large)) == large
        writer.join()
    os.close(held)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_that_what_was_redirected_to_a_file_is_added_to_it(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{descriptor}")
    try:
        for name in (f"/proc/self/fd/{descriptor}", f"/dev/fd/{descriptor}", tmp_path / "stdout"):
            path = tmp_path / name
            assert is_stream(path)
            write_output(path, [b"more\n"])
    finally:
        os.close(descriptor)
    assert log.read_text() == "before\n" + 3 * "more\n"


def test_that_a_file_a_folder_and_nothing_are_no_streams(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    assert [is_stream(tmp_path / name) for name in ("file", ".", "none", "circle")] == [False] * 4


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_that_no_text_is_a_formula_to_a_spreadsheet(text):
    assert list(csv.reader(io.StringIO(csv_line([text, "x"]), newline=""), strict=True)) == [[f"'{text}", "x"]]


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.integers(), st.none()), min_size=1))
def test_that_numbers_stay_numbers(numbers):
    [row] = csv.reader([csv_line([*numbers, *(str(each) for each in numbers if each is not None)])])
    known = [each for each in numbers if each is not None]
    assert [float(cell) for cell in row if cell] == [float(each) for each in (*known, *known)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
def test_that_every_text_comes_back_from_a_line_of_csv(texts):
    [row] = csv.reader(io.StringIO(csv_line(["", *texts]), newline=""), strict=True)
    assert [cell.removeprefix("'") for cell in row[1:]] == [text.removeprefix("'") for text in texts]
