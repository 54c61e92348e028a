"""Charts as a file of SVG that stands alone, for a paper or a presentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gpu_studio.runs.results.report.chart import CHARACTER, FONT, INK, WIDE, Chart, group, stroke
from gpu_studio.runs.results.report.markup import Markup, tag

_ROW: Final = 18
_BETWEEN: Final = 20
_EDGE: Final = 12
_SAMPLE: Final = 24


def stacked(charts: Sequence[Chart]) -> Markup:
    """Return charts below each other, on white, each under its title with its legend."""
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
    return tag("svg", ground, *parts, xmlns=space, viewBox=f"0 0 {width} {y}", width=width, height=y)


def _heading(chart: Chart, width: float) -> Iterator[Markup]:
    yield tag("text", chart.title, x=_EDGE, y=0, font_family=FONT, font_size=13, font_weight=600, fill=INK["text"])
    for (row, x, name), line in zip(_legend(chart, width), chart.lines, strict=True):
        down = row * _ROW
        yield tag("line", x1=x, y1=down - 4, x2=x + _SAMPLE, y2=down - 4, **stroke(line.place, 2.0))
        words = x + _SAMPLE + 6
        yield tag("text", name, x=words, y=down, font_family=FONT, font_size=11.5, fill=INK["muted"])


def _legend(chart: Chart, width: float) -> Iterator[tuple[int, float, str]]:
    """Row, left edge and name of each entry; one that would run over the edge begins a row."""
    row, x = 0, _EDGE + len(chart.title) * CHARACTER * 1.25 + 16
    for line in chart.lines:
        room = _SAMPLE + 6 + len(line.name) * CHARACTER + 16
        if x + room > width and x > _EDGE:
            row, x = row + 1, float(_EDGE)
        yield row, x, line.name
        x += room
