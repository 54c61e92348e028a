from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.labels import (
    Labels,
    change_labels,
    labels_file,
    number_all,
    read_labels,
    shared_note,
    shared_tags,
    with_name,
    with_note,
    with_tags,
    write_labels,
)


@pytest.fixture
def two(tmp_path: Path) -> list[RunDirectory]:
    made = [RunDirectory(tmp_path / name) for name in ("a", "b")]
    for run in made:
        run.path.mkdir()
    write_labels(made[0], Labels(("best", "mine"), "a note"))
    write_labels(made[1], Labels(("best",)))
    return made


def tags(runs: list[RunDirectory]) -> list[tuple[str, ...]]:
    return [read_labels(run).tags for run in runs]


def test_that_tags_given_to_several_leave_those_that_only_some_have(two) -> None:
    shared = shared_tags([read_labels(run) for run in two])
    assert shared == ("best",)
    changed = change_labels(two, with_tags(("good",), shared))
    assert tags(two) == [("mine", "good"), ("good",)]
    assert changed.why_not == ""
    changed.undo()
    assert tags(two) == [("best", "mine"), ("best",)]
    assert read_labels(two[0]).note == "a note"


def test_that_a_note_for_several_takes_the_place_of_each_and_comes_back(two) -> None:
    assert shared_note([read_labels(run) for run in two]) is None
    changed = change_labels(two, with_note("both"))
    assert [read_labels(run).note for run in two] == ["both", "both"]
    changed.undo()
    assert [read_labels(run).note for run in two] == ["a note", ""]
    assert not labels_file(two[1]).exists() or read_labels(two[1]).tags == ("best",)


def test_that_a_run_that_is_gone_is_told_and_the_others_are_written(two) -> None:
    labels_file(two[0]).unlink()
    two[0].path.rmdir()
    changed = change_labels(two, with_tags(("good",), ()))
    assert "a: No such file or directory" in changed.why_not
    assert list(changed.before) == [two[1]]
    assert read_labels(two[1]).tags == ("best", "good")


def test_that_what_two_programs_change_at_once_is_both_kept(two) -> None:
    number_all(two[0].path.parent, two)
    other = threading.Thread(target=change_labels, args=(two[:1], with_note("theirs")))

    def change(labels: Labels) -> Labels:
        other.start()
        other.join(0.1)  # as long as it takes by far, if it need not wait
        return with_tags(("mine",), labels.tags)(labels)

    change_labels(two[:1], change)
    other.join()
    assert read_labels(two[0]) == Labels(("mine",), "theirs")


def test_that_undo_takes_back_the_change_alone_and_leaves_what_was_written_since(two) -> None:
    run = two[0]
    tagged = change_labels([run], with_tags(("good",), ("best",)))
    noted = change_labels([run], with_note("mine"))
    change_labels([run], with_tags(("good", "later"), ("good",)))
    change_labels([run], with_name("theirs"))
    tagged.undo()
    assert read_labels(run) == Labels(("mine", "later", "best"), "mine", name="theirs")
    change_labels([run], with_note("theirs"))
    assert noted.undo().why_not == "It was changed anew since, and stays as it is."
    assert read_labels(run).note == "theirs"


def test_that_what_stays_the_same_is_not_written(two) -> None:
    before = labels_file(two[1]).stat().st_mtime_ns
    assert change_labels([two[1]], with_tags(("best",), ("best",))).before == {}
    assert labels_file(two[1]).stat().st_mtime_ns == before
