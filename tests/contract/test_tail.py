from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_studio.contract import Tail, files
from gpu_studio.contract.events import Log, decode, encode


def messages(events):
    return [event.message for event in events]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.jsonl"


def test_that_a_file_which_is_not_there_yet_has_no_events(path):
    tail = Tail(path, decode)
    assert tail.read() == []
    path.write_bytes(encode(Log(message="now")))
    assert messages(tail.read()) == ["now"]
    assert tail.read() == []


def test_that_a_cut_last_line_is_read_once_it_is_complete(path):
    line = encode(Log(message="half"))
    path.write_bytes(line[:10])
    tail = Tail(path, decode)
    assert tail.read() == []
    with path.open("ab") as file:
        file.write(line[10:-1])
    assert tail.read() == []
    with path.open("ab") as file:
        file.write(line[-1:])
    assert messages(tail.read()) == ["half"]
    assert tail.skipped == 0


def test_that_garbage_and_unknown_events_are_passed_over_and_counted(path):
    garbage = [
        b"\x00\xff",
        b'{"event":"from the future","seq":7}',
        b'{"event":"log"}',
        b"[" * 5000,
        b'"',
    ]
    path.write_bytes(
        b"\n".join([encode(Log(message="a")).strip(), *garbage, b"", encode(Log(message="b"))])
    )
    tail = Tail(path, decode)
    assert messages(tail.read()) == ["a", "b"]
    assert tail.skipped == len(garbage)


def test_that_one_read_takes_no_more_than_its_limit_and_says_that_more_is_waiting(path):
    path.write_bytes(b"".join(encode(Log(message=str(number))) for number in range(100)))
    tail = Tail(path, decode)
    first = tail.read(limit=500)
    assert 0 < len(first) < 20
    assert tail.waiting
    assert messages(first + tail.read_all()) == [str(number) for number in range(100)]
    assert not tail.waiting


def test_that_a_line_without_an_end_does_not_fill_the_memory(path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path.write_bytes(b"x" * 5000 + b"\n" + encode(Log(message="after")))
    tail = Tail(path, decode)
    events = tail.read(limit=300)
    while tail.waiting:
        events += tail.read(limit=300)
    assert messages(events) == ["after"]
    assert tail.skipped == 1


def test_that_the_end_of_a_line_that_was_too_long_is_no_event_of_its_own(path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path.write_bytes(
        b"x" * 1200 + encode(Log(message="part of the line")) + encode(Log(message="after"))
    )
    tail = Tail(path, decode)
    events = tail.read(limit=1200)
    while tail.waiting:
        events += tail.read(limit=1200)
    assert messages(events) == ["after"]


def test_that_a_line_of_a_megabyte_is_read_however_small_the_pieces(path):
    long = "x" * 1_000_000
    path.write_bytes(encode(Log(message=long)) + encode(Log(message="after")))
    tail = Tail(path, decode)
    events = tail.read(limit=16 * 1024)
    assert tail.share < 0.1
    while tail.waiting:
        events += tail.read(limit=16 * 1024)
    assert messages(events) == [long, "after"]
    assert (tail.skipped, tail.share) == (0, 1.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.text(max_size=30), st.binary(max_size=30)), max_size=20), st.data())
def test_that_events_come_whole_and_in_order_however_they_are_written_and_read(
    tmp_path, written, data
):
    path = tmp_path / "events.jsonl"
    path.unlink(missing_ok=True)
    noise = [one.replace(b"\n", b"") for one in written if isinstance(one, bytes)]
    texts = [one for one in written if isinstance(one, str)]
    content = b"".join(
        encode(Log(message=one)) if isinstance(one, str) else one.replace(b"\n", b"") + b"\n"
        for one in written
    )
    tail, found, done = Tail(path, decode), [], 0
    while done < len(content):
        size = data.draw(st.integers(1, len(content)))
        with path.open("ab") as file:
            file.write(content[done : done + size])
        done += size
        found += tail.read(limit=data.draw(st.integers(1, 100)))
    found += tail.read_all()
    assert messages(found) == texts
    assert tail.skipped == sum(bool(one.strip()) for one in noise if decode(one) is None)


def test_that_a_terabyte_of_nothing_is_passed_over_at_once(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 40)
        file.write(b"\n" + encode(Log(message="after")))
    tail = Tail(path, decode)
    assert messages(tail.read_all()) == ["after"]
    assert tail.skipped == 1
