"""The report on one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_studio.common.figures import (
    UNKNOWN,
    duration,
    energy,
    metric,
    percent,
    share,
    size,
    span,
    spent,
    throughput,
)
from gpu_studio.common.safe_files import read_text
from gpu_studio.contract.events import Communication, DeviceTimes
from gpu_studio.hardware.accounting import CardTotals
from gpu_studio.plan.files import LARGEST_BYTES
from gpu_studio.runs.reading.placements import Judgement, LayerRow, PassRow, judged
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.runs.results.report import run_charts
from gpu_studio.runs.results.report.chart import Markup, join, tag
from gpu_studio.runs.results.report.elements import (
    STATES,
    FigureTile,
    figure,
    folded,
    listed,
    moment,
    outcome,
    pair,
    section,
    table,
    tiles,
)
from gpu_studio.runs.results.run_cards import RunCard
from gpu_studio.runs.results.run_facts import RunFigures
from gpu_studio.runs.results.run_times import ONE_DEVICE, steps_in_words

_MOST_EPOCHS: Final = 10
_MOST_ITEMS: Final = 50
_MOST_DETAILS: Final = 40_000
_MOST_PLAN: Final = 64_000
_COUNTED: Final = {
    "allocator": "TensorFlow's allocator",
    "host": "all logical CPUs",
    "variables": "variables only",
}


def header(run: RunFigures) -> Markup:
    """The title part of the report, and how the run ended."""
    summary = run.summary
    planned = [f"plan {summary.plan}"] if run.labels.name else []
    origin = [
        summary.id,
        *planned,
        moment(summary.created),
        *filter(None, [run.environment.get("computer")]),
    ]
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
    """The sections of the report; None for one without content."""
    points = run_charts.points_each(6 + len(run.peaks) + 2 * len(run.cards))
    yield _failure(run)
    yield section("Note", tag("p", run.labels.note, class_="note") if run.labels.note else None)
    yield tiles(_tiles(run))
    yield section("Loss", figure(run_charts.loss_chart(run, points), titled=False))
    yield section("Metrics", pair(list(run_charts.metric_charts(run, points))), _epochs(run))
    yield section(
        "Memory", figure(run_charts.memory_chart(run, points), titled=False), _memory(run)
    )
    yield _cards(run, points)
    yield section("Where the time went", *where_it_went(run))
    yield placement(run)
    yield section(
        "Warnings",
        listed(f"{each.message} {each.suggestion}" for each in run.warnings[-_MOST_ITEMS:]),
    )
    yield section("Checkpoints", _checkpoints(run))
    yield section(
        "Environment", table("What the run trained with", ("", ""), run.environment.items())
    )
    yield section("Plan", _plan(run))


def _failure(run: RunFigures) -> Markup | None:
    if run.why is None:
        return None
    advice = listed(run.why.suggestions)
    details = folded("Details", run.why.details, _MOST_DETAILS)
    return section("What happened", tag("p", run.why.message), advice, details, class_="failure")


def _tiles(run: RunFigures) -> Iterator[FigureTile]:
    if run.best:
        yield FigureTile(
            "best",
            metric(run.best.value),
            f"{run.best.metric.replace('_', ' ')}, epoch {run.best.epoch:,}",
        )
    yield FigureTile("time", duration(run.summary.seconds))
    yield FigureTile(
        "throughput",
        throughput(run.samples_per_second).removesuffix(" samples/s"),
        "samples a second",
    )
    predicted = run.prediction.step_seconds
    yield FigureTile(
        "step", span(run.step_seconds), f"{span(predicted)} predicted" if predicted else "mean"
    )
    if run.peaks:
        device, most = max(run.peaks.items(), key=lambda item: item[1])
        yield FigureTile("most memory", size(most), f"on {device}")
    joules = run.joules
    watt_hours = energy(joules).partition("(")[2].removesuffix(")") or energy(joules)
    yield FigureTile(
        "energy", watt_hours, "of its cards" if joules is not None else run.why_not("joules")
    )


def _epochs(run: RunFigures) -> Markup | None:
    names = list(dict.fromkeys(name for row in run.epochs for name in row.metrics))
    shown = run.epochs[-_MOST_EPOCHS:]
    rows = [
        [
            str(row.epoch),
            *(metric(row.metrics[name]) if name in row.metrics else UNKNOWN for name in names),
            duration(row.seconds),
        ]
        for row in shown
    ]
    if run.finished and run.finished.metrics:
        tested = ", ".join(
            f"{name.replace('_', ' ')} {metric(value)}"
            for name, value in run.finished.metrics.items()
        )
        after = tag("p", f"At the end: {tested}.")
    else:
        after = None
    left_out = (
        f", the last {len(shown)} of {len(run.epochs)}" if len(shown) < len(run.epochs) else ""
    )
    headings = ["epoch", *(name.replace("_", " ") for name in names), "time"]
    whole = table(
        f"Metrics at the end of each epoch{left_out}", headings, rows, range(1, len(headings))
    )
    return join(after, whole) if after or whole else None


def _memory(run: RunFigures) -> Markup | None:
    def rows() -> Iterator[list[str]]:
        for device in dict.fromkeys((*run.peaks, *run.predicted)):
            limit, predicted = run.limits.get(device), run.predicted.get(device)
            peak = run.peaks.get(device)
            of_limit = share(peak / limit) if peak is not None and limit else UNKNOWN
            counted = _COUNTED.get(run.counted.get(device, ""), UNKNOWN)
            yield [
                device,
                size(peak),
                size(predicted),
                size(limit) if limit else "none",
                of_limit,
                counted,
            ]

    headings = ("device", "peak", "predicted", "limit", "of limit", "counted")
    whole = table("The most memory in use on each logical device", headings, rows(), range(1, 5))
    if whole is None or not run.predicted or "variables" not in run.counted.values():
        return whole
    return join(
        whole,
        tag(
            "p",
            "Of a logical CPU only the variables are counted; a whole step is predicted.",
            class_="muted",
        ),
    )


def _cards(run: RunFigures, points: int) -> Markup | None:
    if not run.cards or run.machine is None:
        return None
    rows = (_card(card, run.machine.cards[card.key]) for card in run.cards)
    headings = (
        "card",
        "devices",
        "energy",
        "utilisation",
        "idle",
        "throttled",
        "most memory",
        "hottest",
    )
    whole = table("What the cards that it trained on did meanwhile", headings, rows, range(2, 8))
    missing = max(total.missing_seconds for total in run.card_totals)
    gap = (
        f"For {duration(missing)} nothing was recorded; no power is made up for that time."
        if missing
        else None
    )
    charts = [figure(chart) for chart in run_charts.card_charts(run, points)]
    return section("Cards", *charts, whole, tag("p", gap, class_="muted") if gap else None)


def _card(card: RunCard, total: CardTotals) -> list[str]:
    def known(figure: str, words: str) -> str:
        return total.why.get(figure, UNKNOWN) if getattr(total, figure) is None else words

    reasons = ", ".join(
        f"{reason} {duration(seconds)}" for reason, seconds in (total.throttled or {}).items()
    )
    celsius = f"{total.peak_celsius} °C"
    return [
        total.name,
        card.label,
        known("joules", energy(total.joules)),
        known("busy_percent", percent(total.busy_percent or 0)),
        known("idle_seconds", duration(total.idle_seconds)),
        known("throttled", reasons or "never"),
        known("peak_used", size(total.peak_used)),
        known("peak_celsius", celsius),
    ]


def _checkpoints(run: RunFigures) -> Markup | None:
    def rows() -> Iterator[list[str]]:
        for saved in run.checkpoints[-_MOST_ITEMS:]:
            monitored = (
                f"{saved.monitor} {metric(saved.value)}"
                if saved.monitor and saved.value is not None
                else ""
            )
            best = ", the best then" if saved.best else ""
            evaluated = _evaluated(run.evaluations.get(saved.name))
            yield [
                saved.name,
                str(saved.epoch),
                f"{saved.step:,}",
                f"{monitored}{best}".strip(", "),
                evaluated,
            ]

    headings = ("name", "epochs", "step", "monitored", "evaluated" if run.evaluations else "")
    return table("Complete on disk when this was written", headings, rows(), (1, 2))


def _evaluated(found: Evaluation | None) -> str:
    if found is None:
        return ""
    metrics = ", ".join(
        f"{name.replace('_', ' ')} {metric(value)}" for name, value in found.metrics.items()
    )
    return f"{found.split}: {metrics}"


def _plan(run: RunFigures) -> Markup | None:
    try:
        text = read_text(run.summary.directory.plan_file, LARGEST_BYTES)
    except OSError:
        return None
    return tag("pre", text[:_MOST_PLAN] + ("\n…" if len(text) > _MOST_PLAN else ""))


_MOST_LAYERS: Final = 400
_MOST_CROSSINGS: Final = 30


def placement(run: RunFigures) -> Markup | None:
    """Return the section; None if it was not told, or nothing was asked."""
    if run.placement is None or not run.placement.asked:
        return None
    found = judged(run.placement)
    shown = [layer for layer in found.layers if layer.operations][:_MOST_LAYERS]
    caption = "Operations of each layer on each device, as TensorFlow executed the first step"
    if len(shown) == _MOST_LAYERS:
        caption += f", the first {len(shown)} of {len(found.layers)} layers"
    headings = ("layer", "asked", "forward", "backward", "update", "")
    return section(
        "Placement",
        tag("p", _verdict(found), class_="bad" if found.wrong else None),
        table(caption, headings, (_row(layer) for layer in shown)),
        table(
            _crossing_caption(found), ("from", "to", "bytes", "tensors"), _crossings(found), (2, 3)
        ),
    )


def _verdict(found: Judgement) -> str:
    if not found.wrong:
        return f"All {found.operations:,} operations of the layers ran where they were asked to be."
    count = len(found.wrong)
    return (
        f"{count} {'part' if count == 1 else 'parts'} of the layers did not "
        "run where asked: see the table."
    )


def _row(layer: LayerRow) -> list[str]:
    asked = ", ".join(layer.asked) + (f", joined on {layer.joined_on}" if layer.joined_on else "")
    return [
        layer.layer,
        asked or "anywhere",
        *(_ran(each) for each in layer.passes),
        "elsewhere" if layer.wrong else "",
    ]


def _ran(row: PassRow) -> str:
    return ", ".join(f"{device} ×{count}" for device, count in row.ran) or "–"


def _crossing_caption(found: Judgement) -> str:
    least = "at least " if found.crossing_is_least else ""
    return (
        f"What crosses from device to device in a step, {least}{size(found.crossing_bytes)}, "
        "the largest first"
    )


def _crossings(found: Judgement) -> Iterator[list[str]]:
    for each in found.crossings[:_MOST_CROSSINGS]:
        source = " ".join(filter(None, (each.source, each.from_device)))
        target = " ".join(filter(None, (each.target, each.to_device)))
        yield [
            source,
            target,
            "not known" if each.bytes is None else size(each.bytes),
            f"{each.tensors:,}",
        ]


_EXTRAPOLATED: Final = (
    "computing, while any device does",
    "communication, while none computes",
    "idle: no device does anything",
)


def where_it_went(run: RunFigures) -> Iterator[Markup | None]:
    """The section on time: the seconds of the whole run, and what the devices did in a step."""
    yield _times(run)
    if not run.times.call_seconds:
        return
    if run.training_parts is not None and run.communication is not None:
        yield from _step(run.communication)
    else:
        yield tag("p", _not_measured(run), class_="muted")


def _times(run: RunFigures) -> Markup | None:
    times = run.times
    parts = (
        ("starting: TensorFlow, model and data", times.seconds_in("starting"), ""),
        ("tracing and compiling, in the first call", times.first_call_seconds, ""),
        ("waiting for data", times.input_seconds, ""),
        *_computing(run),
        ("validation, checkpoints and the ends of epochs", times.other_seconds, ""),
        ("paused", times.seconds_in("paused"), ""),
    )
    whole = sum(seconds for _, seconds, _ in parts)
    rows = (
        [name, f"{about}{spent(seconds)}", share(seconds / whole)]
        for name, seconds, about in parts
        if seconds > 0
    )
    return table("Wall time from the first event to the last", ("", "time", "share"), rows, (1, 2))


def _computing(run: RunFigures) -> Iterator[tuple[str, float, str]]:
    parts = run.training_parts
    if parts is not None:
        seconds = (parts.compute, parts.communication, parts.idle)
        yield from ((name, each, "≈ ") for name, each in zip(_EXTRAPOLATED, seconds, strict=True))
    elif run.why_not("communication") == ONE_DEVICE:
        yield "computing", run.times.compute_seconds, ""
    else:
        yield "computing, with what goes between devices", run.times.compute_seconds, ""


def _step(reported: Communication) -> Iterator[Markup | None]:
    words = (
        f"Times with ≈ are extrapolated: TensorFlow's profiler watched {steps_in_words(reported)} "
        f"({span(reported.seconds)} a step), and the others are taken to be like that."
    )
    yield tag("p", words, class_="muted")
    waited = any(each.waiting is not None for each in reported.devices)
    headings = [
        "device",
        "computing",
        "communicating",
        "exposed",
        "idle",
        *(["waiting for others"] if waited else []),
    ]
    rows = (_device(each, reported.seconds, waited=waited) for each in reported.devices)
    yield table("What each device did in such a step", headings, rows, range(1, len(headings)))
    others = (
        " Waiting for others is part of it: the last replica had not come to the all-reduce yet."
        if waited
        else ""
    )
    yield tag(
        "p", f"Communication is exposed while the device computes nothing.{others}", class_="muted"
    )


def _device(each: DeviceTimes, whole: float, *, waited: bool) -> list[str]:
    def reported(seconds: float | None) -> str:
        return UNKNOWN if seconds is None else f"{span(seconds)} ({share(seconds / whole)})"

    known = [
        reported(seconds) for seconds in (each.compute, each.communication, each.exposed, each.idle)
    ]
    return [each.device, *known, *([reported(each.waiting)] if waited else [])]


def _not_measured(run: RunFigures) -> str:
    if run.why_not("communication") == ONE_DEVICE:
        return "There was no communication between devices: the run trained on one."
    if run.timeline is None:
        return "Time in communication was not measured: it is part of computing."
    busy = ", ".join(
        f"{name} {share(each / run.timeline.seconds)}" for name, each in run.timeline.busy.items()
    )
    words = (
        f"In step {run.timeline.step:,}, which took {span(run.timeline.seconds)}, "
        f"the devices were at work: {busy}."
    )
    return f"{words} The rest they waited for each other and for what goes between them."
