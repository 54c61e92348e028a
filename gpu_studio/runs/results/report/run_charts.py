"""The charts of runs: loss and metrics over the steps, memory, utilisation and power over the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from gpu_studio.runs.reading.curves import LOSS, Curve, curve
from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.results.report.axes import Axis, bytes_axis, log_axis, number_axis, seconds_axis, steps_axis
from gpu_studio.runs.results.report.chart import HALF, WIDE, Chart, Level, Line
from gpu_studio.runs.results.report.recorded import Curves, Figure, card_curves, memory_curves
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.wording import metric, size

VALIDATION: Final = "val_"
MOST_POINTS: Final = 1000
_ALL_POINTS: Final = 30_000
"""Points of all lines of a report together: they are most of its bytes."""
_LOG_FROM: Final = 50.0
"""A loss that fell to so small a part of what it was is told better by its logarithm."""
_MOST_METRICS: Final = 8
_FAR: Final = 8
_ENOUGH_EPOCHS: Final = 5
_FIGURES: Final[tuple[tuple[Figure, str, str], ...]] = (("utilisation", "Utilisation", " %"), ("power", "Power", " W"))

Write = Callable[[float], str]
_WRITE: Final[dict[Figure, Write]] = {
    "utilisation": lambda value: f"{value:.0f} %",
    "power": lambda value: f"{value:.0f} W",
}


def points_each(lines: int) -> int:
    """How many points each of so many lines may have."""
    return max(64, min(MOST_POINTS, _ALL_POINTS // max(1, lines)))


def loss_chart(run: RunFigures, points: int = MOST_POINTS) -> Chart | None:
    """Loss of each step, and the validation loss of each epoch; None before the first step."""
    directory = run.summary.directory
    trained, validated = curve(directory, LOSS, points), curve(directory, VALIDATION + LOSS, points)
    lines = [_line("training", trained, 0, faint=True), _line("validation", validated, 1)]
    return _over_steps("Loss", [line for line in lines if len(line.x)])


def metric_charts(run: RunFigures, points: int = MOST_POINTS) -> Iterator[Chart]:
    """A chart of each other metric, with that of the validation beside it; half as wide where there are several."""
    named = dict.fromkeys(name.removeprefix(VALIDATION) for name in _names_of_epochs(run))
    names = [name for name in named if name != LOSS][:_MOST_METRICS]
    for name in names:
        pairs = ((name, "training", 0), (VALIDATION + name, "validation", 1))
        found = [_line(words, curve(run.summary.directory, key, points), place) for key, words, place in pairs]
        chart = _over_steps(
            name.replace("_", " "), [line for line in found if len(line.x)], HALF if len(names) > 1 else WIDE
        )
        if chart is not None:
            yield chart


def memory_chart(run: RunFigures, points: int = MOST_POINTS) -> Chart | None:
    """Memory of each logical device, with its limit where they share one; None where nothing was told."""
    curves = memory_curves(run.summary.directory, began(run), points)
    limits = {limit for limit in run.limits.values() if limit}
    if not curves:
        return None
    used = max(float(np.nanmax(values)) for _, values in curves.values())
    # A limit far above what is used would press all curves to the ground: the table tells it.
    levels = [Level(f"limit {size(limit)}", float(limit)) for limit in sorted(limits) if limit < used * _FAR]
    most = max([used, *(level.value for level in levels)])
    lines = [Line(name, *both, place) for place, (name, both) in enumerate(curves.items())]
    return _over_time("Memory in use", run, lines, bytes_axis(most), size, levels)


def card_charts(run: RunFigures, points: int = MOST_POINTS) -> Iterator[Chart]:
    """Utilisation and power of the run's cards, as far as they were recorded."""
    if not run.cards:
        return
    found = card_curves(run.summary.directory, [card.key for card in run.cards], began(run), points)
    for figure, title, unit in _FIGURES:
        if lines := list(_card_lines(run, found[figure])):
            most = max(float(np.nanmax(line.y)) for line in lines)
            axis = number_axis(0.0, 100.0 if figure == "utilisation" else most, unit)
            yield _over_time(title, run, lines, axis, _WRITE[figure])


def compared_chart(runs: Sequence[RunFigures], name: str, width: int, points: int = MOST_POINTS) -> Chart | None:
    """One metric of several runs over each other; None if no run has it."""
    # The loss of single steps is so noisy that several cannot be told apart: that of the epochs is their mean.
    by_epoch = min((len(run.epochs) for run in runs), default=0) >= _ENOUGH_EPOCHS
    found = ((run, curve(run.summary.directory, name, points, by_epoch=by_epoch), n) for n, run in enumerate(runs))
    lines = [_line(run.title, each, n, faint=not by_epoch) for run, each, n in found if len(each.steps)]
    return _over_steps(_title(name), lines, width)


def compared_names(runs: Sequence[RunFigures]) -> list[str]:
    """The curves that are worth a comparison: the losses first, then every other metric of the epochs."""
    known = dict.fromkeys(name for run in runs for name in _names_of_epochs(run))
    first = [name for name in (LOSS, VALIDATION + LOSS) if name == LOSS or name in known]
    return [*first, *[name for name in known if name not in first][:_MOST_METRICS]]


def began(run: RunFigures) -> float:
    """When the run's first event was told, in seconds since 1970 (UTC)."""
    return run.times.spans[0].begin if run.times.spans else run.summary.created


def _names_of_epochs(run: RunFigures) -> Iterable[str]:
    return dict.fromkeys(name for row in run.epochs for name in row.metrics)


def _title(name: str) -> str:
    plain = name.removeprefix(VALIDATION).replace("_", " ")
    return f"Validation {plain}" if name.startswith(VALIDATION) else plain.capitalize()


def _line(name: str, found: Curve, place: int, *, faint: bool = False) -> Line:
    return Line(name, found.steps, found.values, place, faint)


def _card_lines(run: RunFigures, curves: Curves) -> Iterator[Line]:
    for card in run.cards:
        if card.key in curves:
            yield Line(card.label, *curves[card.key], card.places[0])


def _over_steps(title: str, lines: Sequence[Line], width: int = WIDE) -> Chart | None:
    values = _together(line.y for line in lines)
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    log = "loss" in title.lower() and low > 0 and high / low >= _LOG_FROM
    x = steps_axis(0.0, max(float(line.x.max()) for line in lines))
    words = " ".join(_words(line, metric) for line in lines)
    title = title[:1].upper() + title[1:]
    return Chart(title, lines, x, log_axis(low, high) if log else number_axis(low, high), words, width=width)


def _over_time(
    title: str, run: RunFigures, lines: Sequence[Line], y: Axis, write: Write, levels: Sequence[Level] = ()
) -> Chart:
    end = max(float(np.nanmax(line.x)) for line in lines)
    bands = [
        (max(0.0, span.begin - began(run)), min(end, span.end - began(run)))
        for span in run.times.spans
        if span.state == "paused" and span.begin - began(run) < end
    ]
    words = " ".join(_words(line, write) for line in lines)
    return Chart(title, lines, seconds_axis(end), y, words, levels, bands)


def _together(columns: Iterable[Array]) -> Array:
    found = [column[np.isfinite(column)] for column in columns]
    return np.concatenate(found) if found else np.empty(0)


def _words(line: Line, write: Write) -> str:
    """What a line does, for somebody who cannot see it."""
    known = line.y[np.isfinite(line.y)]
    if not len(known):
        return ""
    first, last, least, most = (write(float(value)) for value in (known[0], known[-1], known.min(), known.max()))
    return f"{line.name}: from {first} to {last}, least {least}, most {most}."
