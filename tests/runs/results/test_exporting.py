"""The curves and figures of a run for other programs."""

from __future__ import annotations

import csv
import json

import pytest
from made_runs import Script, make_run, tell
from reported_runs import EIGHT, reported_run, tell_communication

from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.lineage import curve, read_history
from gpu_studio.runs.results.exporting import csv_lines, figures_document, write_lines
from gpu_studio.runs.results.run_figures import figures_of


def table(run, what):
    return list(csv.DictReader(csv_lines(run, what)))


def test_that_every_step_has_a_row_with_the_rate_it_was_trained_with(tmp_path):
    run = make_run(tmp_path, Script(trained=2, nan_at=5))
    rows, history, found = table(run, "steps"), read_history(run), curve(run, points=10_000)
    assert [int(row["step"]) for row in rows] == found.steps.tolist() == list(range(1, 401))
    assert [row["loss"] for row in rows][5] == ""
    assert [float(row["loss"] or "nan") for row in rows] == pytest.approx(
        found.values.tolist(), nan_ok=True
    )
    assert [int(row["epoch"]) for row in rows] == [1] * 200 + [2] * 200
    assert float(rows[0]["time"]) == pytest.approx(history.losses.column("time")[0], abs=1e-5)
    told = {event.step: event.value for event in rates(run)}
    assert [float(row["learning_rate"]) for row in rows] == [
        told[step - step % 10] for step in range(400)
    ]


def rates(run):
    lines = run.events_file.read_bytes().splitlines()
    return [
        event for line in lines if isinstance(event := events.decode(line), events.LearningRate)
    ]


def test_that_communication_is_in_the_document_or_why_it_is_not(tmp_path):
    run = make_run(tmp_path, Script(trained=2))
    assert figures_document(figures_of(run))["communication"] == {"why": "not measured"}
    tell_communication(run)
    document = figures_document(figures_of(run))
    found = document["communication"]
    parts = [found[f"{name}_seconds"] for name in ("compute", "communication", "idle")]
    assert sum(parts) == pytest.approx(document["compute_seconds"])
    assert found["profiled"]["steps"] == 4


def test_that_a_step_before_any_rate_was_told_has_none(tmp_path):
    run = RunDirectory.create(tmp_path, "r")
    call = events.Steps(epoch=1, first_step=0, losses=[1.0, 2.0], samples=2, seconds=1.0)
    tell(run_with_events(run), call, events.LearningRate(step=1, value=0.5))
    assert [row["learning_rate"] for row in table(run, "steps")] == ["", "0.5"]


def run_with_events(run):
    run.events_file.touch()
    return run


def test_that_epochs_have_all_metrics_whenever_they_came(tmp_path):
    run = run_with_events(RunDirectory.create(tmp_path, "r"))
    rows = [{"loss": 1.5}, {"loss": 1.0, "val_loss": None}, {"loss": 0.5, "val_loss": 0.7}]
    told = enumerate(rows, 1)
    tell(
        run,
        *(
            events.Epoch(epoch=n, step=n, metrics=row, seconds=1, samples_per_second=2)
            for n, row in told
        ),
    )
    found = table(run, "epochs")
    assert [(row["epoch"], row["loss"], row["val_loss"]) for row in found] == [
        ("1", "1.5", ""), ("2", "1.0", ""), ("3", "0.5", "0.7"),
    ]  # fmt: skip


def test_that_memory_has_a_row_for_each_device(tmp_path):
    run = make_run(tmp_path, Script(trained=1, devices=2))
    rows = table(run, "memory")
    series = read_history(run).memory["GPU:1"]
    assert [float(row["bytes"]) for row in rows if row["device"] == "GPU:1"] == series.used.tolist()
    assert {row["limit_bytes"] for row in rows} == {str(1024 * 1024 * 1024)}


def test_that_the_cards_have_what_changes_slowly_beside_what_changes_quickly(tmp_path):
    rows = table(reported_run(tmp_path), "hardware")
    mine = [row for row in rows if row["card"] == EIGHT[0].card]
    assert [row["power_w"] for row in mine] == ["300.0"] * len(mine)
    assert mine[0]["temperature_c"] == ""
    assert mine[2]["temperature_c"] == "60"
    assert [row["throttle"] for row in mine][-1] == "power cap"


def test_that_a_run_without_a_recording_has_only_the_headings(tmp_path):
    [headings] = csv_lines(make_run(tmp_path, Script(trained=1)), "hardware")
    assert headings.startswith("time,card,memory_used_mib")


def test_that_names_with_commas_and_quotes_stay_one_cell(tmp_path):
    run = run_with_events(RunDirectory.create(tmp_path, "r"))
    name = 'a, "b"\nc'
    tell(run, events.Epoch(epoch=1, step=1, metrics={name: 0.5}, seconds=1, samples_per_second=2))
    text = "\n".join(csv_lines(run, "epochs"))
    assert next(iter(csv.DictReader(text.splitlines(keepends=True))))[name] == "0.5"


def test_that_all_figures_are_plain_json(tmp_path):
    run = reported_run(tmp_path)
    tell(
        run,
        events.Epoch(
            epoch=9, step=400, metrics={"loss": None, "a": 0.5}, seconds=1, samples_per_second=1
        ),
    )
    document = json.loads(json.dumps(figures_document(figures_of(run)), allow_nan=False))
    found = figures_of(run)
    assert document["run"] == run.id
    assert document["joules"] == pytest.approx(found.joules)
    assert document["predicted_bytes"] == found.predicted
    assert [card["card"] for card in document["cards"]] == [facts.card for facts in EIGHT[:4]]
    assert document["cards"][0]["throttled"].keys() == {"power cap"}
    assert document["state_seconds"]["starting"] == pytest.approx(2.0, abs=1e-3)
    assert document["plan_fields"]["model.name"] == '"mlp"'


def test_that_a_file_is_written_whole_or_not_at_all(tmp_path):
    def lines():
        yield "one"
        raise OSError("the run is gone")

    path = tmp_path / "steps.csv"
    path.write_text("old")
    with pytest.raises(OSError, match="gone"):
        write_lines(path, lines())
    assert (path.read_text(), [each.name for each in tmp_path.iterdir()]) == ("old", ["steps.csv"])
    path.unlink()
    write_lines(path, iter(["one", "two"]))
    assert path.read_text() == "one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600
