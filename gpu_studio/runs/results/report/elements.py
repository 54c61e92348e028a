"""The building blocks of a report's page: sections, tables, tiles, charts with their legend.

The sentences that both kinds of report share stand here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from gpu_studio.common.figures import dated, duration, grouped
from gpu_studio.common.paths import resource
from gpu_studio.contract import Finished, State
from gpu_studio.runs.results.report.chart import Chart, Child, Markup, draw, join, sample, tag
from gpu_studio.runs.results.run_figures import RunFigures

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True, slots=True)
class FigureTile:
    """A prominent figure: its name, its value, and a note under it."""

    name: str
    value: str
    note: str = ""


def page(title: str, header: Markup, *content: Child, made: str) -> str:
    """Return a whole document; `made` says when and by what it was written.

    Nothing in it is loaded from elsewhere or executed, and the page itself forbids browsers to.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="generator", content="GPU Studio"),
        tag("title", title),
        tag("style", Markup(resource("style/report.css").read_text(encoding="utf-8"))),
    )
    body = tag("body", header, tag("main", *content), tag("footer", made))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def section(heading: str, *content: Child, class_: str | None = None) -> Markup | None:
    """Return a section under a heading; None if it is empty."""
    if not any(content):
        return None
    name = "".join(
        letter if letter.isascii() and letter.isalnum() else "-" for letter in heading.lower()
    )
    return tag(
        "section", tag("h2", heading, id=name), *content, aria_labelledby=name, class_=class_
    )


def tiles(found: Iterable[FigureTile]) -> Markup:
    """Return prominent figures, side by side."""
    return tag(
        "dl", *(tag("div", tag("dt", tile.name), _value(tile)) for tile in found), class_="tiles"
    )


def figure(chart: Chart | None, *, titled: bool = True) -> Markup | None:
    """Return a chart under its legend, and under its title unless a heading says the same."""
    if chart is None:
        return None
    legend = [tag("span", sample(line.place), line.name) for line in chart.lines]
    scale = tag("span", "logarithmic") if chart.y.log else None
    paused = tag("span", "shaded: paused") if chart.bands else None
    return tag(
        "figure",
        tag("figcaption", tag("strong", chart.title) if titled else None, *legend, scale, paused),
        draw(chart),
    )


def pair(charts: Sequence[Chart]) -> Markup | None:
    """Return charts side by side, two in a row where there is room."""
    if len(charts) < 2:
        return figure(next(iter(charts), None))
    return tag("div", *(figure(chart) for chart in charts), class_="pair")


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Child]],
    numbers: Iterable[int] = (),
    *,
    field: bool = False,
) -> Markup | None:
    """Return a table; None without rows. The columns `numbers` are figures.

    `field`: the first is a plan's.
    """
    kinds = dict.fromkeys(numbers, "number")
    body = [_row(row, kinds, "field" if field else None) for row in rows]
    if not body:
        return None
    cells = (
        tag("th", words, scope="col", class_=kinds.get(column))
        for column, words in enumerate(headings)
    )
    head = tag("thead", tag("tr", *cells)) if any(headings) else None
    whole = tag("table", tag("caption", caption) if caption else None, head, tag("tbody", *body))
    return tag("div", whole, class_="scroll")


def listed(items: Iterable[Child]) -> Markup | None:
    """Return a list; None if it has no items."""
    found = [tag("li", item) for item in items]
    return tag("ul", *found) if found else None


def folded(summary: str, text: str, most: int) -> Markup | None:
    """Return a collapsed text, at most its last `most` characters; None if it is empty."""
    if not text.strip():
        return None
    cut = (
        f"… {grouped(len(text) - most)} characters before these are left out\n"
        if len(text) > most
        else ""
    )
    return tag("details", tag("summary", summary), tag("pre", cut + text[-most:]))


def _value(tile: FigureTile) -> Markup:
    return tag("dd", tile.value, tag("small", tile.note) if tile.note else None)


def _row(row: Sequence[Child], kinds: dict[int, str], first: str | None) -> Markup:
    cells = (_cell(cell, kinds.get(column)) for column, cell in enumerate(row[1:], 1))
    return tag("tr", tag("th", row[0], scope="row", class_=first), join(*cells))


def _cell(cell: Child, kind: str | None) -> Markup:
    """A cell; the best one carries the word, because bold type alone is not accessible."""
    if isinstance(cell, BestText):
        return tag(
            "td",
            cell.words,
            " ",
            tag("small", "best", class_="good"),
            class_=f"{kind or ''} best".strip(),
        )
    return tag("td", cell, class_=kind)


class BestText(str):
    """The text of a cell that is better than all others in its row."""

    __slots__ = ()

    @property
    def words(self) -> str:
        """The text alone."""
        return str(self)


_ENDS: Final = {
    "completed": "Completed",
    "early_stopping": "Ended early, because it did not get better any more,",
    "stopped": "Stopped, with a checkpoint,",
    "stopped_now": "Stopped, without a checkpoint,",
}
_LIVE: Final = {
    "starting": "Starting",
    "running": "Still training",
    "paused": "Paused",
    "stopping": "About to stop",
    "failed": "Failed",
    "lost": "Lost: the trainer ended without a word,",
}

STATES: Final[dict[State, str]] = {
    "starting": "accent",
    "running": "good",
    "paused": "warning",
    "stopping": "warning",
    "finished": "good",
    "stopped": "warning",
    "failed": "bad",
    "lost": "bad",
}
"""The class that colours a state; the word always stands beside it."""


def _end(finished: Finished) -> str:
    return f"Ended early, by {finished.by}," if finished.by else _ENDS[finished.reason]


def outcome(run: RunFigures) -> str:
    """The run's state or end, and how far it came."""
    begun = _end(run.finished) if run.finished else _LIVE.get(run.summary.state, run.summary.state)
    much = f": {run.summary.trained} trained" if run.summary.trained else ", before the first step"
    return f"{begun} after {duration(run.summary.seconds)}{much}."


def moment(time: float) -> str:
    """Write a time unambiguously: `2026-11-21 14:02 UTC`."""
    return f"{dated(time, '%Y-%m-%d %H:%M', UTC)} UTC"
