"""The report on several runs: overlaid curves, differences between plans, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gpu_studio.runs.results.comparison import Comparison, ComparisonRow, compare
from gpu_studio.runs.results.report import run_charts
from gpu_studio.runs.results.report.chart import HALF, WIDE, sample
from gpu_studio.runs.results.report.elements import BestText, figure, pair, section, table
from gpu_studio.runs.results.report.markup import Child, Markup, join, tag
from gpu_studio.runs.results.report.words import STATES, moment, outcome
from gpu_studio.runs.results.run_figures import RunFigures

_LONGEST: Final = 300
"""Characters of a plan's field: placements of hundreds of layers are told by their file."""


def header(runs: Sequence[RunFigures]) -> Markup:
    """The title part of the report."""
    names = ", ".join(run.title for run in runs)
    return tag(
        "header", tag("h1", f"{len(runs)} runs compared"), tag("div", names, class_="origin")
    )


def content(runs: Sequence[RunFigures]) -> Iterator[Markup | None]:
    """The sections of the report."""
    comparison = compare(runs)
    names = run_charts.compared_names(runs)
    points = run_charts.points_each(len(names) * len(runs))
    yield section("Runs", table("", ("", "run", "how it stands", "started"), _runs(runs)))
    losses = [name for name in names if name.removeprefix("val_") == "loss"]
    wide = (figure(run_charts.compared_chart(runs, name, WIDE, points)) for name in losses)
    others = (
        run_charts.compared_chart(runs, name, HALF, points) for name in names if name not in losses
    )
    yield section("Curves", *wide, pair([chart for chart in others if chart is not None]))
    yield section("What differs", _differences(comparison))
    yield section("What came of it", _figures(comparison))
    yield section("Environment", _environment(runs))


def _runs(runs: Sequence[RunFigures]) -> Iterator[list[Child]]:
    for place, run in enumerate(runs):
        state = tag("span", run.summary.state, class_=STATES[run.summary.state])
        reported = f"{outcome(run)} {run.why.message if run.why else ''}".rstrip()
        name = join(sample(place), " ", run.title)
        yield [name, run.id, join(state, " · ", reported), moment(run.summary.created)]


def _differences(comparison: Comparison) -> Markup:
    headings = ("field", *(run.title for run in comparison.runs))
    rows = (_cells(row) for row in comparison.plans)
    found = table("The fields in which the plans differ", headings, rows, field=True)
    return found or tag("p", "The plans are the same in every field.")


def _figures(comparison: Comparison) -> Markup | None:
    headings = ("", *(run.title for run in comparison.runs))
    numbers = range(1, len(headings))
    return table(
        "Figures of each run", headings, (_cells(row) for row in comparison.figures), numbers
    )


def _cells(row: ComparisonRow) -> list[Child]:
    texts = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in row.texts)
    return [
        row.label,
        *(BestText(text) if place == row.best else text for place, text in enumerate(texts)),
    ]


def _environment(runs: Sequence[RunFigures]) -> Markup | None:
    """The software and hardware of the runs; what they all share is given once."""
    names = dict.fromkeys(name for run in runs for name in run.environment)
    rows = [[name, *(run.environment.get(name, "–") for run in runs)] for name in names]
    return table("What each trained with", ("", *(run.title for run in runs)), rows)
