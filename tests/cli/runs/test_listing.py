"""`runs list`."""

from __future__ import annotations

import pytest
from reported_runs import reported_run

from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.runs.results.run_figures import figures_of


@pytest.fixture
def two(runs_dir):
    """A slow and a fast run."""
    return [
        reported_run(runs_dir, "training.batch_size=64", name="slow", call_seconds=0.5),
        reported_run(runs_dir, "training.batch_size=128", name="fast"),
    ]


def test_that_no_runs_are_no_error(gpu_studio, runs_dir):
    answer = gpu_studio("runs", "list")
    assert (answer.code, answer.out) == (0, "")
    assert str(runs_dir) in answer.err
    assert gpu_studio("runs", "list", "--json").document == []


def test_that_runs_are_listed_in_a_table_newest_first(gpu_studio, ended, training):
    first, second = ended().directory, training().directory
    heading, *rows = gpu_studio("runs", "list").out.splitlines()
    assert heading.split() == ["#", "RUN", "STATE", "EPOCH", "BEST", "TIME", "NAME"]
    assert [row.split()[:3] for row in rows] == [
        ["2", second.id, "running"],
        ["1", first.id, "finished"],
    ]
    assert "val_accuracy 0.9000" in rows[1]


def test_that_the_list_for_programs_has_figures(gpu_studio, ended):
    run = ended().directory
    [row] = gpu_studio("runs", "list", "--json").document
    assert (row["run"], row["state"], row["epoch"], row["step"]) == (run.id, "finished", 2, 10)
    assert row["best"] == {"metric": "val_accuracy", "value": 0.9, "epoch": 2}
    assert row["peak_bytes"] == {"CPU:0": 2 << 20}


def test_that_another_runs_directory_is_another_world(gpu_studio, ended, tmp_path):
    ended()
    assert gpu_studio("--runs-dir", tmp_path, "runs", "list", "--json").document == []
    assert gpu_studio("runs", "list", "--json", "--runs-dir", tmp_path).document == []


def test_that_commands_that_are_told_look_into_the_folder_that_was_named(gpu_studio, tmp_path):
    folder = tmp_path / "other runs"
    commands = {
        "runs list": "train",
        "runs show latest": "train",
        "runs compare latest": "runs list",
        "queue list": "queue add PLAN",
        "queue hold 1": "queue add PLAN",
        "study list": "study new scaling-strong my.plan.toml",
    }
    for command, told in commands.items():
        answer = gpu_studio(*command.split(), "--runs-dir", folder)
        assert f"gpu-studio {told} --runs-dir '{folder}'" in answer.err, command


def test_that_a_list_has_tags_where_there_are_some_and_energy_where_asked_for(gpu_studio, two):
    plain = gpu_studio("runs", "list").out
    assert "TAGS" not in plain
    assert "ENERGY" not in plain
    write_labels(two[0], Labels(tags=("keep", "paper")))
    lines = gpu_studio("runs", "list", "--energy").out.splitlines()
    assert lines[0].split()[-2:] == ["TAGS", "ENERGY"]
    [slow] = [line for line in lines if two[0].id in line]
    assert "keep, paper" in slow
    assert slow.endswith("Wh)")
    [document] = [
        each
        for each in gpu_studio("runs", "list", "--json", "--energy").document
        if each["run"] == two[0].id
    ]
    assert document["tags"] == ["keep", "paper"]
    assert document["joules"] == pytest.approx(figures_of(two[0]).joules)
    assert "joules" not in gpu_studio("runs", "list", "--json").document[0]
