"""The report on one run: its facts as tiles and tables, with curves and what else is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gpu_studio.common.figures import (
    UNKNOWN,
    duration,
    grouped,
    metric,
    metric_words,
    share,
    size,
    span,
)
from gpu_studio.common.safe_files import read_text
from gpu_studio.contract import Communication, DeviceTimes
from gpu_studio.plan import LARGEST_BYTES
from gpu_studio.runs.reading.placements import Judgement, LayerRow, PassRow, judged
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
from gpu_studio.runs.results.run_facts import (
    BEST,
    CARDS,
    CHECKPOINTS,
    ENERGY,
    ENVIRONMENT,
    MEMORY,
    PRACTISED,
    PROFILED,
    RESULT,
    STEP_TIME,
    THROUGHPUT,
    TIME,
    TIMES,
    TRAINING,
    Fact,
    facts,
    identity,
    metric_facts,
    rows,
)
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.results.run_times import ONE_DEVICE, steps_in_words

_MOST_EPOCHS: Final = 10
_MOST_ITEMS: Final = 50
_MOST_DETAILS: Final = 40_000
_MOST_PLAN: Final = 64_000
# A tile has a figure, and in small letters under it what follows it.
_AFTER_FIGURE: Final = re.compile(r", | (?=samples/s|\()")


def header(run: RunFigures) -> Markup:
    """The title part of the report, and how the run ended."""
    summary = run.summary
    known = {fact.name: fact.words for fact in identity(summary, run.labels)}
    named = [
        f"{name} {known[name]}" for name in ("plan", PRACTISED, "resumed from") if name in known
    ]
    # Not the local time of the window: a report is read elsewhere, and later.
    more = (run.environment.get("computer"), known.get("tags"))
    origin = [known["run"], moment(summary.started), *filter(None, more), *named]
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
    every = facts(run)
    yield _failure(run)
    yield section("Note", tag("p", run.labels.note, class_="note") if run.labels.note else None)
    yield tiles(_tiles(run, every))
    yield section("Loss", figure(run_charts.loss_chart(run, points), titled=False))
    yield section("Metrics", pair(list(run_charts.metric_charts(run, points))), _epochs(run))
    memory = figure(run_charts.memory_chart(run, points), titled=False)
    yield section("Memory", memory, _memory(run, every))
    yield _cards(run, every, points)
    yield section(TIMES, *_where_it_went(run, every))
    yield _placement(run, every)
    yield section(
        "Warnings",
        listed(f"{each.message} {each.suggestion}" for each in run.warnings[-_MOST_ITEMS:]),
    )
    also = ", and what was evaluated" if run.evaluations else ""
    caption = f"Complete on disk when this was written{also}"
    yield section(CHECKPOINTS, _by_thing(every, CHECKPOINTS, "name", caption, unknown=""))
    known = rows(every, ENVIRONMENT)
    yield section(ENVIRONMENT, table("What the run trained with", ("", ""), known))
    yield section("Plan", _plan(run))


def _by_thing(
    every: Sequence[Fact], group: str, things: str, caption: str, unknown: str = UNKNOWN
) -> Markup | None:
    """A table with a row for each device, card or checkpoint, and a column for each fact of it."""
    found = [fact for fact in every if fact.group == group and fact.of]
    names = list(dict.fromkeys(fact.name for fact in found))
    known = {(fact.of, fact.name): fact.words for fact in found}
    texts = {fact.name for fact in found if isinstance(fact.value, str)}
    lines = (
        [of, *(known.get((of, name), unknown) for name in names)]
        for of in list(dict.fromkeys(fact.of for fact in found))[:_MOST_ITEMS]
    )
    numbers = [column for column, name in enumerate(names, 1) if name not in texts]
    return table(caption, (things, *names), lines, numbers)


def _failure(run: RunFigures) -> Markup | None:
    if run.why is None:
        return None
    advice = listed(run.why.suggestions)
    details = folded("Details", run.why.details, _MOST_DETAILS)
    return section("What happened", tag("p", run.why.message), advice, details, class_="failure")


def _tiles(run: RunFigures, every: Sequence[Fact]) -> Iterator[FigureTile]:
    known = {fact.name: fact for fact in every if fact.group in (RESULT, CARDS) and not fact.of}
    for name in (BEST, TIME, THROUGHPUT, STEP_TIME):
        if name in known:
            yield _tile(known[name])
    if peaks := run.summary.peaks_at_work:
        device = max(peaks, key=peaks.__getitem__)
        most = next(fact for fact in every if fact.name == "peak" and fact.of == device)
        yield FigureTile("most memory", most.words, f"on {device}")
    spent = known[ENERGY]
    yield FigureTile(ENERGY, UNKNOWN, spent.words) if spent.value is None else _tile(spent)


def _tile(fact: Fact) -> FigureTile:
    value, *note = _AFTER_FIGURE.split(fact.words, maxsplit=1)
    return FigureTile(fact.name, value, "".join(note).strip("()"))


def _epochs(run: RunFigures) -> Markup | None:
    names = list(dict.fromkeys(name for row in run.epochs for name in row.metrics))
    shown = run.epochs[-_MOST_EPOCHS:]
    lines = [
        [
            str(row.epoch),
            *(metric(row.metrics[name]) if name in row.metrics else UNKNOWN for name in names),
            duration(row.seconds),
        ]
        for row in shown
    ]
    ends = [f"{fact.name} {fact.words}" for fact in metric_facts(run)]
    ended = run.finished is not None and run.finished.metrics
    after = tag("p", f"At the end: {', '.join(ends)}.") if ended else None
    left_out = (
        f", the last {len(shown)} of {len(run.epochs)}" if len(shown) < len(run.epochs) else ""
    )
    headings = ["epoch", *(metric_words(name, names) for name in names), "time"]
    whole = table(
        f"Metrics at the end of each epoch{left_out}", headings, lines, range(1, len(headings))
    )
    return join(after, whole) if after or whole else None


def _memory(run: RunFigures, every: Sequence[Fact]) -> Markup | None:
    caption = "The most memory in use on each logical device"
    whole = _by_thing(every, MEMORY, "device", caption)
    notes = []
    if run.predicted and "variables" in run.counted.values():
        notes += ["Of a logical CPU only the variables are counted; a whole step is predicted."]
    if run.prediction.incomplete:
        where = ", ".join(run.prediction.incomplete)
        missing = run.prediction.missing_on(run.prediction.incomplete[0]).lstrip(",")
        notes += [f"What is predicted of {where} is{missing}."]
    if whole is None or not notes:
        return whole
    return join(whole, tag("p", " ".join(notes), class_="muted"))


def _cards(run: RunFigures, every: Sequence[Fact], points: int) -> Markup | None:
    if not run.cards or run.machine is None:
        return None
    whole = _by_thing(every, CARDS, "card", "What the cards that it trained on did meanwhile")
    missing = max(total.missing_seconds for total in run.card_totals)
    gap = (
        f"For {duration(missing)} nothing was recorded; no power is made up for that time."
        if missing
        else None
    )
    charts = [figure(chart) for chart in run_charts.card_charts(run, points)]
    return section("Cards", *charts, whole, tag("p", gap, class_="muted") if gap else None)


def _plan(run: RunFigures) -> Markup | None:
    try:
        text = read_text(run.summary.directory.plan_file, LARGEST_BYTES)
    except OSError:
        return None
    return tag("pre", text[:_MOST_PLAN] + ("\n…" if len(text) > _MOST_PLAN else ""))


_MOST_LAYERS: Final = 400
_MOST_CROSSINGS: Final = 30


def _placement(run: RunFigures, every: Sequence[Fact]) -> Markup | None:
    """Return the section; None if it is not known, or nothing was asked."""
    if run.placement is None or not run.placement.asked:
        return None
    found = judged(run.placement)
    shown = [layer for layer in found.layers if layer.operations][:_MOST_LAYERS]
    caption = "Operations of each layer on each device, as TensorFlow executed the first step"
    if len(shown) == _MOST_LAYERS:
        caption += f", the first {len(shown)} of {len(found.layers)} layers"
    headings = ("layer", "asked", "forward", "backward", "update", "")
    verdict = dict(rows(every, TRAINING))["placement"]
    return section(
        "Placement",
        tag("p", verdict, class_="bad" if found.wrong else None),
        table(caption, headings, (_row(layer) for layer in shown)),
        table(
            _crossing_caption(found), ("from", "to", "bytes", "tensors"), _crossings(found), (2, 3)
        ),
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
            grouped(each.tensors),
        ]


_MEANT: Final = (
    "Starting loads TensorFlow, the model and the data; between the calls are validation, "
    "checkpoints and the ends of epochs."
)
_MEANT_APART: Final = (
    "Compute is while any device computes, communication while none does, and idle while no "
    "device does anything."
)


def _where_it_went(run: RunFigures, every: Sequence[Fact]) -> Iterator[Markup | None]:
    """The section on time: the seconds of the whole run, and what the devices did in a step."""
    whole = _times(every)
    yield whole
    if whole is not None:
        yield tag("p", _MEANT, class_="muted")
    if not run.times.call_seconds:
        return
    if run.training_parts is not None and run.communication is not None:
        yield tag("p", _MEANT_APART, class_="muted")
        yield from _step(run.communication)
    else:
        yield tag("p", _not_measured(run), class_="muted")


def _times(every: Sequence[Fact]) -> Markup | None:
    found = [
        (fact, fact.value)
        for fact in every
        if fact.group == TIMES and fact.name != PROFILED and isinstance(fact.value, float)
    ]
    whole = sum(seconds for _, seconds in found)
    # The share that stands in brackets is of the training calls; a column has that of all the time.
    lines = (
        [fact.name, fact.words.partition(" (")[0], share(seconds / whole)]
        for fact, seconds in found
        if seconds > 0
    )
    return table("Wall time from the first event to the last", ("", "time", "share"), lines, (1, 2))


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
    lines = (_device(each, reported.seconds, waited=waited) for each in reported.devices)
    yield table("What each device did in such a step", headings, lines, range(1, len(headings)))
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
        f"In step {grouped(run.timeline.step)}, which took {span(run.timeline.seconds)}, "
        f"the devices were at work: {busy}."
    )
    return f"{words} The rest they waited for each other and for what goes between them."
