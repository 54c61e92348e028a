from __future__ import annotations

from dataclasses import replace

import made_recordings
import pytest
from made_runs import Script, make_run
from reported_runs import tell_communication

from gpu_studio.common.figures import metric_words
from gpu_studio.runs.results.prediction import Prediction, write
from gpu_studio.runs.results.run_figures import RunFigures, figures_of
from gpu_studio.ui.runs.summary_card import summary_groups

FACTS = made_recordings.cards("8xH100")
MIB = 1024 * 1024


@pytest.fixture
def figures(tmp_path) -> RunFigures:
    """A run on two recorded cards, whose memory was predicted for the first."""
    script = Script(
        ending="completed",
        epochs=8,
        trained=8,
        steps=20,
        devices=2,
        identities=made_recordings.identities(FACTS),
    )
    run = make_run(tmp_path, script)
    made_recordings.record(run, FACTS, run.events_file.stat().st_mtime - 20, 18)
    write(run, Prediction(bytes={"GPU:0": 500 * MIB}))
    return figures_of(run)


def told(figures: RunFigures) -> dict[str, dict[str, str]]:
    return {group.title: dict(group.rows) for group in summary_groups(figures)}


def test_that_peaks_stand_beside_what_was_predicted_where_something_was(figures) -> None:
    memory = told(figures)["Peak memory"]
    assert memory["GPU:0"].split(", ")[1].startswith("500 MiB predicted (+1")
    assert "predicted" not in memory["GPU:1"]
    assert memory["GPU:1"].endswith("limit 1 GiB")


def test_that_a_peak_with_workspaces_is_not_held_against_what_leaves_them_out(figures) -> None:
    incomplete = replace(
        figures,
        prediction=Prediction(bytes={"GPU:0": 50 * MIB, "GPU:1": 50 * MIB}, incomplete=("GPU:0",)),
    )
    memory = told(incomplete)["Peak memory"]
    assert memory["GPU:0"].split(", ")[1:3] == [
        "50 MiB predicted",
        "without cuDNN's workspaces or what XLA changes",
    ]
    assert "without" not in memory["GPU:1"]
    assert "%" in memory["GPU:1"].split(", ")[1]


def test_that_the_variables_of_a_logical_cpu_are_not_held_against_a_whole_step(figures) -> None:
    on_cpu = replace(
        figures,
        peaks={"CPU:0": 4 * MIB},
        limits={},
        counted={"CPU:0": "variables"},
        prediction=Prediction(bytes={"CPU:0": 8 * MIB}),
    )
    assert (
        told(on_cpu)["Peak memory"]["CPU:0"]
        == "4 MiB of variables, 8 MiB predicted for a whole step"
    )
    host = replace(on_cpu, peaks={"host": 16 * MIB}, counted={"host": "host"})
    assert told(host)["Peak memory"]["host"] == "16 MiB, with data that lie ready"
    bound = replace(on_cpu, prediction=Prediction(bytes={"CPU:0": 8 * MIB}, bounds=("CPU:0",)))
    assert ", at most 8 MiB predicted for a whole step" in told(bound)["Peak memory"]["CPU:0"]


def test_that_energy_is_that_of_the_cards_and_what_is_not_known_says_why(figures) -> None:
    cards = told(figures)["Energy and cards"]
    assert "Wh" in cards["energy"]
    assert cards["cards throttled"] == "not recorded"
    assert sum("H100" in name for name in cards) == 2
    assert told(replace(figures, machine=None, cards=()))["Energy and cards"] == {
        "energy": "the machine was not recorded"
    }


def test_that_the_time_is_shared_out_and_checkpoints_are_named_the_newest_first(figures) -> None:
    groups = told(figures)
    shares = [
        groups["Where the time went"][name]
        for name in ("waiting for data", "compute and transfers")
    ]
    assert sum(int(share.split("(")[1].split(" ")[0]) for share in shares) in (99, 100, 101)
    assert next(iter(groups["Checkpoints"])) == "step-00000160"
    assert "finished" not in groups["Where the time went"]


def percent(text: str) -> int:
    return int(text.split("(")[1].split(" ")[0])


def test_that_communication_is_told_as_extrapolated_from_the_profiled_steps(figures) -> None:
    tell_communication(figures.summary.directory)
    times = told(figures_of(figures.summary.directory))["Where the time went"]
    names = ("waiting for data", "compute", "communication", "idle")
    assert [times[name].startswith("≈ ") for name in names] == [False, True, True, True]
    assert sum(percent(times[name]) for name in names) in (99, 100, 101)
    assert percent(times["compute"]) == pytest.approx(3 * percent(times["communication"]), abs=2)
    assert times["profiled"] == "steps 21 to 24; the others are taken to be like them (≈)"
    assert "compute and transfers" not in times


@pytest.mark.parametrize(("devices", "words"), [(4, "not measured"), (1, "none: one device")])
def test_that_communication_that_was_not_measured_says_so(tmp_path, devices, words) -> None:
    times = told(figures_of(make_run(tmp_path, Script(trained=1, devices=devices))))[
        "Where the time went"
    ]
    assert times["communication"] == words
    assert ("compute and transfers" in times, "compute" in times) == (devices > 1, devices == 1)


def test_that_a_run_that_told_nothing_has_a_summary_all_the_same(tmp_path) -> None:
    run = make_run(tmp_path, Script(epochs=1, trained=0, steps=10))
    run.events_file.write_bytes(b"")
    run.plan_file.write_text("nonsense")
    groups = told(figures_of(run))
    assert groups["Result"]["throughput"] == "–"
    assert "Checkpoints" not in groups


def test_that_metrics_are_called_as_elsewhere_in_the_window() -> None:
    names = [
        "loss",
        "sparse_categorical_accuracy",
        "val_loss",
        "val_sparse_categorical_accuracy",
        "test_loss",
    ]
    words = [metric_words(name, names) for name in names]
    assert words == ["loss", "accuracy", "validation loss", "validation accuracy", "test loss"]
    alike = ["binary_accuracy", "top_k_accuracy"]
    assert metric_words("binary_accuracy", alike) == "binary accuracy"
