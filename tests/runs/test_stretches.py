"""A part of a long run, read again, has every point that was written about it."""

from __future__ import annotations

import numpy as np
import pytest
from made_runs import Script, make_run
from msgspec.structs import replace

from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import events
from gpu_studio.contract.events import decode, encode
from gpu_studio.contract.files import Tail
from gpu_studio.runs.reading import event_file
from gpu_studio.runs.reading.event_file import Bookmarks, RunPreview, StretchReader
from gpu_studio.runs.reading.history import History

UNKNOWN = b'{"event":"dreamt","seq":7,"time":1.5,"of":"sheep"}\n'


@pytest.fixture(autouse=True)
def near_bookmarks(monkeypatch):
    monkeypatch.setattr(event_file, "APART", 4 * 1024)


@pytest.fixture
def path(runs_dir):
    """The events of a run of 4,000 steps."""
    return make_run(runs_dir, Script(trained=20, epochs=20, steps=200, per_call=10)).events_file


def read(path, limit=8 * 1024):
    """All of a file, and its bookmarks."""
    history, found, tail = History(), Bookmarks(), Tail(path, decode)
    while True:
        history.apply_all(tail.read(limit))
        found.note(history.clock, tail.position)
        if not tail.waiting:
            return history, found


def read_again(path, found, start, end):
    stretch = StretchReader(path, found.around(start, end), start, end)
    while stretch.read(2000):
        pass
    return stretch


def inside(series, start, end):
    """The points of a series in this while."""
    times = series.column("time")
    kept = (times >= start) & (times <= end)
    return np.stack([times[kept], series.y[kept]])


def compare(
    path, shares=((0.0, 0.1), (0.3, 0.31), (0.5, 0.5), (0.62, 0.9), (0.95, 1.0), (0.99, 2.0))
):
    """Every point of the losses and of the memory is found again."""
    whole, found = read(path)
    begin, length = whole.started.time, whole.seconds
    for first, last in shares:
        start, end = begin + first * length, begin + last * length
        stretch = read_again(path, found, start, end)
        assert stretch.complete
        assert stretch.history.losses.total < whole.losses.total or last - first > 0.5
        np.testing.assert_array_equal(
            inside(stretch.history.losses, start, end), inside(whole.losses, start, end)
        )
        expected = inside(whole.memory["GPU:1"].series, start, end)
        if expected.size:
            np.testing.assert_array_equal(
                inside(stretch.history.memory["GPU:1"].series, start, end), expected
            )


def rewritten(path, change):
    """The lines of a file, each changed, or more than one in its place."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(number, line) for number, line in enumerate(lines)))


def test_that_every_step_and_sample_of_a_stretch_is_found_again(path):
    compare(path)


def test_that_unknown_events_garbage_and_lines_of_a_megabyte_are_no_hindrance(path):
    huge = encode(events.Log(message="x" * 1_000_000))

    def between(number, line):
        told = huge if number in (30, 300) else UNKNOWN if number % 5 else b"\xff{garbage\n"
        return line + (replaced_time(told, line) if told is huge else told)

    rewritten(path, between)
    compare(path)


def replaced_time(told, line):
    """The same line at the time of another."""
    return encode(replace(decode(told), time=decode(line).time))


def test_that_a_clock_that_was_put_back_moves_no_point(path):
    def put_back(number, line):
        event = decode(line)
        return encode(
            replace(event, time=event.time - 3600 * (number > 200) - 0.3 * (number > 400))
        )

    rewritten(path, put_back)
    compare(path)


def test_that_a_last_line_cut_anywhere_ends_the_stretch_before_it(path):
    whole = path.read_bytes()
    for cut in (1, 7, 100):
        path.write_bytes(whole[:-cut])
        compare(path, ((0.9, 2.0),))


def test_that_a_file_cut_off_or_taken_away_meanwhile_is_no_whole_stretch(path):
    whole, found = read(path)
    start, end = (whole.started.time + share * whole.seconds for share in (0.4, 0.5))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size * 45 // 100)
    assert not read_again(path, found, start, end).complete
    path.unlink()
    gone = read_again(path, found, start, end)
    assert (gone.complete, len(gone.history.losses)) == (False, 0)


def test_that_what_a_glimpse_has_seen_finds_a_stretch_too(path, monkeypatch):
    monkeypatch.setattr(event_file, "_END_BYTES", 16 * 1024)
    monkeypatch.setattr(event_file, "PLACES", 32)
    whole, _ = read(path)
    seen, found = RunPreview(path), Bookmarks()
    while seen.look():
        pass
    found.foresee(seen.bookmarks)
    start, end = (whole.started.time + share * whole.seconds for share in (0.5, 0.6))
    stretch = read_again(path, found, start, end)
    assert 0 < stretch.history.losses.total < whole.losses.total / 2
    np.testing.assert_array_equal(
        inside(stretch.history.losses, start, end), inside(whole.losses, start, end)
    )


def test_that_bookmarks_stay_few_however_long_the_file(monkeypatch):
    monkeypatch.setattr(event_file, "MOST_BOOKMARKS", 64)
    found = Bookmarks()
    clock = SteadyClock()
    for second in range(5000):
        clock.at(float(second))
        found.note(clock, 5000 * second)
    place = found.around(2000.0, 2001.0)
    assert place.begin.time < 2000.0
    assert place.begin.offset <= 5000 * 2000
    assert 5000 * 2002 <= place.until < 5000 * 3000
    assert place.bytes(0) < 5000 * 5000 / 8
    assert found.around(-5.0, -1.0).begin.offset == 0
    assert found.around(4999.0, 9999.0).until is None
