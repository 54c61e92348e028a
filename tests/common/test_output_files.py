"""Files that the user requested by name."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from gpu_studio.common.safe_files import is_stream, write_output


def test_that_a_new_file_is_its_owners_alone(tmp_path):
    path = tmp_path / "report.html"
    write_output(path, [b"new ", b"report"])
    assert path.read_bytes() == b"new report"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("permissions", [0o600, 0o644, 0o664])
def test_that_a_file_is_replaced_whole_and_can_be_read_by_whoever_could(tmp_path, permissions):
    path = tmp_path / "shared.plan.toml"
    path.write_text("old")
    path.chmod(permissions)
    write_output(path, [b"new"])
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == permissions


def test_that_a_file_of_another_user_becomes_the_own_of_who_replaces_it(tmp_path, monkeypatch):
    path = tmp_path / "planted.csv"
    path.touch(mode=0o666)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    write_output(path, [b"new"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_that_an_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as refused:
        write_output(tmp_path / "none" / "out.toml", [b""])
    assert refused.value.filename == str(tmp_path / "none" / "out.toml")


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
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, "/dev/full")
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
