"""A fact of a run in the same words in the window, in the terminal and in a report."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_runs import Script, make_resumed, make_run
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication
from read_page import Page
from reported_runs import reported_run, tell_communication, tell_placement

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.labels import NUMBERS_FILE, Labels, read_labels, write_labels
from gpu_studio.runs.results.evaluations import Evaluation, keep
from gpu_studio.runs.results.report.writing import report
from gpu_studio.runs.results.run_facts import (
    CARDS,
    CHECKPOINTS,
    ENVIRONMENT,
    MEMORY,
    PROFILED,
    RESULT,
    TIMES,
    Fact,
    facts,
    run_lines,
)
from gpu_studio.runs.results.run_figures import figures_of
from gpu_studio.ui.kit.basic_widgets import Paragraph
from gpu_studio.ui.runs.run_rows import RunRow
from gpu_studio.ui.runs.runs_model import whole
from gpu_studio.ui.runs.summary_card import SummaryCard

SAMPLES = Path(__file__).parents[2] / "samples" / "5bbf41c" / "runs"


def finished(runs: Path) -> RunDirectory:
    """A run on recorded cards, with all that a run can tell."""
    run = reported_run(runs)
    tell_communication(run)
    tell_placement(run)
    write_labels(run, Labels(tags=("paper",), note="the first", name="mine"))
    metrics = {"loss": 0.25, "accuracy": None}
    told = {"samples": 180, "seconds": 1.0, "device": "CPU:0", "time": 1.0}
    keep(run, Evaluation(checkpoint="step-00000320", split="test", metrics=metrics, **told))
    return run


def failed(runs: Path) -> RunDirectory:
    """A run on the CPU that ran out of memory."""
    return make_run(runs, Script(kind="CPU", trained=1.4, ending="failed"))


def resumed(runs: Path) -> RunDirectory:
    """A run that went on from one that was stopped."""
    parent = make_run(runs, Script(trained=2, epochs=4, ending="stopped"))
    return make_resumed(parent, Script(trained=4, epochs=4, resumed_at=2, ending="completed"))


def trained(runs: Path) -> RunDirectory:
    """A run that a real trainer stopped in mid-epoch."""
    return _kept(runs, "20261122T231427Z-placed-with-dropout-5023")


def trained_on(runs: Path) -> RunDirectory:
    """The run that went on from it, to its end."""
    return _kept(runs, "20261122T231438Z-placed-with-dropout-bec1")


def _kept(runs: Path, name: str) -> RunDirectory:
    folder = Path(shutil.copytree(SAMPLES, runs / "runs"))
    return RunDirectory(folder / name)


@pytest.fixture(params=[finished, failed, resumed, trained, trained_on])
def run(request, tmp_path: Path) -> RunDirectory:
    make: Callable[[Path], RunDirectory] = request.param
    return make(tmp_path)


@pytest.fixture
def card(qapp: QApplication) -> Iterator[SummaryCard]:
    made = SummaryCard({name: QAction(name, qapp) for name in ("tag_runs", "note_runs")})
    yield made
    made.deleteLater()


def seen(card: SummaryCard) -> list[str]:
    """All texts of the card, with usual spaces."""
    texts = [each.text().replace("\u00a0", " ") for each in card.findChildren(Paragraph)]
    return [line for text in texts for line in text.splitlines()]


def test_that_the_run_it_was_resumed_from_is_called_by_its_number_and_name(
    tmp_path: Path, card
) -> None:
    run = resumed(tmp_path)
    parent = next(each for each in tmp_path.iterdir() if each.is_dir() and each != run.path)
    (tmp_path / NUMBERS_FILE).write_text(f"{parent.name}\n{run.id}\n")
    write_labels(RunDirectory(parent), Labels(name="the first half"))
    row = RunRow(figures_of(run).summary)
    card.show_run(row, None)
    told = (
        *seen(card),
        *whole(row).splitlines(),
        *(re.sub(r"\s+", " ", line).strip() for line in run_lines(run)),
    )
    assert parent.name not in " ".join(told)
    assert "resumed from: #1 the first half" in told
    assert told.count("resumed from #1 the first half") == 2
    shutil.rmtree(parent)
    card.show_run(row, None)
    assert f"resumed from: {parent.name}" in seen(card)


def test_that_the_window_and_the_terminal_say_the_same(run: RunDirectory, card) -> None:
    figures = figures_of(run)
    card.show_run(RunRow(figures.summary, read_labels(run)), figures)
    lines = [re.sub(r"\s+", " ", line).strip() for line in run_lines(run)]
    groups = card.figures.groups
    assert [group.title for group in groups] == [
        line for line in lines if line in (RESULT, MEMORY, CARDS, TIMES, CHECKPOINTS, ENVIRONMENT)
    ]
    shown = [(name, text) for group in groups for name, text in group.rows]
    begin, end = lines.index(RESULT), lines.index("Epochs")
    told = [f"{name} {text}" for name, text in shown]
    assert [line for line in lines[begin:end] if line not in {g.title for g in groups}] == told
    assert {text for _, text in shown} <= set(seen(card))
    for fact in facts(figures):
        if fact.name in ("run", "state"):
            assert f"{fact.name} {fact.words}" in lines
            assert fact.words in seen(card)
        elif fact.name in ("plan", "tags", "resumed from"):
            assert f"{fact.name} {fact.words}" in lines
            assert f"{fact.name}: {fact.words}" in seen(card)


def in_report(fact: Fact, page: Page) -> bool:
    """Whether the report shows this fact, in a tile, a sentence or a table."""
    heads, cells, tiles = page.texts["th"], page.texts.get("td", []), page.texts["dt"]
    if fact.of:
        return fact.of in heads and fact.name in heads and fact.words in cells
    if fact.group == ENVIRONMENT:
        return fact.name in heads and fact.words in cells
    if fact.group == TIMES:
        return fact.name in heads and fact.words.partition(" (")[0] in cells
    return fact.name in tiles and all(
        part in page.words for part in re.split("[ ,()]+", fact.words)
    )


def test_that_a_report_says_the_same(run: RunDirectory) -> None:
    figures = figures_of(run)
    page = Page(report([figures]))
    for fact in facts(figures):
        if (
            fact.group in (MEMORY, CHECKPOINTS, ENVIRONMENT)
            or (fact.group == CARDS and fact.of)
            or (fact.group == TIMES and fact.value and fact.name != PROFILED)
            or fact.name in ("best", "time", "throughput", "time of a step", "energy")
        ):
            assert in_report(fact, page), fact
        elif fact.name in ("plan", "resumed from"):
            assert f"{fact.name} {fact.words}" in page.words
        elif fact.name in ("run", "tags", "note", "placement"):
            assert fact.words in page.words
    if figures.finished is not None:
        ends = [f for f in facts(figures) if f.group == RESULT and f.name.startswith("test ")]
        assert ends or figures.finished.state == "stopped"
        assert all(f"{fact.name} {fact.words}" in page.words for fact in ends)


def test_that_every_figure_is_named_once(run: RunDirectory) -> None:
    found = [(fact.group, fact.of, fact.name) for fact in facts(figures_of(run))]
    assert len(found) == len(set(found))
