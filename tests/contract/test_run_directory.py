from __future__ import annotations

import errno
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpu_studio.contract import directory
from gpu_studio.contract.directory import RunDirectory


def mode(path):
    return path.stat().st_mode & 0o777


def test_that_a_new_directory_and_its_missing_parents_are_only_its_owners(tmp_path):
    run = RunDirectory.create(tmp_path / "data" / "runs", "Digits on Four Devices")
    assert mode(run.path) == mode(tmp_path / "data" / "runs") == mode(tmp_path / "data") == 0o700


def test_that_the_name_says_when_and_what(tmp_path):
    run = RunDirectory.create(tmp_path, "Digits on Four Devices")
    assert re.fullmatch(r"\d{8}T\d{6}Z-digits-on-four-devices-[0-9a-f]{4}", run.id)


def test_that_two_runs_of_one_plan_have_two_directories(tmp_path):
    assert len({RunDirectory.create(tmp_path, "same").path for _ in range(20)}) == 20


def test_that_a_prepared_directory_is_hidden_until_it_is_published(tmp_path):
    prepared = RunDirectory.prepare(tmp_path, "x")
    prepared.plan_file.write_text("kept")
    assert prepared.id.startswith(".")
    run = prepared.publish()
    assert not prepared.exists()
    assert run.plan_file.read_text() == "kept"


def test_that_a_run_follows_the_newest_though_the_clock_was_set_back(tmp_path, monkeypatch):
    clocks = [
        datetime(2026, 11, day, hour, tzinfo=UTC) for day, hour in ((9, 23), (9, 11), (9, 12))
    ]
    monkeypatch.setattr(directory, "datetime", SetClock)
    made = []
    for SetClock.time in clocks:
        made.append(RunDirectory.create(tmp_path, "x").id)
    assert made == sorted(made)
    assert made[1].startswith("20261109T230001Z-")
    # What lies days ahead was named by a wrong clock.
    RunDirectory(tmp_path / "99991231T235959Z-x-0000").path.mkdir()
    SetClock.time = datetime(2026, 11, 7, tzinfo=UTC)
    assert RunDirectory.create(tmp_path, "x").id.startswith("20261107T000000Z-")


class SetClock(datetime):
    """The time that a test has set."""

    time: datetime

    @classmethod
    def now(cls, tz=None):
        return cls.time


def test_that_two_runs_of_one_second_never_share_a_name(tmp_path, monkeypatch):
    drawn = iter(["aaaa", "aaaa", "bbbb"])
    names = (f"20261126T000000Z-small-{each}" for each in drawn)
    monkeypatch.setattr(directory, "new_id", lambda *_: next(names))
    made = [RunDirectory.create(tmp_path, "small").id[-4:] for _ in range(2)]
    assert made == ["aaaa", "bbbb"]


def test_that_where_no_folder_can_be_made_that_of_the_runs_is_named(tmp_path, monkeypatch):
    def refused(path, *_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(OSError, match="No space left") as caught:
        RunDirectory.create(tmp_path, "x")
    assert caught.value.filename == str(tmp_path)
