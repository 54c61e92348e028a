"""`runs tag` and `runs note`: what the Runs page writes on runs, by the command line."""

from __future__ import annotations

import io

import pytest

from gpu_studio.runs.labels import LONGEST_NOTE, Labels, labels_file, read_labels, write_labels


@pytest.fixture
def two(ended):
    """Two runs that have ended, the newer one first."""
    older, newer = ended().directory, ended().directory
    return newer, older


def test_that_tags_are_given_and_taken_away_and_shown(gpu_studio, two):
    run, _ = two
    answer = gpu_studio("runs", "tag", "latest")
    assert (answer.code, answer.out, answer.err) == (0, "", f"{run.id} has no tags.\n")
    assert (
        gpu_studio("runs", "tag", "latest", "--add", "best,to show", "--add", "mine").out
        == "best\nto-show\nmine\n"
    )
    assert (
        gpu_studio("runs", "tag", "latest", "--remove", "BEST,never", "--add", "Mine").out
        == "to-show\nmine\n"
    )
    assert gpu_studio("runs", "tag", "latest").out == "to-show\nmine\n"
    assert gpu_studio("runs", "tag", "latest", "--clear", "--add", "new", "--json").document == [
        {"run": run.id, "tags": ["new"], "note": ""}
    ]


def test_that_several_runs_are_tagged_at_once_and_keep_what_else_they_have(gpu_studio, two):
    write_labels(two[1], Labels(("old",), "a note"))
    answer = gpu_studio("runs", "tag", two[0].id, two[1].id, two[0].id, "--add", "best")
    rows = [line.split(maxsplit=1) for line in answer.out.splitlines()]
    assert rows == [["RUN", "TAGS"], [two[0].id, "best"], [two[1].id, "old, best"]]
    assert read_labels(two[1]) == Labels(("old", "best"), "a note")


def test_that_a_note_is_written_shown_and_taken_away(gpu_studio, two, monkeypatch):
    run, other = two
    assert gpu_studio("runs", "note", "latest").err == f"{run.id} has no note.\n"
    assert (
        gpu_studio("runs", "note", "latest", "-m", " the one to keep ").out == "the one to keep\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("first\nsecond\n"))
    assert gpu_studio("runs", "note", "latest", "--message", "-").out == "first\nsecond\n"
    assert (
        gpu_studio("runs", "note", run.id, other.id).out
        == f"{run.id}:\n  first\n  second\n{other.id}: no note\n"
    )
    assert gpu_studio("runs", "note", "latest", "--json").document[0]["note"] == "first\nsecond"
    gpu_studio("runs", "note", "latest", "--clear")
    assert not labels_file(run).exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["tag", "latest", "--add", " , "], "is no tag"),
        (["tag", "latest", "--add", "x" * 41], "at most 40 letters"),
        (["tag", "latest", "--add", "a", "--remove", "A"], "cannot be both"),
        (["note", "latest", "-m", "x" * (LONGEST_NOTE + 1)], "at most 20000 characters"),
        (["note", "latest", "-m", "x", "--clear"], "not allowed with"),
        (["tag", "latest", "nowhere", "--add", "a"], "There is no run 'nowhere'"),
        (["list", "--tag", ","], "is no tag"),
    ],
)
def test_that_a_mistake_is_refused_with_nothing_written(gpu_studio, two, words, why):
    answer = gpu_studio("runs", *words)
    assert answer.code == 2
    assert why in answer.err
    assert not any(labels_file(run).exists() for run in two)


def test_that_what_cannot_be_written_or_read_is_told(gpu_studio, two):
    labels_file(two[0]).write_text("{")
    answer = gpu_studio("runs", "tag", "latest", "--add", "again")
    assert (answer.code, answer.out) == (0, "again\n")
    assert "cannot be read" in answer.err
    labels_file(two[0]).unlink()
    labels_file(two[0]).mkdir()
    answer = gpu_studio("runs", "tag", "latest", "--add", "again")
    assert (answer.code, answer.out) == (2, "")
    assert f"could not be written on {two[0].id}" in answer.err


def test_that_the_list_is_of_the_runs_that_have_all_the_tags(gpu_studio, two):
    write_labels(two[0], Labels(("best", "mine")))
    write_labels(two[1], Labels(("best",)))

    def listed(*options):
        return [row["run"] for row in gpu_studio("runs", "list", "--json", *options).document]

    assert listed("--tag", "Best") == [two[0].id, two[1].id]
    assert listed("--tag", "best,mine") == listed("--tag", "best", "--tag", "mine") == [two[0].id]
    assert listed("--tag", "worst") == []
    answer = gpu_studio("runs", "list", "--tag", "worst")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "No run has 'worst' among its tags. Tags in use: best, mine.\n"


def test_that_a_run_is_shown_with_what_was_written_on_it(gpu_studio, two):
    write_labels(two[0], Labels(("best", "mine"), "one\ntwo"))
    shown = gpu_studio("runs", "show", "latest").out
    assert "  tags         best, mine\n  note         one\n               two\n" in shown
    document = gpu_studio("runs", "show", "latest", "--json").document
    assert (document["tags"], document["note"]) == (["best", "mine"], "one\ntwo")


def test_that_a_run_is_renamed_found_by_its_number_and_named_so_everywhere(gpu_studio, ended):
    run = ended().directory
    answer = gpu_studio("runs", "rename", "1", "  smaller   steps ")
    assert (answer.code, answer.err) == (0, "It is called #1 smaller steps now.\n")
    assert gpu_studio("runs", "list").out.splitlines()[1].endswith("smaller steps")
    [row] = gpu_studio("runs", "list", "--json").document
    assert (row["number"], row["name"], row["plan"]) == (1, "smaller steps", "a plan")
    assert gpu_studio("runs", "show", "#1").out.startswith("#1 smaller steps: finished")
    shown = gpu_studio("runs", "show", f"{run.path}/", "--json").document
    assert (shown["number"], shown["name"]) == (1, "smaller steps")
    document = gpu_studio("runs", "rename", "1", "--clear", "--json").document
    assert document == {"run": run.id, "number": 1, "name": "A plan"}


@pytest.mark.parametrize("name", [[""], ["x" * 121], []])
def test_that_a_name_of_nothing_or_without_end_is_refused(gpu_studio, ended, name):
    ended()
    answer = gpu_studio("runs", "rename", "1", *name)
    assert (answer.code, answer.out) == (2, "")
    assert "name" in answer.err.lower()


def test_that_a_run_kept_elsewhere_is_shown_and_not_written_on(gpu_studio, ended, tmp_path):
    run = ended().directory
    (tmp_path / "mine").mkdir()
    moved = run.path.rename(tmp_path / "mine" / run.id)
    assert gpu_studio("runs", "show", f"{moved}/").code == 0
    assert gpu_studio("runs", "tag", moved).code == 0
    for refused in (
        ["delete", moved],
        ["rename", moved, "x"],
        ["tag", moved, "--add", "x"],
        ["stop", moved],
    ):
        answer = gpu_studio("runs", *refused)
        assert answer.code == 2
        assert f"--runs-dir {moved.parent}" in answer.err
    assert not (moved / "labels.json").exists()
