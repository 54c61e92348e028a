"""The report on a study: the verdict, the picture, the points, where a step's time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gpu_studio import __version__
from gpu_studio.common.figures import UNKNOWN, duration, metric, rounded, share, size, span
from gpu_studio.common.safe_files import write_output
from gpu_studio.lab.fits import Array
from gpu_studio.lab.study import Study, called
from gpu_studio.lab.study_picture import StudyPicture, in_figures, picture_of
from gpu_studio.lab.verdict import PointGroup, StudyVerdict
from gpu_studio.runs.labels import number_of
from gpu_studio.runs.results.report.chart import (
    Axis,
    Chart,
    ChartLine,
    Child,
    Markup,
    log_axis,
    number_axis,
    tag,
)
from gpu_studio.runs.results.report.elements import figure, listed, moment, page, section, table
from gpu_studio.runs.studies import StudyRuns


def write_study_report(state: StudyRuns, verdict: StudyVerdict, path: Path) -> None:
    """Write the report to `path`, whole or not at all. Raises OSError."""
    write_output(path, [study_report(state, verdict).encode("utf-8")])


def study_report(state: StudyRuns, verdict: StudyVerdict) -> str:
    """The report on a study as one document of HTML. Raises OSError."""
    groups, study = state.groups(), state.study
    done = f"{len(state.done)} of {len(state.order)} runs"
    header = tag(
        "header",
        tag("h1", study.name),
        tag("div", tag("span", verdict.headline), class_="outcome"),
        tag("div", f"{done} · plan {study.plan} · {study.template}", class_="origin"),
    )
    charts = (figure(chart) for chart in _charts(study, groups, verdict))
    return page(
        study.name,
        header,
        section("What follows", listed(verdict.more)),
        section("Picture", *charts),
        section("Points", _points(groups)),
        section("Where the time of a step goes", _parts(groups)),
        section("Memory", _memory(groups)),
        section("Study", table("What was run", ("", ""), _facts(state))),
        section("Runs", table("", ("run", "id", "point", "repeat", "took"), _runs(state))),
        made=f"Written {moment(time.time())} by GPU Studio {__version__}.",
    )


def _charts(study: Study, groups: Sequence[PointGroup], verdict: StudyVerdict) -> Iterator[Chart]:
    picture = picture_of(study, groups, verdict)
    if picture is None or picture.by_name or len(picture.points) < 2:
        return
    x = np.array([each.x for each in picture.points])
    means = np.array([each.mean for each in picture.points])
    lines = [ChartLine("mean of the repeats", x, means), *_spread(x, picture)]
    if (law := picture.fitted) is not None:
        lines.append(ChartLine(law.name, law.x, law.y, 1))
        if law.low is not None and law.high is not None:
            lines.append(ChartLine("95 %, least", law.x, law.low, 1, faint=True))
            lines.append(ChartLine("95 %, most", law.x, law.high, 1, faint=True))
    if picture.ideal is not None:
        lines.append(ChartLine(picture.ideal.name, picture.ideal.x, picture.ideal.y, 2))
    values = np.concatenate([line.y for line in lines])
    low = float(np.nanmin(values)) if picture.losses else 0.0
    across = (
        log_axis(x[0], x[-1])
        if picture.log
        else Axis(x[0], x[-1], tuple((float(each), in_figures(float(each))) for each in x))
    )
    axis = number_axis(low, float(np.nanmax(values)), picture.unit)
    title = f"{picture.title} by {called(picture.axis)}"
    yield Chart(title, lines, across, axis, picture.words)


def _spread(x: Array, picture: StudyPicture) -> list[ChartLine]:
    if max(len(each.values) for each in picture.points) < 2:
        return []
    return [
        ChartLine(name, x, np.array([end(each.values) for each in picture.points]), 0, faint=True)
        for name, end in (("least", min), ("most", max))
    ]


def _points(groups: Sequence[PointGroup]) -> Markup | None:
    heads = ("point", "samples/s", "from", "to", "a step", "last loss", "repeats")
    rows: list[list[Child]] = []
    for each in groups:
        rates, steps = each.rates, each.step_seconds
        figures = (
            [rounded(each.rate), rounded(min(rates)), rounded(max(rates))]
            if rates
            else [each.failed or "not measured yet", "", ""]
        )
        step = span(float(np.mean(steps))) if steps else ""
        loss = metric(each.loss) if each.is_sound else ""
        rows.append([each.label, *figures, step, loss, str(len(rates))])
    return table("Each point, without its warm-up", heads, rows, range(1, len(heads)))


def _parts(groups: Sequence[PointGroup]) -> Markup | None:
    names = list(dict.fromkeys(name for each in groups for name in each.shares))
    rows = [
        [each.label, *(share(each.shares.get(name)) for name in names)]
        for each in groups
        if each.shares
    ]
    caption = "Of a few profiled steps of each run"
    return table(caption, ("point", *names), rows, range(1, len(names) + 1))


def _memory(groups: Sequence[PointGroup]) -> Markup | None:
    names = list(dict.fromkeys(name for each in groups for name in each.memory))
    rows = [
        [each.label, *(size(each.memory.get(name)) for name in names)]
        for each in groups
        if each.memory
    ]
    caption = "The most that each device held"
    return table(caption, ("point", *names), rows, range(1, len(names) + 1))


def _facts(state: StudyRuns) -> list[list[Child]]:
    study = state.study
    axes = [
        (f"axis {axis.name}", ", ".join(each.label for each in axis.choices)) for axis in study.axes
    ]
    fixed = [(key, str(value)) for key, value in dict(study.fields).items()]
    each = state.seconds_each
    facts = [
        ("plan", study.plan),
        *axes,
        ("held fixed", study.held or UNKNOWN),
        *fixed,
        ("repeats", str(study.repeats)),
        ("order", f"drawn by the seed {study.seed}"),
        ("a run took", duration(each) if each else UNKNOWN),
    ]
    return [list(fact) for fact in facts]


def _runs(state: StudyRuns) -> Iterator[list[Child]]:
    for point, repeat in state.order:
        each = state.of(point, repeat)
        if each is not None and each.is_done:
            number = number_of(each.run)
            took = duration(getattr(each.ended, "seconds", None))
            called = f"#{number}" if number else ""
            yield [called, each.run.id, point.label, str(repeat + 1), took]
