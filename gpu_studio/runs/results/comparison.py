"""Compare several runs: the differences between their plans, and figures with the best marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gpu_studio.common.figures import (
    UNKNOWN,
    duration,
    energy,
    grouped,
    metric,
    metric_words,
    share,
    size,
    span,
    throughput,
)
from gpu_studio.plan.difference import section
from gpu_studio.runs.reading.epochs import higher_is_better
from gpu_studio.runs.results.run_facts import (
    BY_XLA,
    CARDS_IDLE,
    CARDS_THROTTLED,
    COMMUNICATION,
    ENERGY,
    ENERGY_EACH,
    LAG,
    STEP_TIME,
    STEPS,
    THROUGHPUT,
    TIME,
    WAITING,
    XLA,
)
from gpu_studio.runs.results.run_figures import RunFigures

Value = float | str | None
Write = Callable[[float | None], str]
_NOISE: Final = 0.01
"""Two runs of one plan differ by this share in time, memory and energy: less is no better."""
NOT_AT_WORK: Final = "not trained on"
LEFT_OUT: Final = "left out"
"""What stands where a plan does not have a field that another has."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One figure, or one field of the plans, of each run.

    `values` are as they are read (seconds, bytes, joules, parts of 1), `texts` as a person reads
    them, with the unit that `unit` names; a value that is None says in its text why. `best` is the
    place of the run that is better than all others; None where none is, or where nothing is better
    or worse.
    """

    label: str
    unit: str
    values: tuple[Value, ...]
    texts: tuple[str, ...]
    best: int | None = None

    @property
    def differs(self) -> bool:
        """Whether not all runs have the same."""
        return len(set(self.texts)) > 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """`plans` has only the fields that differ, `figures` everything known of any of the runs."""

    runs: tuple[RunFigures, ...]
    plans: tuple[ComparisonRow, ...]
    figures: tuple[ComparisonRow, ...]

    @property
    def rows(self) -> tuple[ComparisonRow, ...]:
        """All rows, the plans' first."""
        return self.plans + self.figures

    def name_of(self, row: ComparisonRow) -> str:
        """What a row is called for a person: a metric as in the facts of a single run."""
        names = metric_names(self.runs)
        return metric_words(row.label, names) if row.label in names else row.label


def compare(runs: Sequence[RunFigures], metric_name: str | None = None) -> Comparison:
    """Compare runs; with `metric_name`, that metric comes first and the others are left out."""
    return Comparison(tuple(runs), tuple(_plan_rows(runs)), tuple(_figure_rows(runs, metric_name)))


def metric_names(runs: Sequence[RunFigures]) -> list[str]:
    """The names of all metrics of any of the runs, in the order in which they first appear."""
    return list(dict.fromkeys(name for run in runs for name in run.metrics))


def _plan_rows(runs: Sequence[RunFigures]) -> Iterator[ComparisonRow]:
    readable = [run for run in runs if run.plan_values]
    fields = dict.fromkeys(name for run in readable for name in run.plan_values)
    for name in sorted(fields, key=section):
        texts = tuple(
            run.plan_values.get(name, LEFT_OUT) if run.plan_values else UNKNOWN for run in runs
        )
        row = ComparisonRow(name, "", tuple(run.plan_values.get(name) for run in runs), texts)
        if len({run.plan_values.get(name) for run in readable}) > 1:
            yield row


def _figure_rows(runs: Sequence[RunFigures], metric_name: str | None) -> Iterator[ComparisonRow]:
    names = metric_names(runs) if metric_name is None else [metric_name]
    yield from (_metric_row(runs, name) for name in names)
    yield from (
        row for row in (*_time_rows(runs), *_memory_rows(runs), *_card_rows(runs)) if _is_known(row)
    )


def _metric_row(runs: Sequence[RunFigures], name: str) -> ComparisonRow:
    values = [run.metrics.get(name) for run in runs]
    return _row(name, "", values, metric, _best(values, higher=higher_is_better(name)))


def _time_rows(runs: Sequence[RunFigures]) -> Iterator[ComparisonRow]:
    if any(run.by_xla for run in runs):
        words = tuple(BY_XLA[run.by_xla] for run in runs)
        yield ComparisonRow(XLA, "", words, words)
    steps = [float(run.summary.step) for run in runs]
    yield _row(STEPS, "steps", steps, lambda value: grouped(float(value or 0)))
    yield _total(runs, TIME, "s", [run.summary.seconds for run in runs], duration)
    rates = [run.samples_per_second for run in runs]
    yield _row(THROUGHPUT, "samples/s", rates, throughput, _best(rates, higher=True, by=_NOISE))
    times = [run.step_seconds for run in runs]
    yield _row(STEP_TIME, "s", times, span, _best(times, by=_NOISE))
    waits = [run.input_share for run in runs]
    yield _row(WAITING, "of training", waits, share, _best(waits, by=_NOISE))
    lags = [run.workers.lag for run in runs]
    yield _row(LAG, "updates", lags, lambda value: grouped(float(value or 0), 2))
    # More devices communicate more, and may still be faster: no value is better.
    talks = [run.training_shares.communication if run.training_shares else None for run in runs]
    yield _row(
        COMMUNICATION,
        "of training",
        talks,
        share,
        missing=[run.why_not("communication") for run in runs],
    )


def _memory_rows(runs: Sequence[RunFigures]) -> Iterator[ComparisonRow]:
    for device in dict.fromkeys(device for run in runs for device in run.summary.peaks_at_work):
        yield _which_card(runs, device)
        # A prediction is not a result: no value is better.
        yield _row(
            f"predicted {device}",
            "bytes",
            [_number(run.predicted.get(device)) for run in runs],
            size,
        )
        # What a GPU held that a run only saw is none of its figures.
        peaks = [_number(run.summary.peaks_at_work.get(device)) for run in runs]
        yield _row(
            f"peak memory {device}",
            "bytes",
            peaks,
            size,
            _best([peak or None for peak in peaks], by=_NOISE),
            [NOT_AT_WORK if device in run.peaks else UNKNOWN for run in runs],
        )


def _which_card(runs: Sequence[RunFigures], device: str) -> ComparisonRow:
    """Make the row that names the card behind a device: the same name may mean another card."""
    names = tuple(run.card_name(device) for run in runs)
    return ComparisonRow(f"card of {device}", "", names, tuple(name or UNKNOWN for name in names))


def _card_rows(runs: Sequence[RunFigures]) -> Iterator[ComparisonRow]:
    joules = [run.joules for run in runs]
    missing = [run.why_not("joules") for run in runs]
    yield _total(runs, ENERGY, "J", joules, energy, missing)
    each = [run.joules_per_thousand_samples for run in runs]
    yield _row(ENERGY_EACH, "J", each, energy, _best(each, by=_NOISE), missing)
    for label, name in ((CARDS_IDLE, "idle_seconds"), (CARDS_THROTTLED, "throttled_seconds")):
        seconds = [getattr(run, name) for run in runs]
        yield _total(runs, label, "s", seconds, duration, [run.why_not(name) for run in runs])


def _total(
    runs: Sequence[RunFigures],
    label: str,
    unit: str,
    values: Sequence[float | None],
    write: Write,
    missing: Sequence[str] = (),
) -> ComparisonRow:
    """Make the row of a growing total: less is better only among runs that trained equally much."""
    as_much = len({run.times.samples for run in runs}) == 1
    return _row(label, unit, values, write, _best(values, by=_NOISE) if as_much else None, missing)


def _row(
    label: str,
    unit: str,
    values: Sequence[float | None],
    write: Write,
    best: int | None = None,
    missing: Sequence[str] = (),
) -> ComparisonRow:
    reasons = missing or [UNKNOWN] * len(values)
    texts = [
        why or UNKNOWN if value is None else write(value)
        for value, why in zip(values, reasons, strict=True)
    ]
    # A value that reads the same is not better, whatever digits follow.
    is_clear = best is not None and texts.count(texts[best]) == 1
    return ComparisonRow(label, unit, tuple(values), tuple(texts), best if is_clear else None)


def _best(values: Sequence[float | None], *, higher: bool = False, by: float = 0.0) -> int | None:
    """Return the index of the value that is better than all others by more than that fraction.

    None if there is none, or only one value.
    """
    known = [
        (value, place)
        for place, value in enumerate(values)
        if value is not None and math.isfinite(value)
    ]
    if len(known) < 2:
        return None
    (first, place), (second, _) = sorted(known, reverse=higher)[:2]
    return place if abs(first - second) > by * max(abs(first), abs(second)) else None


def _is_known(row: ComparisonRow) -> bool:
    return any(value is not None for value in row.values)


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
