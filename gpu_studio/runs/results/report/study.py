"""The report on a study: the verdict, the picture, the points, where a step's time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gpu_studio import __version__
from gpu_studio.common.figures import UNKNOWN, duration, metric, rounded, share, size, span
from gpu_studio.common.safe_files import write_output
from gpu_studio.lab.verdict import PointGroup, StudyVerdict
from gpu_studio.runs.labels import number_of
from gpu_studio.runs.results.report.chart import (
    Axis,
    Chart,
    ChartLine,
    Child,
    Markup,
    number_axis,
    tag,
)
from gpu_studio.runs.results.report.elements import figure, listed, moment, page, section, table
from gpu_studio.runs.studies import StudyRuns

_CURVE_POINTS = 80


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
    charts = (figure(chart) for chart in _charts(groups, verdict, study.template))
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


def _charts(groups: Sequence[PointGroup], verdict: StudyVerdict, template: str) -> Iterator[Chart]:
    measured = sorted(
        (each for each in groups if each.x and each.rates), key=lambda each: each.x or 0
    )
    if len(measured) < 2:
        return
    x = np.array([each.x for each in measured], dtype=float)
    losses = template == "sweep" and all(each.losses for each in measured)
    values = [each.losses if losses else each.rates for each in measured]
    words = "; ".join(
        f"{each.label}: {rounded(float(np.mean(some)))}"
        for each, some in zip(measured, values, strict=True)
    )
    if template.startswith("scaling"):
        yield _speed_up(x, values, verdict, words)
        return
    means = np.array([np.mean(each) for each in values])
    lines = [ChartLine("mean of the repeats", x, means), *_spread(x, values)]
    title = "Loss" if losses else "Samples a second"
    every = [value for some in values for value in some]
    low = min(every) if losses else 0.0
    yield Chart(title, lines, number_axis(x[0], x[-1]), number_axis(low, max(every)), words)


def _speed_up(
    x: np.ndarray, values: Sequence[Sequence[float]], verdict: StudyVerdict, words: str
) -> Chart:
    """Speed-up over the fewest devices, with the spread of the repeats, the law and its band."""
    base = float(np.mean(values[0]))
    scaled = [[value / base for value in each] for each in values]
    means = np.array([np.mean(each) for each in scaled])
    lines = [ChartLine("measured", x, means), *_spread(x, scaled)]
    if verdict.fits:
        law, steps = verdict.fits[0], np.linspace(x[0], x[-1], _CURVE_POINTS)
        scale = 1.0 / float(law.seconds_at(x[:1])[0])
        grows = steps / x[0] if "weak" in law.law or law.law == "gustafson" else 1.0
        low, high = law.band_at(steps)
        lines.append(ChartLine("fitted", steps, grows / law.seconds_at(steps) / scale, 1))
        if np.isfinite(low).all():
            lines += [
                ChartLine(name, steps, grows / edge / scale, 1, faint=True)
                for name, edge in (("95 %, most", low), ("95 %, least", high))
            ]
    lines.append(ChartLine("ideal", x, x / x[0], 2))
    top = max(float(np.max(line.y[np.isfinite(line.y)])) for line in lines)
    axis = number_axis(0.0, top, " ×")
    counts = Axis(x[0], x[-1], tuple((float(each), f"{each:.0f}") for each in x))
    return Chart("Speed-up by devices", lines, counts, axis, words)


def _spread(x: np.ndarray, values: Sequence[Sequence[float]]) -> list[ChartLine]:
    if max(map(len, values)) < 2:
        return []
    return [
        ChartLine(name, x, np.array([end(each) for each in values]), 0, faint=True)
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
        loss = metric(each.loss) if each.losses else ""
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
