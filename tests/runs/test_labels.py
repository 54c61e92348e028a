from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.labels import (
    LONGEST_NOTE,
    LONGEST_TAG,
    NOTHING,
    Labels,
    labels_file,
    parent_title,
    read_labels,
    split_tags,
    tidy_tags,
    write_labels,
)

BROKEN = [
    b"",
    b"{",
    b"[]",
    b'{"tags": 3}',
    b'{"tags": ["a", 7]}',
    b'{"note": null}',
    b"\xff\xfe",
    b"[" * 5000,
]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "20261120T140200Z-digits-ab12")
    made.path.mkdir(mode=0o700)
    return made


def test_that_a_run_on_which_nothing_was_written_has_no_labels(run: RunDirectory) -> None:
    assert read_labels(run) == NOTHING
    assert not read_labels(run)


@settings(max_examples=30)
@given(st.lists(st.text(max_size=60), max_size=6), st.text(max_size=200))
def test_that_what_was_written_is_read_again(tmp_path_factory, tags: list[str], note: str) -> None:
    run = RunDirectory(tmp_path_factory.mktemp("run"))
    write_labels(run, Labels(tuple(tags), note))
    found = read_labels(run)
    assert found.problem == ""
    assert found.note == note.encode("utf-8", "replace").decode()
    assert len(found.tags) == len(tidy_tags(tags))
    assert all(0 < len(tag) <= LONGEST_TAG and not set(" \t\n") & set(tag) for tag in found.tags)


def test_that_only_the_owner_can_read_what_was_written_and_no_other_file_is_left(
    run: RunDirectory,
) -> None:
    write_labels(run, Labels(("best",), "the one to keep"))
    assert labels_file(run).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in run.path.iterdir()] == ["labels.json"]


def test_that_the_file_goes_with_the_last_word(run: RunDirectory) -> None:
    write_labels(run, Labels(("best",)))
    write_labels(run, NOTHING)
    assert not labels_file(run).exists()
    write_labels(run, NOTHING)


@pytest.mark.parametrize("data", BROKEN)
def test_that_a_broken_file_is_no_labels_and_a_word_about_it(
    run: RunDirectory, data: bytes
) -> None:
    labels_file(run).write_bytes(data)
    found = read_labels(run)
    assert not found
    assert str(labels_file(run)) in found.problem
    write_labels(run, Labels(("again",)))
    assert read_labels(run) == Labels(("again",))


def test_that_a_file_from_a_later_version_is_read_as_far_as_it_is_known(run: RunDirectory) -> None:
    labels_file(run).write_text('{"tags": ["a"], "note": "n", "stars": 5}')
    assert read_labels(run) == Labels(("a",), "n")


def test_that_what_is_no_file_is_not_waited_for(run: RunDirectory) -> None:
    os.mkfifo(labels_file(run))
    read = read_labels(run)
    assert not read
    assert "this is no file, but a pipe" in read.problem


def test_that_a_note_beyond_measure_is_refused_in_words(run: RunDirectory) -> None:
    with pytest.raises(ValueError, match="20000"):
        write_labels(run, Labels(note="x" * (LONGEST_NOTE + 1)))
    assert not labels_file(run).exists()


def test_that_a_run_that_is_gone_is_told_and_not_made_again(run: RunDirectory) -> None:
    run.path.rmdir()
    with pytest.raises(OSError, match="No such file"):
        write_labels(run, Labels(("a",)))
    assert not run.exists()


def test_that_tags_are_single_words_each_once() -> None:
    assert split_tags(" two words, Best,, best ,x") == ("two-words", "Best", "x")
    assert split_tags("") == ()


@pytest.mark.parametrize("parent", ["a/b", "../../etc", ".", "", "\0x", "/etc", "x" * 5000])
def test_that_an_id_that_a_stranger_wrote_is_only_a_text(run: RunDirectory, parent: str) -> None:
    assert parent_title(run, parent) == parent
