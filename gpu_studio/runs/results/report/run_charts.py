"""The charts of runs: loss and metrics by step; memory, utilisation and power over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Literal

import numpy as np

from gpu_studio.common.figures import metric, percent, size
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import LineTail, Memory, RunDirectory
from gpu_studio.contract.events import decode
from gpu_studio.contract.samples import Fast, FastFigures, SampleError
from gpu_studio.contract.samples import decode as decode_sample
from gpu_studio.hardware.accounting import LONGEST_GAP, lines_of
from gpu_studio.runs.lineage import LOSS, Curve, curve, thinned
from gpu_studio.runs.reading.series import Array, MemorySeries, Series
from gpu_studio.runs.results.report.chart import (
    HALF,
    WIDE,
    Axis,
    Chart,
    ChartLine,
    Level,
    bytes_axis,
    log_axis,
    number_axis,
    seconds_axis,
    steps_axis,
)
from gpu_studio.runs.results.run_figures import RunFigures

Figure = Literal["utilisation", "power"]
_MEMORY: Final = b'{"event":"memory"'
_FAST: Final = b'{"sample":"fast"'
_KEPT: Final = 1 << 14
_READ: Final[dict[Figure, Callable[[FastFigures], float | None]]] = {
    "utilisation": lambda card: card.utilisation_percent,
    "power": lambda card: card.power_w,
}

Curves = dict[str, tuple[Array, Array]]
"""By name: seconds since the run began, and values, each of shape (points,)."""


def memory_curves(run: RunDirectory, began: float, points: int) -> Curves:
    """The most bytes in use on each logical device up to each sample.

    Raises OSError if the events cannot be read.
    """
    found: dict[str, MemorySeries] = {}
    clock = SteadyClock()
    for line in LineTail(run.events_file).read_all():
        event = decode(line) if line.startswith(_MEMORY) else None
        if isinstance(event, Memory):
            time = clock.at(event.time, event.elapsed)
            for sample in event.devices:
                found.setdefault(sample.device, MemorySeries(sample.device)).add(time, sample)
    return {
        name: _thin(series.times - began, series.used, points) for name, series in found.items()
    }


def card_curves(
    run: RunDirectory, cards: Sequence[str], began: float, points: int
) -> dict[Figure, Curves]:
    """Utilisation in percent and power in watts of these cards, by their keys, if recorded.

    Raises OSError if the recording cannot be read.
    """
    wanted = frozenset(cards)
    found: dict[tuple[Figure, str], Series] = {}
    clock = SteadyClock()
    for sample in _fast(run):
        time = clock.at(sample.time, sample.steady)
        for card in sample.cards:
            if card.card in wanted:
                _take(found, time, card)
    curves: dict[Figure, Curves] = {"utilisation": {}, "power": {}}
    for (figure, key), series in found.items():
        times, values = _thin(series.column("time") - began, series.column("value"), points)
        # Of each stretch two points are left, which may lie at the far ends of two stretches.
        between = 4 * (times[-1] - times[0]) / points if len(times) < series.total else 0.0
        curves[figure][key] = _broken(times, values, LONGEST_GAP + between)
    return curves


def _fast(run: RunDirectory) -> Iterator[Fast]:
    with suppress(FileNotFoundError):
        for line in lines_of(run.hardware_file):
            if line.startswith(_FAST):
                with suppress(SampleError):
                    sample = decode_sample(line)
                    if isinstance(sample, Fast):
                        yield sample


def _take(found: dict[tuple[Figure, str], Series], time: float, card: FastFigures) -> None:
    for figure, read in _READ.items():
        value = read(card)
        if value is not None:
            key = (figure, card.card)
            if key not in found:
                found[key] = Series("time", "value", by="value", most=_KEPT)
            found[key].add(time, value)


def _thin(times: Array, values: Array, points: int) -> tuple[Array, Array]:
    kept = thinned(np.stack((times, values)), 1, points)
    return kept[0], kept[1]


def _broken(times: Array, values: Array, gap: float) -> tuple[Array, Array]:
    """The curve, interrupted at gaps longer than `gap` seconds."""
    after = np.flatnonzero(np.diff(times) > gap) + 1
    return np.insert(times, after, np.nan), np.insert(values, after, np.nan)


VALIDATION: Final = "val_"
MOST_POINTS: Final = 1000
_ALL_POINTS: Final = 30_000
"""Points of all lines of a report together: they are most of its bytes."""
_LOG_FROM: Final = 50.0
"""A loss that fell to so small a part of what it was is shown better by its logarithm."""
_MOST_METRICS: Final = 8
_FAR: Final = 8
_ENOUGH_EPOCHS: Final = 5
_FIGURES: Final[tuple[tuple[Figure, str, str], ...]] = (
    ("utilisation", "Utilisation", " %"),
    ("power", "Power", " W"),
)

Write = Callable[[float], str]
_WRITE: Final[dict[Figure, Write]] = {
    "utilisation": percent,
    "power": lambda value: f"{value:.0f} W",
}


def points_each(lines: int) -> int:
    """How many points each of this many lines may have."""
    return max(64, min(MOST_POINTS, _ALL_POINTS // max(1, lines)))


def loss_chart(run: RunFigures, points: int = MOST_POINTS) -> Chart | None:
    """Loss of each step, and the validation loss of each epoch; None before the first step."""
    directory = run.summary.directory
    trained, validated = curve(directory, LOSS, points), curve(directory, VALIDATION + LOSS, points)
    lines = [_line("training", trained, 0, faint=True), _line("validation", validated, 1)]
    return _over_steps("Loss", [line for line in lines if len(line.x)])


def metric_charts(run: RunFigures, points: int = MOST_POINTS) -> Iterator[Chart]:
    """A chart of each other metric, with that of the validation beside it.

    Half as wide where there are several.
    """
    named = dict.fromkeys(name.removeprefix(VALIDATION) for name in _names_of_epochs(run))
    names = [name for name in named if name != LOSS][:_MOST_METRICS]
    for name in names:
        pairs = ((name, "training", 0), (VALIDATION + name, "validation", 1))
        found = [
            _line(words, curve(run.summary.directory, key, points), place)
            for key, words, place in pairs
        ]
        chart = _over_steps(
            name.replace("_", " "),
            [line for line in found if len(line.x)],
            HALF if len(names) > 1 else WIDE,
        )
        if chart is not None:
            yield chart


def memory_chart(run: RunFigures, points: int = MOST_POINTS) -> Chart | None:
    """Memory of each logical device, with a common limit; None without samples."""
    curves = memory_curves(run.summary.directory, began(run), points)
    limits = {limit for limit in run.limits.values() if limit}
    if not curves:
        return None
    used = max(float(np.nanmax(values)) for _, values in curves.values())
    # A limit far above the use would flatten all curves: the table shows it.
    levels = [
        Level(f"limit {size(limit)}", float(limit))
        for limit in sorted(limits)
        if limit < used * _FAR
    ]
    most = max([used, *(level.value for level in levels)])
    lines = [ChartLine(name, *both, place) for place, (name, both) in enumerate(curves.items())]
    return _over_time("Memory in use", run, lines, bytes_axis(most), size, levels)


def card_charts(run: RunFigures, points: int = MOST_POINTS) -> Iterator[Chart]:
    """Utilisation and power of the run's cards, as far as recorded."""
    if not run.cards:
        return
    found = card_curves(run.summary.directory, [card.key for card in run.cards], began(run), points)
    for figure, title, unit in _FIGURES:
        if lines := list(_card_lines(run, found[figure])):
            most = max(float(np.nanmax(line.y)) for line in lines)
            axis = number_axis(0.0, 100.0 if figure == "utilisation" else most, unit)
            yield _over_time(title, run, lines, axis, _WRITE[figure])


def compared_chart(
    runs: Sequence[RunFigures], name: str, width: int, points: int = MOST_POINTS
) -> Chart | None:
    """One metric of several runs in one chart; None if no run has it."""
    # Losses of single steps are too noisy to distinguish runs: use the means of the epochs.
    by_epoch = min((len(run.epochs) for run in runs), default=0) >= _ENOUGH_EPOCHS
    found = (
        (run, curve(run.summary.directory, name, points, by_epoch=by_epoch), n)
        for n, run in enumerate(runs)
    )
    lines = [
        _line(run.title, each, n, faint=not by_epoch) for run, each, n in found if len(each.steps)
    ]
    return _over_steps(_title(name), lines, width)


def compared_names(runs: Sequence[RunFigures]) -> list[str]:
    """The curves worth comparing: the losses first, then every other metric of the epochs."""
    known = dict.fromkeys(name for run in runs for name in _names_of_epochs(run))
    first = [name for name in (LOSS, VALIDATION + LOSS) if name == LOSS or name in known]
    return [*first, *[name for name in known if name not in first][:_MOST_METRICS]]


def began(run: RunFigures) -> float:
    """The time of the run's first event, in seconds since 1970 (UTC)."""
    return run.times.spans[0].begin if run.times.spans else run.summary.started


def _names_of_epochs(run: RunFigures) -> Iterable[str]:
    return dict.fromkeys(name for row in run.epochs for name in row.metrics)


def _title(name: str) -> str:
    plain = name.removeprefix(VALIDATION).replace("_", " ")
    return f"Validation {plain}" if name.startswith(VALIDATION) else plain.capitalize()


def _line(name: str, found: Curve, place: int, *, faint: bool = False) -> ChartLine:
    return ChartLine(name, found.steps, found.values, place, faint)


def _card_lines(run: RunFigures, curves: Curves) -> Iterator[ChartLine]:
    for card in run.cards:
        if card.key in curves:
            yield ChartLine(card.label, *curves[card.key], card.places[0])


def _over_steps(title: str, lines: Sequence[ChartLine], width: int = WIDE) -> Chart | None:
    values = _together(line.y for line in lines)
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    log = "loss" in title.lower() and low > 0 and high / low >= _LOG_FROM
    x = steps_axis(0.0, max(float(line.x.max()) for line in lines))
    words = " ".join(_words(line, metric) for line in lines)
    title = title[:1].upper() + title[1:]
    return Chart(
        title, lines, x, log_axis(low, high) if log else number_axis(low, high), words, width=width
    )


def _over_time(
    title: str,
    run: RunFigures,
    lines: Sequence[ChartLine],
    y: Axis,
    write: Write,
    levels: Sequence[Level] = (),
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


def _words(line: ChartLine, write: Write) -> str:
    """A line described in words, as a text alternative."""
    known = line.y[np.isfinite(line.y)]
    if not len(known):
        return ""
    first, last, least, most = (
        write(float(value)) for value in (known[0], known[-1], known.min(), known.max())
    )
    return f"{line.name}: from {first} to {last}, least {least}, most {most}."
