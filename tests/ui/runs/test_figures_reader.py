from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from made_runs import Script, make_run

from gpu_studio.runs.reading.summary import Summary, summarise
from gpu_studio.runs.results.run_figures import figures_of
from gpu_studio.ui.runs import readers
from gpu_studio.ui.runs.readers import FiguresReader


@pytest.fixture
def reader(qapp) -> Iterator[FiguresReader]:
    made = FiguresReader()
    yield made
    made.close()


@pytest.fixture
def summaries(tmp_path) -> list[Summary]:
    script = {"ending": "completed", "epochs": 2, "trained": 2, "steps": 20, "devices": 1}
    return [
        summarise(make_run(tmp_path / "runs", Script(name=name, **script))) for name in ("a", "b")
    ]


def test_that_figures_and_curves_of_all_come_and_are_read_once(reader, summaries, qtbot) -> None:
    reader.want(summaries, "val_loss")
    assert reader.waiting == 4
    assert reader.figures(summaries[0].id) is None
    qtbot.waitUntil(lambda: reader.waiting == 0)
    figures = reader.figures(summaries[1].id)
    assert figures is not None
    assert figures.summary.plan == "b"
    curve = reader.curve(summaries[0].id, "val_loss")
    assert curve is not None
    assert list(curve.steps) == [20, 40]
    reader.want(summaries, "val_loss")
    assert reader.waiting == 0
    assert reader.figures(summaries[1].id) is figures


def test_that_a_run_that_went_on_is_read_again_and_the_old_figures_stay_until_then(
    reader, summaries, qtbot
) -> None:
    run = summaries[0]
    reader.want([run])
    qtbot.waitUntil(lambda: reader.waiting == 0)
    before = reader.figures(run.id)
    later = replace(run, step=run.step + 1)
    qtbot.waitUntil(lambda: reader.want([later]) is None and reader.figures(run.id) is not before)
    assert reader.figures(run.id) is not None


def test_that_what_nobody_asks_for_any_more_is_forgotten(reader, summaries, qtbot) -> None:
    reader.want(summaries)
    qtbot.waitUntil(lambda: reader.waiting == 0)
    reader.want(summaries[:1])
    assert reader.figures(summaries[1].id) is None
    assert reader.figures(summaries[0].id) is not None


def test_that_a_run_that_is_gone_is_said_in_words_and_asked_for_once(
    reader, summaries, qtbot
) -> None:
    shutil.rmtree(summaries[0].directory.path)
    reader.want(summaries)
    qtbot.waitUntil(lambda: reader.waiting == 0)
    figures, why = reader.figures(summaries[0].id), reader.why_not(summaries[0].id)
    assert (figures is None) == bool(why)
    assert reader.figures(summaries[1].id) is not None


def test_that_a_run_at_which_reading_breaks_off_does_not_hold_up_the_others(
    reader, summaries, qtbot, monkeypatch
) -> None:
    def broken(run):
        if run == summaries[0].directory:
            raise ValueError("nobody foresaw this")
        return figures_of(run)

    monkeypatch.setattr(readers, "figures_of", broken)
    with qtbot.captureExceptions() as raised:
        reader.want(summaries)
        qtbot.waitUntil(lambda: reader.waiting == 0)
    assert [str(error) for _, error, _ in raised] == ["nobody foresaw this"]
    assert "could not be read" in reader.why_not(summaries[0].id)
    assert reader.figures(summaries[1].id) is not None


def test_that_nothing_is_told_after_it_was_closed(reader, summaries, qtbot) -> None:
    reader.want(summaries)
    reader.close()
    with qtbot.assertNotEmitted(reader.changed):
        reader.want(())
    assert reader.figures(summaries[0].id) is None
