"""The results of one run, in groups of names and texts: the summary of the Runs page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_studio.common import figures
from gpu_studio.common.figures import UNKNOWN, duration, plural
from gpu_studio.hardware.card_account import CardTotals
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.results.training_parts import ONE_DEVICE, steps_in_words
from gpu_studio.ui.kit.metric_names import metric_label

_FEW_CHECKPOINTS = 5
_BESIDE_TRAINING = ("starting", "paused", "stopping")
Pair = tuple[str, str]

MINUS = "\u2212"


@dataclass(frozen=True, slots=True)
class Group:
    """A title above rows of names and texts."""

    title: str
    rows: tuple[Pair, ...]


def summary_groups(run: RunFigures) -> tuple[Group, ...]:
    """Return the summary of a run; groups without rows are left out."""
    made = (
        ("Result", _result(run)),
        ("Peak memory", _memory(run)),
        ("Energy and cards", _cards(run)),
        ("Where the time went", _times(run)),
        ("Checkpoints", _checkpoints(run)),
        ("Environment", run.environment.items()),
    )
    groups = ((title, tuple(pairs)) for title, pairs in made)
    return tuple(Group(title, rows) for title, rows in groups if rows)


def _result(run: RunFigures) -> Iterator[Pair]:
    summary = run.summary
    if run.best is not None:
        when = f"in epoch {figures.grouped(run.best.epoch)}"
        yield f"best {metric_label(run.best.metric)}", f"{figures.metric(run.best.value)} {when}"
    yield from (
        (metric_words(name, run.metrics), figures.metric(value))
        for name, value in run.metrics.items()
    )
    total = f" of {figures.grouped(summary.steps_total)}" if summary.steps_total else ""
    yield "steps", f"{figures.grouped(summary.step)}{total}"
    yield "throughput", figures.throughput(run.samples_per_second)
    yield "started", figures.moment(summary.created)
    yield "took", duration(summary.seconds) if summary.seconds is not None else UNKNOWN


def metric_words(name: str, among: Iterable[str]) -> str:
    """Return a metric's name: `accuracy`, `validation accuracy`, `test loss`."""
    for mark, word in (("val_", "validation "), ("test_", "test ")):
        if name.startswith(mark):
            alike = [each.removeprefix(mark) for each in among if each.startswith(mark)]
            return word + metric_label(name.removeprefix(mark), alike)
    return metric_label(name, [each for each in among if not each.startswith(("val_", "test_"))])


def _memory(run: RunFigures) -> Iterator[Pair]:
    for device in dict.fromkeys([*run.peaks, *run.predicted]):
        peak, predicted, limit = (
            run.peaks.get(device),
            run.predicted.get(device),
            run.limits.get(device),
        )
        counted = run.counted.get(device) == "variables"
        reported = (
            UNKNOWN
            if peak is None
            else f"{figures.size(peak)}{' of variables' if counted else ''}",
            _foreseen(predicted, None if counted else peak, whole=counted)
            if predicted is not None
            else "",
            f"limit {figures.size(limit)}" if limit else "",
        )
        yield device, ", ".join(filter(None, reported))


def _foreseen(predicted: int, peak: int | None, *, whole: bool) -> str:
    """Return what was predicted.

    For a logical CPU only the variables are counted, which must not be compared with a `whole`
    step.
    """
    return (
        f"{figures.size(predicted)} "
        f"predicted{' for a whole step' if whole else ''}{_off(peak, predicted)}"
    )


def _off(peak: int | None, predicted: int) -> str:
    """Say by how much the peak was above or below the prediction."""
    return (
        f" ({peak / predicted - 1:+.0%})".replace("%", " %").replace("-", MINUS)
        if peak and predicted
        else ""
    )


def _cards(run: RunFigures) -> Iterator[Pair]:
    yield "energy", figures.energy(run.joules) if run.joules is not None else run.why_not("joules")
    if not run.card_totals:
        return
    each = run.joules_per_thousand_samples
    if each is not None:
        yield "for 1,000 samples", figures.energy(each)
    for name, what in (("throttled_seconds", "throttled"), ("idle_seconds", "idle")):
        seconds = getattr(run, name)
        yield what, figures.duration(seconds) if seconds is not None else run.why_not(name)
    for card, totals in zip(run.cards, run.card_totals, strict=True):
        yield f"{card.label} · {totals.name}", _card(totals)


def _card(totals: CardTotals) -> str:
    reported = (
        figures.energy(totals.joules) if totals.joules is not None else "",
        f"{figures.size(totals.peak_used)} at most" if totals.peak_used is not None else "",
        f"{totals.peak_celsius} °C at most" if totals.peak_celsius is not None else "",
        f"{figures.percent(totals.busy_percent)} busy" if totals.busy_percent is not None else "",
    )
    return ", ".join(filter(None, reported)) or UNKNOWN


def _times(run: RunFigures) -> Iterator[Pair]:
    times = run.times
    if times.call_seconds > 0:
        yield "waiting for data", _part(times.input_seconds, run.input_share)
        yield from _computing(run)
    if times.other_seconds > 0:
        yield "between the calls", figures.duration(times.other_seconds)
    for state, seconds in times.states.items():
        if state in _BESIDE_TRAINING and seconds > 0:
            yield state, figures.duration(seconds)


def _computing(run: RunFigures) -> Iterator[Pair]:
    """Return computing and communication separately.

    It needs profiled steps, or a single device.
    """
    parts, shares = run.training_parts, run.training_shares
    if parts is None or shares is None or run.communication is None:
        why = run.why_not("communication")
        yield (
            "compute" if why == ONE_DEVICE else "compute and transfers",
            _part(run.times.compute_seconds, run.compute_share),
        )
        yield "communication", why
        return
    for name in ("compute", "communication", "idle"):
        yield name, f"≈ {_part(getattr(parts, name), getattr(shares, name))}"
    yield (
        "profiled",
        f"{steps_in_words(run.communication)}; the others are taken to be like them (≈)",
    )


def _part(seconds: float, share: float | None) -> str:
    return f"{figures.spent(seconds)} ({figures.share(share)})"


def _checkpoints(run: RunFigures) -> Iterator[Pair]:
    newest = sorted(run.checkpoints, key=lambda saved: saved.step, reverse=True)
    for saved in newest[:_FEW_CHECKPOINTS]:
        value = (
            f", {saved.monitor} {figures.metric(saved.value)}" if saved.value is not None else ""
        )
        yield (
            saved.name,
            f"after epoch {figures.grouped(saved.epoch)}{value}{', best' if saved.best else ''}",
        )
    if len(newest) > _FEW_CHECKPOINTS:
        yield "and", plural(len(newest) - _FEW_CHECKPOINTS, "older one")
