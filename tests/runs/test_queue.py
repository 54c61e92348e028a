from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_runs import PLAN, eventually
from small_disks import SmallDisk

from gpu_studio.contract import lock
from gpu_studio.plan import PlanError, with_absolute_files
from gpu_studio.runs import catalogue
from gpu_studio.runs.queue import Queue, QueueError, ensure_runner
from gpu_studio.runs.queue_entry import Wait


@pytest.fixture
def queue(runs_dir: Path) -> Queue:
    return Queue(runs_dir)


def add(queue: Queue, *names: str) -> list[str]:
    return [queue.add(replace(PLAN, name=name), queue.runs).id for name in names]


def names(queue: Queue) -> list[str]:
    return [entry.name for entry in queue.entries()]


def test_that_entries_come_in_the_order_in_which_they_were_added(queue: Queue) -> None:
    assert queue.entries() == ()
    add(queue, "a", "b", "c")
    assert names(queue) == ["a", "b", "c"]
    assert queue.plan_of(queue.entries()[0]).name == "a"
    assert names(Queue(queue.runs)) == ["a", "b", "c"]


def test_that_its_files_are_the_owners_alone_and_it_is_no_run(queue: Queue) -> None:
    add(queue, "a")
    files = list(queue.folder.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(queue.folder.stat().st_mode) == 0o700
    assert catalogue.directories(queue.runs) == []


@pytest.mark.parametrize("other", ["../victim", "b"])
def test_that_an_entry_stands_in_a_file_of_its_own_name_only(queue: Queue, other: str) -> None:
    """Anybody may write into a shared folder: files elsewhere were changed under such a name."""
    (name,) = add(queue, "a")
    path = queue.folder / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id": other}))
    victim = queue.folder / f"{other}.json"
    victim.write_text(json.dumps(json.loads(path.read_text()) | {"id": "../elsewhere"}))
    for asked in (name, other):
        with pytest.raises(QueueError):
            queue.hold(asked)
    assert queue.entries() == ()
    assert not (queue.runs / "elsewhere.json").exists()


def test_that_a_link_in_the_place_of_its_folder_is_refused(queue: Queue, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    queue.runs.mkdir(parents=True, exist_ok=True)
    queue.folder.symlink_to(elsewhere)
    for act in (lambda: add(queue, "a"), lambda: queue.tell({"a": "waits"})):
        with pytest.raises(OSError, match="this is a link, which is not followed"):
            act()
    assert list(elsewhere.iterdir()) == []


def test_that_an_entry_goes_on_with_no_run_outside_the_folder(queue: Queue) -> None:
    (name,) = add(queue, "a")
    path = queue.folder / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run": "../elsewhere/run"}))
    assert queue.entries() == ()


def test_that_a_full_disk_is_told_with_the_file_that_it_did_not_take(
    small_disk: SmallDisk,
) -> None:
    queue = Queue(small_disk.path / "runs")
    (name,) = add(queue, "a")
    small_disk.fill()
    with pytest.raises(OSError, match="No space left") as refused:
        queue.hold(name)
    assert refused.value.filename == str(queue.folder / f"{name}.json")
    assert [entry.held for entry in queue.entries()] == [""]


def test_that_a_folder_that_cannot_be_written_down_is_told(queue: Queue, tmp_path: Path) -> None:
    base = tmp_path / os.fsdecode(b"\xff")
    with pytest.raises(OSError, match="not UTF-8, and cannot be written down"):
        queue.add(PLAN, base)
    assert queue.entries() == ()


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-6, 6)), max_size=6))
def test_that_moving_up_and_down_keeps_every_entry(tmp_path_factory, moves) -> None:
    queue = Queue(tmp_path_factory.mktemp("moved"))
    ids = expected = add(queue, *"abcde")
    for which, by in moves:
        queue.shift(ids[which], by)
        before = expected.index(ids[which])
        expected = [each for each in expected if each != ids[which]]
        expected.insert(max(0, before + by), ids[which])
        assert [entry.id for entry in queue.entries()] == expected


def test_that_what_was_removed_comes_back_where_it_stood(queue: Queue) -> None:
    _, second, _ = add(queue, "a", "b", "c")
    queue.hold(second, "its file has moved")
    removed = queue.remove(second)
    assert names(queue) == ["a", "c"]
    queue.restore(removed)
    assert names(queue) == ["a", "b", "c"]
    assert queue.find(second).held == "its file has moved"
    with pytest.raises(QueueError, match="no longer in the queue"):
        queue.remove("gone-1234")


def test_that_a_held_entry_does_not_start_until_it_is_released(queue: Queue) -> None:
    first, second = add(queue, "a", "b")
    queue.hold(first)
    assert [entry.id for entry in queue.startable()] == [second]
    queue.start_now(first)
    assert [(entry.id, entry.now) for entry in queue.startable()] == [
        (first, True),
        (second, False),
    ]
    queue.hold(first)
    queue.release(first)
    assert not queue.find(first).now


def test_that_an_entry_is_found_by_a_part_of_its_id_that_no_other_has(queue: Queue) -> None:
    with pytest.raises(QueueError, match="is empty"):
        queue.find("digits")
    wide, _ = add(queue, "digits wide", "digits deep")
    assert queue.find("digits-w").id == wide
    assert queue.find(wide[-4:]).id == wide
    for text in ("digits", "", "xyz"):
        with pytest.raises(QueueError, match="digits-deep"):
            queue.find(text)


def test_that_relative_files_are_named_absolutely(queue: Queue, tmp_path: Path) -> None:
    plan = replace(PLAN, data=replace(PLAN.data, name=None, file="mine.npz"))
    assert queue.plan_of(queue.add(with_absolute_files(plan, tmp_path), tmp_path)).data.file == str(
        tmp_path / "mine.npz"
    )


@pytest.mark.parametrize("spoiled", ['{"id": ', "[]", "", "\x00"])
def test_that_files_which_cannot_be_made_out_are_passed_over(queue: Queue, spoiled: str) -> None:
    first, second = add(queue, "a", "b")
    (queue.folder / f"{first}.json").write_text(spoiled)
    (queue.folder / "order.json").write_text(spoiled)
    (queue.folder / "waits.json").write_text(spoiled)
    assert [entry.id for entry in queue.entries()] == [second]
    assert queue.waits() == {}
    add(queue, "c")
    assert names(queue) == ["b", "c"]
    (queue.folder / f"{second}.plan.toml").write_text(spoiled + "[")
    with pytest.raises(PlanError):
        queue.plan_of(queue.find(second))


def test_that_what_is_waited_for_is_written_only_where_it_is_new(queue: Queue) -> None:
    (first,) = add(queue, "a")
    queue.tell({first: "waits for x: 1 free"})
    told = queue.waits()[first]
    assert (told.text, told.what) == ("waits for x: 1 free", "waits for x")
    before = (queue.folder / "waits.json").stat().st_ino
    queue.tell({first: "waits for x: 1 free"})
    assert (queue.folder / "waits.json").stat().st_ino == before
    queue.tell({first: "waits for x: 2 free"})  # it goes on waiting for the same
    assert queue.waits() == {first: Wait("waits for x: 2 free", told.since)}
    queue.tell({first: "waits for y"})
    assert queue.waits()[first].since > told.since


def test_that_every_change_gives_another_version(queue: Queue) -> None:
    assert queue.version() == 0
    seen = {queue.version()}
    (first,) = add(queue, "a")
    for change in (queue.hold, queue.release, queue.start_now, queue.drop):
        seen.add(queue.version())
        eventually(lambda change=change: _changes(queue, change, first), "another version")
        seen.add(queue.version())
    assert len(seen) >= 5


def _changes(queue: Queue, change, name: str) -> bool:
    """Whether a change, one tick of the file system's clock later, gives another version."""
    before = queue.version()
    if (queue.folder / f"{name}.json").exists():
        change(name)
    else:
        queue.tell({"x": str(before)})
    return queue.version() != before


def test_that_somebody_who_never_lets_go_is_not_waited_for_for_ever(
    queue: Queue, monkeypatch
) -> None:
    monkeypatch.setattr("gpu_studio.runs.queue._EDIT_SECONDS", 0.05)
    add(queue, "a")
    held = lock.take(queue.folder / ".lock")
    with pytest.raises(QueueError, match="changing the queue"):
        add(queue, "b")
    held.release()
    assert names(queue) == ["a"]


def test_that_no_runner_is_started_for_nothing(queue: Queue) -> None:
    assert ensure_runner(queue.runs) is None
    (first,) = add(queue, "a")
    queue.hold(first)
    assert ensure_runner(queue.runs) is None
    queue.release(first)
    held = lock.take(queue.runner_lock)
    assert queue.has_runner
    assert ensure_runner(queue.runs) is None
    held.release()


def test_that_an_entry_keeps_what_was_predicted_of_it(queue: Queue) -> None:
    marked = ("GPU:0",)
    entry = queue.add(PLAN, queue.runs, predicted={"GPU:0": 12}, incomplete=marked, bounds=marked)
    assert json.loads((queue.folder / f"{entry.id}.json").read_text())["predicted"] == {"GPU:0": 12}
    assert queue.find(entry.id) == entry
    assert entry.incomplete == entry.bounds == marked


def test_that_no_link_in_the_queue_is_written_through(queue: Queue, tmp_path: Path) -> None:
    """The lock was once signed through it, in place of all that the other file held."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    queue.folder.mkdir(parents=True)
    (queue.folder / ".lock").symlink_to(victim)
    with pytest.raises(OSError, match="a link, which is not followed"):
        queue.add(PLAN, tmp_path)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["order.json", "waits.json"])
def test_that_what_is_no_file_in_the_queue_is_as_nothing(
    queue: Queue, tmp_path: Path, name: str
) -> None:
    entry = queue.add(PLAN, tmp_path)
    (queue.folder / name).unlink(missing_ok=True)
    os.mkfifo(queue.folder / name)
    assert [each.id for each in queue.entries()] == [entry.id]
    assert queue.waits() == {}
