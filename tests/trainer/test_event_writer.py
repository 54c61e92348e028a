from __future__ import annotations

import errno
import os
import resource
import threading
from contextlib import contextmanager
from unittest import mock

import pytest

from gpu_studio.contract.events import Finished, Log, Memory, Warned, decode
from gpu_studio.trainer.telemetry import EventWriter


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.jsonl"


@contextmanager
def room_for(size, refusal=errno.ENOSPC):
    """A disk with room for files of this many bytes, which then refuses so.

    The last write is cut where the room ends.
    """
    before, write = resource.getrlimit(resource.RLIMIT_FSIZE), os.write

    def refused(descriptor, data):
        try:
            return write(descriptor, data)
        except OSError:
            raise OSError(refusal, os.strerror(refusal)) from None

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with mock.patch("os.write", refused):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def read(path):
    events = [decode(line) for line in path.read_bytes().splitlines()]
    assert None not in events
    return events


def test_that_events_are_numbered_from_0_and_stamped(path):
    writer = EventWriter(path)
    returned = [writer.write(Log(message=str(number))) for number in range(3)]
    assert writer.close()
    assert read(path) == returned
    assert [event.seq for event in returned] == [0, 1, 2]
    assert all(event.time > 1.7e9 for event in returned)
    assert path.stat().st_mode & 0o777 == 0o600


def test_that_each_event_is_on_the_disk_when_write_returns(path):
    writer = EventWriter(path)
    writer.write(Log(message="here"))
    assert [event.message for event in read(path)] == ["here"]
    writer.close()


def test_that_many_threads_leave_whole_lines_without_a_gap(path):
    writer = EventWriter(path)

    def write() -> None:
        for number in range(200):
            writer.write(Log(message="x" * (number % 50)))

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert [event.seq for event in read(path)] == list(range(1600))


def test_that_a_directory_with_events_is_refused_and_left_as_it_is(path):
    path.write_text("something\n")
    with pytest.raises(FileExistsError, match="start a new run"):
        EventWriter(path)
    assert path.read_text() == "something\n"


def test_that_nothing_can_be_written_after_the_end(path):
    writer = EventWriter(path)
    writer.close()
    assert writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(Log(message="late"))


def test_that_a_full_disk_costs_no_event_and_no_exception(path):
    writer = EventWriter(path)
    with room_for(500):
        for number in range(20):
            assert writer.write(Log(message=str(number))).seq == number
        assert path.stat().st_size == 500  # cut in the middle of a line
        assert writer.pending
    writer.write(Log(message="room again"))
    assert not writer.pending
    assert writer.close()
    assert [event.seq for event in read(path)] == list(range(21))


def test_that_closing_on_a_full_disk_gives_up_in_time_and_says_so(path):
    writer = EventWriter(path)
    with room_for(10):
        writer.write(Log(message="no room"))
        assert not writer.close(timeout=0.1)
    assert not writer.close()


def test_that_closing_waits_for_room(path):
    writer = EventWriter(path)
    with room_for(10):
        writer.write(Log(message="soon"))
        closing = threading.Thread(target=writer.close, args=(20,))
        closing.start()
    closing.join()
    assert [event.message for event in read(path)] == ["soon"]


def test_that_closing_waits_no_longer_once_somebody_is_in_a_hurry(path):
    writer = EventWriter(path)
    with room_for(10):
        writer.write(Log(message="no room"))
        assert not writer.close(timeout=600, hurried=lambda: True)


@pytest.mark.parametrize("refusal", [errno.EFBIG, errno.EROFS, errno.EDQUOT])
def test_that_closing_does_not_wait_for_what_no_waiting_mends(path, refusal):
    writer = EventWriter(path)
    with room_for(10, refusal):
        writer.write(Log(message="no room"))
        assert not writer.close(timeout=600)
    assert writer.refusal == os.strerror(refusal)


def test_that_another_thread_can_write_and_close_while_one_waits_for_room(path):
    writer = EventWriter(path)
    with room_for(10):
        writer.write(Log(message="no room"))
        waiting = threading.Thread(target=writer.close, args=(600,))
        waiting.start()
        assert writer.write(Log(message="meanwhile")).seq == 1
        assert not writer.close(timeout=0)
        waiting.join()


def test_that_past_the_backlog_only_what_can_be_missed_is_given_up_without_a_gap(path):
    writer = EventWriter(path, backlog=1000)
    with room_for(0):
        kept = sum(writer.write(Memory(devices=[])).seq >= 0 for _ in range(100))
        assert writer.write(Finished(reason="stopped", seconds=1, epoch=1, step=1)).seq == kept
    writer.write(Log(message="after"))
    writer.close()
    events = read(path)
    assert [event.seq for event in events] == list(range(len(events)))
    assert len([event for event in events if isinstance(event, Memory)]) == kept < 100
    [warning] = [event for event in events if isinstance(event, Warned)]
    assert str(100 - kept) in warning.message


def test_that_how_long_a_run_lasts_is_told_by_a_clock_that_nobody_sets(path, monkeypatch):
    writer = EventWriter(path)
    writer.write(Log(message="begins"))
    monkeypatch.setattr("time.time", lambda: 1.0e9)
    end = writer.write(Finished(reason="completed", seconds=1, epoch=1, step=1))
    writer.close()
    assert end.time == 1.0e9
    assert 0 <= end.elapsed < 60
    assert read(path)[-1].elapsed == end.elapsed
