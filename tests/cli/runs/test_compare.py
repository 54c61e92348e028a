"""`runs compare`, `runs report` and `runs export`."""

from __future__ import annotations

import csv
import json
import os
import stat
import webbrowser
import xml.etree.ElementTree as Tree

import pytest
from made_runs import Script, make_run
from read_page import Page
from reported_runs import reported_run

from gpu_studio.contract.directory import RunDirectory


@pytest.fixture
def two(runs_dir):
    """A slow and a fast run."""
    return [
        reported_run(runs_dir, "training.batch_size=64", name="slow", call_seconds=0.5),
        reported_run(runs_dir, "training.batch_size=128", name="fast"),
    ]


def test_that_runs_are_compared_in_a_table(gpu_studio, two):
    answer = gpu_studio("runs", "compare", two[0].id, two[1].id)
    assert answer.code == 0
    lines = {line.split("  ")[0]: line for line in answer.out.splitlines()}
    assert lines["run"].split()[1:] == [run.id for run in two]
    assert lines["training.batch_size"].split()[1:] == ["64", "128"]
    assert "training.epochs" not in lines
    assert lines["throughput"].endswith("*")
    assert lines["energy of 1,000 samples"].count("*") == 1


def test_that_a_comparison_is_json_for_programs(gpu_studio, two):
    document = gpu_studio("runs", "compare", "slow", "fast", "--json").document
    assert [run["run"] for run in document["runs"]] == [run.id for run in two]
    [size] = [row for row in document["plans"] if row["name"] == "training.batch_size"]
    assert size["values"] == ["64", "128"]
    [step] = [row for row in document["figures"] if row["name"] == "time of a step"]
    assert step["best"] == 1
    assert step["values"] == pytest.approx([0.049, 0.0245], abs=1e-4)


def test_that_one_metric_can_be_chosen(gpu_studio, two):
    out = gpu_studio("runs", "compare", "slow", "fast", "--metric", "val_loss").out
    assert "val_loss" in out
    assert "accuracy" not in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", "slow"], "One run cannot be compared"),
        (["compare", "slow", "slow"], "is named twice"),
        (["compare", "slow", "nothing"], "There is no run 'nothing'"),
        (["compare", "slow", "fast", "--metric", "val_los"], "the nearest is val_loss"),
        (["report", "slow", "slow"], "is named twice"),
        (
            ["export", "slow", "--format", "svg", "--what", "steps"],
            "--what chooses among the files of --format csv",
        ),
        (["export", "slow", "--format", "png"], "invalid choice: 'png'"),
    ],
)
def test_that_what_cannot_be_done_is_refused_in_words(gpu_studio, two, arguments, told):
    answer = gpu_studio("runs", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_that_runs_without_a_metric_say_so(gpu_studio, runs_dir):
    for name in ("one", "two"):
        RunDirectory.create(runs_dir, name).plan_file.touch()
    assert (
        "None of these runs has a metric yet"
        in gpu_studio("runs", "compare", "one", "two", "--metric", "a").err
    )


def test_that_a_report_is_written_and_not_over_another(gpu_studio, two, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = gpu_studio("runs", "report", "fast")
    path = tmp_path / f"report-{two[1].id}.html"
    assert (answer.code, answer.out) == (0, "")
    assert Page(path.read_text()).texts["h1"] == ["#2 fast"]
    path.write_text("mine")
    assert "is already there" in gpu_studio("runs", "report", "fast").err
    assert path.read_text() == "mine"
    assert gpu_studio("runs", "report", "fast", "--force").code == 0
    assert path.read_text() != "mine"


@pytest.mark.parametrize(
    "words",
    [("runs", "report", "fast"), ("runs", "export", "fast", "--format", "svg"), ("starter",)],
)
def test_that_a_file_is_named_after_the_same_option_everywhere(gpu_studio, two, tmp_path, words):
    """`export`, `place` and `study` took --to, and these only --output."""
    path = tmp_path / "written"
    assert gpu_studio(*words, "--to", path).code == 0
    assert path.is_file()


def test_that_a_report_of_several_can_be_opened_at_once(gpu_studio, two, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(
        webbrowser, "open", lambda address: opened.append(address) or len(opened) < 2
    )
    path = tmp_path / "compared.html"
    gpu_studio("runs", "report", "slow", "fast", "--output", path, "--open")
    assert Page(path.read_text()).texts["h1"] == ["2 runs compared"]
    assert opened == [path.as_uri()]
    assert (
        "There is no browser here"
        in gpu_studio("runs", "report", "slow", "-o", path, "--open", "--force").err
    )


def test_that_an_export_is_a_file_of_each_kind(gpu_studio, two, tmp_path):
    folder = tmp_path / "new" / "folder"
    assert gpu_studio("runs", "export", "fast", "--output", folder).code == 0
    names = {path.name.removeprefix(f"{two[1].id}-") for path in folder.iterdir()}
    assert names == {"steps.csv", "epochs.csv", "memory.csv", "hardware.csv"}
    with (folder / f"{two[1].id}-steps.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 320
    assert "is already there" in gpu_studio("runs", "export", "fast", "--output", folder).err
    assert gpu_studio("runs", "export", "fast", "--output", folder, "--force").code == 0


def test_that_one_kind_goes_to_stdout_or_a_file(gpu_studio, two, tmp_path):
    lines = gpu_studio("runs", "export", "fast", "--what", "epochs").out.splitlines()
    assert len(lines) == 9
    gpu_studio("runs", "export", "fast", "--what", "epochs", "--output", tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text().splitlines() == lines
    gpu_studio("runs", "export", "fast", "--what", "epochs", "--output", tmp_path)
    assert (tmp_path / f"{two[1].id}-epochs.csv").exists()


def test_that_an_export_is_json_or_a_drawing(gpu_studio, two, runs_dir):
    assert (
        json.loads(gpu_studio("runs", "export", "fast", "--format", "json").out)["run"] == two[1].id
    )
    root = Tree.fromstring(
        gpu_studio("runs", "export", "fast", "--format", "svg").out.partition("\n")[2]
    )
    assert root.tag.endswith("svg")
    RunDirectory.create(runs_dir, "empty").plan_file.touch()
    answer = gpu_studio("runs", "export", "empty", "--format", "svg")
    assert (answer.code, answer.out) == (2, "")
    assert "no curve to draw" in answer.err


def test_that_a_file_where_a_folder_shall_be_is_refused(gpu_studio, runs_dir, tmp_path):
    make_run(runs_dir, Script(trained=1))
    (tmp_path / "file").touch()
    assert (
        "is no directory"
        in gpu_studio("runs", "export", "latest", "--output", tmp_path / "file").err
    )


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_that_an_export_s_folder_is_its_owner_s(gpu_studio, runs_dir, tmp_path, umask):
    make_run(runs_dir, Script(trained=1))
    before = os.umask(umask)
    try:
        assert gpu_studio("runs", "export", "latest", "--output", tmp_path / "a" / "b").code == 0
    finally:
        os.umask(before)
    for path in (tmp_path / "a", tmp_path / "a" / "b", *(tmp_path / "a" / "b").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
