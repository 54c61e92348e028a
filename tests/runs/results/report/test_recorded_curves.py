"""Memory, utilisation and power of a run over its time."""

from __future__ import annotations

import made_recordings as made
import numpy as np
import pytest
from made_runs import Script, make_run
from reported_runs import EIGHT

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.samples import Fast, FastFigures
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.results.report.run_charts import card_curves, memory_curves

CARD = EIGHT[0].card
NOW = 1.7e9


def busy(second, percent=50, **figures):
    return Fast(
        time=NOW + second, cards=[FastFigures(card=CARD, utilisation_percent=percent, **figures)]
    )


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path, "r")


def test_that_memory_is_told_from_the_run_s_beginning(tmp_path):
    run = make_run(tmp_path, Script(trained=2, devices=2))
    history = read_history(run)
    found = memory_curves(run, history.started.time, 1000)
    assert list(found) == ["GPU:0", "GPU:1"]
    seconds, values = found["GPU:1"]
    assert values.tolist() == history.memory["GPU:1"].used.tolist()
    assert seconds[0] == pytest.approx(1.4, abs=1e-5)


def test_that_only_the_cards_asked_for_are_read(run):
    made.append(run, *(made.fast(EIGHT, NOW + second, second) for second in range(4)))
    found = card_curves(run, [EIGHT[2].card, EIGHT[5].card], NOW, 1000)
    assert {key for curves in found.values() for key in curves} == {EIGHT[2].card, EIGHT[5].card}
    assert found["power"][EIGHT[5].card][1].tolist() == [350.0] * 4
    assert found["power"][EIGHT[5].card][0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_that_a_curve_is_broken_where_nothing_was_recorded(run):
    made.append(run, *(busy(second) for second in (0, 1, 2, 60, 61)))
    seconds, values = card_curves(run, [CARD], NOW, 1000)["utilisation"][CARD]
    assert np.isnan(values).tolist() == [False, False, False, True, False, False]
    assert np.isnan(seconds).tolist() == np.isnan(values).tolist()


def test_that_a_thinned_curve_is_broken_at_gaps_alone(run):
    made.append(run, *(busy(second, second % 90) for second in (*range(500), *range(5000, 5500))))
    _, values = card_curves(run, [CARD], NOW, 200)["utilisation"][CARD]
    assert np.isnan(values).sum() == 1
    assert len(values) <= 201
    assert np.nanmax(values) == 89


def test_that_what_was_not_recorded_has_no_curve(run):
    assert card_curves(run, [CARD], NOW, 1000) == {"utilisation": {}, "power": {}}
    made.append(run, busy(0), busy(1))
    with run.hardware_file.open("ab") as file:
        file.write(b'{"sample":"fast","time":"soon"}\n{"sample":"fast"')
    found = card_curves(run, [CARD], NOW, 1000)
    assert (list(found["utilisation"]), found["power"]) == ([CARD], {})
