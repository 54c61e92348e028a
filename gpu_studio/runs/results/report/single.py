"""The report of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_studio.hardware.card_account import CardTotals
from gpu_studio.plan.files import LARGEST_BYTES
from gpu_studio.regular_files import read_text
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.runs.results.report import run_charts, times
from gpu_studio.runs.results.report.elements import Tile, figure, folded, listed, pair, section, table, tiles
from gpu_studio.runs.results.report.markup import Markup, join, tag
from gpu_studio.runs.results.report.placed import placement
from gpu_studio.runs.results.report.words import STATES, moment, outcome
from gpu_studio.runs.results.run_cards import RunCard
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.wording import UNKNOWN, duration, energy, metric, rate, share, size, span

_MOST_EPOCHS: Final = 10
_MOST_ITEMS: Final = 50
_MOST_DETAILS: Final = 40_000
_MOST_PLAN: Final = 64_000
_COUNTED: Final = {"allocator": "TensorFlow's allocator", "host": "all logical CPUs", "variables": "variables only"}


def header(run: RunFigures) -> Markup:
    """What the report is about, and how the run ended."""
    summary = run.summary
    planned = [f"plan {summary.plan}"] if run.labels.name else []
    origin = [summary.id, *planned, moment(summary.created), *filter(None, [run.environment.get("computer")])]
    origin += [", ".join(run.labels.tags)] if run.labels.tags else []
    if summary.resumed_from:
        origin.append(f"goes on from {summary.resumed_from}")
    state = tag("span", summary.state, class_=f"state {STATES[summary.state]}")
    return tag(
        "header",
        tag("h1", run.title),
        tag("div", state, tag("span", outcome(run)), class_="outcome"),
        tag("div", " · ".join(origin), class_="origin"),
    )


def content(run: RunFigures) -> Iterator[Markup | None]:
    """The sections of the report; one of which nothing is known is None."""
    points = run_charts.points_each(6 + len(run.peaks) + 2 * len(run.cards))
    yield _failure(run)
    yield section("Note", tag("p", run.labels.note, class_="note") if run.labels.note else None)
    yield tiles(_tiles(run))
    yield section("Loss", figure(run_charts.loss_chart(run, points), titled=False))
    yield section("Metrics", pair(list(run_charts.metric_charts(run, points))), _epochs(run))
    yield section("Memory", figure(run_charts.memory_chart(run, points), titled=False), _memory(run))
    yield _cards(run, points)
    yield section("Where the time went", *times.where_it_went(run))
    yield placement(run)
    yield section("Warnings", listed(f"{each.message} {each.suggestion}" for each in run.warnings[-_MOST_ITEMS:]))
    yield section("Checkpoints", _checkpoints(run))
    yield section("Environment", table("What the run trained with", ("", ""), run.environment.items()))
    yield section("Plan", _plan(run))


def _failure(run: RunFigures) -> Markup | None:
    if run.why is None:
        return None
    advice = listed(run.why.suggestions)
    details = folded("Details", run.why.details, _MOST_DETAILS)
    return section("What happened", tag("p", run.why.message), advice, details, class_="failure")


def _tiles(run: RunFigures) -> Iterator[Tile]:
    if run.best:
        yield Tile("best", metric(run.best.value), f"{run.best.metric.replace('_', ' ')}, epoch {run.best.epoch:,}")
    yield Tile("time", duration(run.summary.seconds))
    yield Tile("throughput", rate(run.samples_per_second).removesuffix(" samples/s"), "samples a second")
    predicted = run.prediction.step_seconds
    yield Tile("step", span(run.step_seconds), f"{span(predicted)} predicted" if predicted else "mean")
    if run.peaks:
        device, most = max(run.peaks.items(), key=lambda item: item[1])
        yield Tile("most memory", size(most), f"on {device}")
    joules = run.joules
    watt_hours = energy(joules).partition("(")[2].removesuffix(")") or energy(joules)
    yield Tile("energy", watt_hours, "of its cards" if joules is not None else run.why_not("joules"))


def _epochs(run: RunFigures) -> Markup | None:
    names = list(dict.fromkeys(name for row in run.epochs for name in row.metrics))
    shown = run.epochs[-_MOST_EPOCHS:]
    rows = [
        [str(row.epoch), *(metric(row.metrics.get(name)) for name in names), duration(row.seconds)] for row in shown
    ]
    if run.finished and run.finished.metrics:
        tested = ", ".join(f"{name.replace('_', ' ')} {metric(value)}" for name, value in run.finished.metrics.items())
        after = tag("p", f"At the end: {tested}.")
    else:
        after = None
    left_out = f", the last {len(shown)} of {len(run.epochs)}" if len(shown) < len(run.epochs) else ""
    headings = ["epoch", *(name.replace("_", " ") for name in names), "time"]
    whole = table(f"Metrics at the end of each epoch{left_out}", headings, rows, range(1, len(headings)))
    return join(after, whole) if after or whole else None


def _memory(run: RunFigures) -> Markup | None:
    def rows() -> Iterator[list[str]]:
        for device in dict.fromkeys((*run.peaks, *run.predicted)):
            limit, predicted = run.limits.get(device), run.predicted.get(device)
            peak = run.peaks.get(device)
            of_limit = share(peak / limit) if peak is not None and limit else UNKNOWN
            counted = _COUNTED.get(run.counted.get(device, ""), UNKNOWN)
            yield [device, size(peak), size(predicted), size(limit) if limit else "none", of_limit, counted]

    headings = ("device", "peak", "predicted", "limit", "of limit", "counted")
    whole = table("The most memory in use on each logical device", headings, rows(), range(1, 5))
    if whole is None or not run.predicted or "variables" not in run.counted.values():
        return whole
    return join(
        whole, tag("p", "Of a logical CPU only the variables are counted; a whole step is predicted.", class_="muted")
    )


def _cards(run: RunFigures, points: int) -> Markup | None:
    if not run.cards or run.machine is None:
        return None
    rows = (_card(card, run.machine.cards[card.key]) for card in run.cards)
    headings = ("card", "devices", "energy", "utilisation", "idle", "throttled", "most memory", "hottest")
    whole = table("What the cards that it trained on did meanwhile", headings, rows, range(2, 8))
    missing = max(total.missing_seconds for total in run.card_totals)
    gap = f"For {duration(missing)} nothing was recorded; no power is made up for that time." if missing else None
    charts = [figure(chart) for chart in run_charts.card_charts(run, points)]
    return section("Cards", *charts, whole, tag("p", gap, class_="muted") if gap else None)


def _card(card: RunCard, total: CardTotals) -> list[str]:
    def known(figure: str, words: str) -> str:
        return total.why.get(figure, UNKNOWN) if getattr(total, figure) is None else words

    reasons = ", ".join(f"{reason} {duration(seconds)}" for reason, seconds in (total.throttled or {}).items())
    celsius = f"{total.peak_celsius} °C"
    return [
        total.name,
        card.label,
        known("joules", energy(total.joules)),
        known("busy_percent", f"{total.busy_percent or 0:.0f} %"),
        known("idle_seconds", duration(total.idle_seconds)),
        known("throttled", reasons or "never"),
        known("peak_used", size(total.peak_used)),
        known("peak_celsius", celsius),
    ]


def _checkpoints(run: RunFigures) -> Markup | None:
    def rows() -> Iterator[list[str]]:
        for saved in run.checkpoints[-_MOST_ITEMS:]:
            monitored = f"{saved.monitor} {metric(saved.value)}" if saved.monitor and saved.value is not None else ""
            best = ", the best then" if saved.best else ""
            evaluated = _evaluated(run.evaluations.get(saved.name))
            yield [saved.name, str(saved.epoch), f"{saved.step:,}", f"{monitored}{best}".strip(", "), evaluated]

    headings = ("name", "epochs", "step", "monitored", "evaluated" if run.evaluations else "")
    return table("Complete on disk when this was written", headings, rows(), (1, 2))


def _evaluated(found: Evaluation | None) -> str:
    if found is None:
        return ""
    metrics = ", ".join(f"{name.replace('_', ' ')} {metric(value)}" for name, value in found.metrics.items())
    return f"{found.split}: {metrics}"


def _plan(run: RunFigures) -> Markup | None:
    try:
        text = read_text(run.summary.directory.plan_file, LARGEST_BYTES)
    except OSError:
        return None
    return tag("pre", text[:_MOST_PLAN] + ("\n…" if len(text) > _MOST_PLAN else ""))
