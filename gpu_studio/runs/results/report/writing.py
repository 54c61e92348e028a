"""Create a report on one run or on several, and write it to a file.

The report on several has overlaid curves, the differences between the plans, and figures side
by side; the report on one stands in `single`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from gpu_studio import __version__
from gpu_studio.common.safe_files import write_output
from gpu_studio.contract import RunDirectory
from gpu_studio.runs.results.comparison import Comparison, ComparisonRow, compare
from gpu_studio.runs.results.report import run_charts, single
from gpu_studio.runs.results.report.chart import (
    CHARACTER,
    FONT,
    HALF,
    INK,
    WIDE,
    Chart,
    Child,
    Markup,
    group,
    join,
    sample,
    stroke,
    tag,
)
from gpu_studio.runs.results.report.elements import (
    STATES,
    BestText,
    figure,
    moment,
    outcome,
    page,
    pair,
    section,
    table,
)
from gpu_studio.runs.results.report.run_charts import loss_chart, memory_chart
from gpu_studio.runs.results.run_figures import RunFigures, figures_of

_ROW: Final = 18
_BETWEEN: Final = 20
_EDGE: Final = 12
_SAMPLE: Final = 24


def stacked(charts: Sequence[Chart]) -> Markup:
    """Return charts below each other, on white, each with its title and legend."""
    width, parts, y = max((chart.width for chart in charts), default=WIDE), [], 0
    for chart in charts:
        heading = list(_heading(chart, width))
        rows = 1 + max((row for row, _, _ in _legend(chart, width)), default=0)
        parts.append(tag("g", *heading, transform=f"translate(0 {y + _ROW})"))
        y += _ROW * rows + 4
        parts.append(group(chart, transform=f"translate(0 {y})"))
        y += chart.height + _BETWEEN
    ground = tag("rect", width=width, height=y, fill="#ffffff")
    space = "http://www.w3.org/2000/svg"
    return tag(
        "svg", ground, *parts, xmlns=space, viewBox=f"0 0 {width} {y}", width=width, height=y
    )


def _heading(chart: Chart, width: float) -> Iterator[Markup]:
    yield tag(
        "text",
        chart.title,
        x=_EDGE,
        y=0,
        font_family=FONT,
        font_size=13,
        font_weight=600,
        fill=INK["text"],
    )
    for (row, x, name), line in zip(_legend(chart, width), chart.lines, strict=True):
        down = row * _ROW
        yield tag("line", x1=x, y1=down - 4, x2=x + _SAMPLE, y2=down - 4, **stroke(line.place, 2.0))
        words = x + _SAMPLE + 6
        yield tag(
            "text", name, x=words, y=down, font_family=FONT, font_size=11.5, fill=INK["muted"]
        )


def _legend(chart: Chart, width: float) -> Iterator[tuple[int, float, str]]:
    """Row, left edge and name of each entry; one that does not fit begins a new row."""
    row, x = 0, _EDGE + len(chart.title) * CHARACTER * 1.25 + 16
    for line in chart.lines:
        needed = _SAMPLE + 6 + len(line.name) * CHARACTER + 16
        if x + needed > width and x > _EDGE:
            row, x = row + 1, float(_EDGE)
        yield row, x, line.name
        x += needed


def report(runs: Sequence[RunFigures]) -> str:
    """Return the report of one run, or of several compared, as one document of HTML.

    Raises OSError.
    """
    made = f"Written {moment(time.time())} by GPU Studio {__version__}."
    if len(runs) == 1:
        return page(
            f"{runs[0].title} – {runs[0].id}",
            single.header(runs[0]),
            *single.content(runs[0]),
            made=made,
        )
    return page(
        f"{len(runs)} runs compared", _several_header(runs), *_several_content(runs), made=made
    )


def curves_svg(run: RunFigures) -> str:
    """Return the run's curves of loss and memory as a standalone SVG. Raises OSError.

    It is empty if the run has neither.
    """
    charts = [chart for chart in (loss_chart(run), memory_chart(run)) if chart is not None]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{stacked(charts)}\n' if charts else ""


def write_report(runs: Sequence[RunDirectory], path: Path) -> None:
    """Write the report of runs to `path`, whole or not at all. Raises OSError."""
    write_output(path, [report([figures_of(run) for run in runs]).encode("utf-8")])


_LONGEST: Final = 300
"""Characters of a plan's field: placements of hundreds of layers are named by their file."""


def _several_header(runs: Sequence[RunFigures]) -> Markup:
    """The title part of the report."""
    names = ", ".join(run.title for run in runs)
    return tag(
        "header", tag("h1", f"{len(runs)} runs compared"), tag("div", names, class_="origin")
    )


def _several_content(runs: Sequence[RunFigures]) -> Iterator[Markup | None]:
    """The sections of the report."""
    comparison = compare(runs)
    names = run_charts.compared_names(runs)
    points = run_charts.points_each(len(names) * len(runs))
    yield section("Runs", table("", ("", "run", "how it stands", "started"), _runs_rows(runs)))
    losses = [name for name in names if name.removeprefix("val_") == "loss"]
    wide = (figure(run_charts.compared_chart(runs, name, WIDE, points)) for name in losses)
    others = (
        run_charts.compared_chart(runs, name, HALF, points) for name in names if name not in losses
    )
    yield section("Curves", *wide, pair([chart for chart in others if chart is not None]))
    yield section("What differs", _differences(comparison))
    yield section("What came of it", _figures_table(comparison))
    yield section("Environment", _environments(runs))


def _runs_rows(runs: Sequence[RunFigures]) -> Iterator[list[Child]]:
    for place, run in enumerate(runs):
        state = tag("span", run.summary.state, class_=STATES[run.summary.state])
        reported = f"{outcome(run)} {run.why.message if run.why else ''}".rstrip()
        name = join(sample(place), " ", run.title)
        yield [name, run.id, join(state, " · ", reported), moment(run.summary.started)]


def _differences(comparison: Comparison) -> Markup:
    headings = ("field", *(run.title for run in comparison.runs))
    rows = (_cells(row, row.label) for row in comparison.plans)
    found = table("The fields in which the plans differ", headings, rows, field=True)
    return found or tag("p", "The plans are the same in every field.")


def _figures_table(comparison: Comparison) -> Markup | None:
    headings = ("", *(run.title for run in comparison.runs))
    numbers = range(1, len(headings))
    rows = (_cells(row, comparison.name_of(row)) for row in comparison.figures)
    return table("Figures of each run", headings, rows, numbers)


def _cells(row: ComparisonRow, name: str) -> list[Child]:
    texts = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in row.texts)
    return [
        name,
        *(BestText(text) if place == row.best else text for place, text in enumerate(texts)),
    ]


def _environments(runs: Sequence[RunFigures]) -> Markup | None:
    """The software and hardware of the runs; what they all share is given once."""
    names = dict.fromkeys(name for run in runs for name in run.environment)
    rows = [[name, *(run.environment.get(name, "–") for run in runs)] for name in names]
    return table("What each trained with", ("", *(run.title for run in runs)), rows)
