"""Samples kept in a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gpu_studio.hardware.recorder import BeingRecordedError, Recorder

FAST = b'{"sample":"fast","time":1,"cards":[]}'
HAPPENED = b'{"sample":"happened","time":1,"card":"","kind":"xid","code":79,"words":""}'


def test_that_lines_are_appended_to_a_file_that_only_its_owner_reads(tmp_path):
    path = tmp_path / "hardware.jsonl"
    for _ in range(2):
        with Recorder(path) as recorder:
            assert recorder.write(FAST)

    assert path.read_bytes() == (FAST + b"\n") * 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_that_one_file_has_one_recorder(tmp_path):
    with (
        Recorder(tmp_path / "x"),
        pytest.raises(BeingRecordedError, match="being recorded into already"),
    ):
        Recorder(tmp_path / "x")
    Recorder(tmp_path / "x").close()


def test_that_a_recording_never_outgrows_its_limit_and_covers_several_times_what_would_fit(
    tmp_path,
):
    path, limit, total = tmp_path / "x", 20_000, 5_000
    fit = limit // 40
    with Recorder(path, limit) as recorder:
        for number in range(total):
            recorder.write(b'{"sample":"fast","time":%d,"cards":[]}' % number)
    kept = [int(line.split(b":")[2].split(b",")[0]) for line in path.read_bytes().splitlines()]

    assert path.stat().st_size <= limit
    assert kept[:200] == list(range(200))
    assert kept[-1] > 3 * fit


def test_that_what_befalls_a_card_is_kept_when_figures_are_thinned(tmp_path):
    path = tmp_path / "x"
    with Recorder(path, 10_000) as recorder:
        while recorder.write(FAST):
            pass
        assert all(recorder.write(HAPPENED) for _ in range(5))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_that_a_full_disk_loses_lines_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x"
    with Recorder(path) as recorder:
        assert recorder.write(FAST)
        kept, recorder.descriptor = recorder.descriptor, os.open("/dev/full", os.O_WRONLY)
        assert not recorder.write(FAST)
        os.close(recorder.descriptor)
        recorder.descriptor = kept
        assert recorder.write(FAST)
        assert recorder.lost == 1

    assert path.read_bytes() == (FAST + b"\n") * 2


def test_that_half_a_line_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "x"
    write = os.write
    with Recorder(path) as recorder:
        recorder.write(FAST)
        monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
        assert not recorder.write(FAST)
        monkeypatch.undo()
        assert recorder.write(HAPPENED)

    assert path.read_bytes() == FAST + b"\n" + HAPPENED + b"\n"


def test_that_what_is_of_use_only_for_the_moment_is_not_kept(tmp_path):
    with Recorder(tmp_path / "x") as recorder:
        assert not recorder.write(b'{"sample":"asking","time":1,"index":0}')
    assert (tmp_path / "x").read_bytes() == b""
