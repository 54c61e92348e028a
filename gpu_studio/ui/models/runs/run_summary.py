"""What one run came to, in groups of a name and a text: the summary of the Runs page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_studio.hardware.card_account import CardTotals
from gpu_studio.runs import wording
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.results.training_parts import ONE_DEVICE, steps_in_words
from gpu_studio.runs.wording import UNKNOWN
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.figures import metric_label
from gpu_studio.ui.units import MINUS, duration, plural

_FEW_CHECKPOINTS = 5
_BESIDE_TRAINING = ("starting", "paused", "stopping")
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """A title over rows of a name and what is known of it."""

    title: str
    rows: tuple[Pair, ...]


def summary_groups(run: RunFigures) -> tuple[Group, ...]:
    """Everything that the summary of a run says, a group without rows left out."""
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
        when = f"in epoch {figures.count(run.best.epoch)}"
        yield f"best {metric_label(run.best.metric)}", f"{wording.metric(run.best.value)} {when}"
    yield from ((metric_words(name, run.metrics), wording.metric(value)) for name, value in run.metrics.items())
    total = f" of {figures.count(summary.steps_total)}" if summary.steps_total else ""
    yield "steps", f"{figures.count(summary.step)}{total}"
    yield "throughput", wording.rate(run.samples_per_second)
    yield "started", wording.moment(summary.created)
    yield "took", duration(summary.seconds) if summary.seconds is not None else UNKNOWN


def metric_words(name: str, among: Iterable[str]) -> str:
    """What a metric of an epoch or of the test is called: `accuracy`, `validation accuracy`, `test loss`."""
    for mark, word in (("val_", "validation "), ("test_", "test ")):
        if name.startswith(mark):
            alike = [each.removeprefix(mark) for each in among if each.startswith(mark)]
            return word + metric_label(name.removeprefix(mark), alike)
    return metric_label(name, [each for each in among if not each.startswith(("val_", "test_"))])


def _memory(run: RunFigures) -> Iterator[Pair]:
    for device in dict.fromkeys([*run.peaks, *run.predicted]):
        peak, predicted, limit = run.peaks.get(device), run.predicted.get(device), run.limits.get(device)
        counted = run.counted.get(device) == "variables"
        told = (
            UNKNOWN if peak is None else f"{figures.size(peak)}{' of variables' if counted else ''}",
            _foreseen(predicted, None if counted else peak, whole=counted) if predicted is not None else "",
            f"limit {figures.size(limit)}" if limit else "",
        )
        yield device, ", ".join(filter(None, told))


def _foreseen(predicted: int, peak: int | None, *, whole: bool) -> str:
    """What was predicted. Of a logical CPU only the variables are counted, which a `whole` step is not held against."""
    return f"{figures.size(predicted)} predicted{' for a whole step' if whole else ''}{_off(peak, predicted)}"


def _off(peak: int | None, predicted: int) -> str:
    """By how much the peak passed the prediction, or stayed under it."""
    return f" ({peak / predicted - 1:+.0%})".replace("%", " %").replace("-", MINUS) if peak and predicted else ""


def _cards(run: RunFigures) -> Iterator[Pair]:
    yield "energy", wording.energy(run.joules) if run.joules is not None else run.why_not("joules")
    if not run.card_totals:
        return
    each = run.joules_per_thousand_samples
    if each is not None:
        yield "for 1,000 samples", wording.energy(each)
    for name, what in (("throttled_seconds", "throttled"), ("idle_seconds", "idle")):
        seconds = getattr(run, name)
        yield what, wording.duration(seconds) if seconds is not None else run.why_not(name)
    for card, totals in zip(run.cards, run.card_totals, strict=True):
        yield f"{card.label} · {totals.name}", _card(totals)


def _card(totals: CardTotals) -> str:
    told = (
        wording.energy(totals.joules) if totals.joules is not None else "",
        f"{figures.size(totals.peak_used)} at most" if totals.peak_used is not None else "",
        f"{totals.peak_celsius} °C at most" if totals.peak_celsius is not None else "",
        f"{totals.busy_percent:.0f} % busy" if totals.busy_percent is not None else "",
    )
    return ", ".join(filter(None, told)) or UNKNOWN


def _times(run: RunFigures) -> Iterator[Pair]:
    times = run.times
    if times.call_seconds > 0:
        yield "waiting for data", _part(times.input_seconds, run.input_share)
        yield from _computing(run)
    if times.other_seconds > 0:
        yield "between the calls", wording.duration(times.other_seconds)
    for state, seconds in times.states.items():
        if state in _BESIDE_TRAINING and seconds > 0:
            yield state, wording.duration(seconds)


def _computing(run: RunFigures) -> Iterator[Pair]:
    """Computing and communication apart, where the steps of the run were profiled or there is only one device."""
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
    yield "profiled", f"{steps_in_words(run.communication)}; the others are taken to be like them (≈)"


def _part(seconds: float, share: float | None) -> str:
    return f"{wording.spent(seconds)} ({wording.share(share)})"


def _checkpoints(run: RunFigures) -> Iterator[Pair]:
    newest = sorted(run.checkpoints, key=lambda saved: saved.step, reverse=True)
    for saved in newest[:_FEW_CHECKPOINTS]:
        value = f", {saved.monitor} {wording.metric(saved.value)}" if saved.value is not None else ""
        yield saved.name, f"after epoch {figures.count(saved.epoch)}{value}{', best' if saved.best else ''}"
    if len(newest) > _FEW_CHECKPOINTS:
        yield "and", plural(len(newest) - _FEW_CHECKPOINTS, "older one")
