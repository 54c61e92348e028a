"""The facts of one run: each once, with its name, its value in words and the bare value.

The window, the terminal and the report take them from here. Each chooses groups and draws them in
its own way; names, words, order and units are the same everywhere. For a program the same run is
plain JSON values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from msgspec import to_builtins

from gpu_studio.common.figures import (
    UNKNOWN,
    duration,
    energy,
    grouped,
    learning_rate,
    metric,
    metric_words,
    metrics_in_words,
    moment,
    percent,
    plural,
    share,
    size,
    span,
    spent,
    throughput,
)
from gpu_studio.contract import RunDirectory, SavedCheckpoint, checkpoints, resumed_from
from gpu_studio.contract.events import as_dict
from gpu_studio.hardware.accounting import IDLE_BELOW, CardTotals
from gpu_studio.plan import strategy_named
from gpu_studio.runs.diagnosis import Explanation
from gpu_studio.runs.labels import Labels, number_of, parent_title, plan_name, read_labels
from gpu_studio.runs.left_job import explained
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.reading.placements import headline, judged
from gpu_studio.runs.reading.progress import saved_at
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.runs.reading.workers import cells, hosts_of, title_of
from gpu_studio.runs.results.evaluations import Evaluation, evaluations
from gpu_studio.runs.results.ran_code import ran_code
from gpu_studio.runs.results.run_cards import trains_on_cards
from gpu_studio.runs.results.run_figures import RunFigures, figures_of
from gpu_studio.runs.results.run_times import ONE_DEVICE, steps_in_words

RUN, TRAINING, RESULT = "Run", "Training", "Result"
MEMORY, CARDS, TIMES = "Peak memory", "Energy and cards", "Where the time went"
CHECKPOINTS, ENVIRONMENT = "Checkpoints", "Environment"
GROUPS: Final = (RUN, TRAINING, RESULT, MEMORY, CARDS, TIMES, CHECKPOINTS, ENVIRONMENT)
"""All groups, in the order in which they are shown."""

BEST, STEPS, TIME, THROUGHPUT, STEP_TIME = (
    "best",
    "steps trained",
    "time",
    "throughput",
    "time of a step",
)
WAITING, COMMUNICATION, PROFILED = "waiting for data", "communication", "profiled"
LAG = "lag of weights"
ENERGY, ENERGY_EACH = "energy", "energy of 1,000 samples"
XLA = "XLA"
CARDS_IDLE, CARDS_THROTTLED = "cards idle", "cards throttled"
"""Names that a comparison of runs uses too."""

PRACTISED: Final = "practice cards"
BY_XLA: Final = {True: "compiled each training step", False: "not used", None: UNKNOWN}
"""By whether XLA compiled the steps; runs of an older GPU Studio do not say."""

_FEW_CHECKPOINTS: Final = 5
_LAST_EPOCHS: Final = 10
_NAMES: Final = 11
"""Characters of a terminal that names take at least."""
_MINUS: Final = "\u2212"
_COUNTED: Final = {
    "allocator": "TensorFlow's allocator",
    "host": "all logical CPUs, and data that lie ready",
    "variables": "variables only",
}
_BESIDE: Final = {"host": ", with data that lie ready", "variables": " of variables"}
"""What the peak of a device is of, where it is not that of its steps."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a run: what it is called, and what it is in words.

    `value` is the bare one: seconds, bytes, joules, a part of 1, a text; None where it is unknown,
    and `words` then say why. `of` names the device, card or checkpoint that it is a fact of, where
    a group has several. `line` is how such a fact reads among others of the same thing on one line;
    empty where it is left out there.
    """

    group: str
    name: str
    words: str
    value: float | str | None = None
    of: str = ""
    line: str = ""


def facts(run: RunFigures) -> tuple[Fact, ...]:
    """All facts of a run, in the order in which they are shown."""
    return (
        *identity(run.summary, run.labels),
        *_training(run),
        *_result(run),
        *_memory(run),
        *_cards(run),
        *_times(run),
        *_checkpoints(run),
        *(Fact(ENVIRONMENT, name, text, text) for name, text in run.environment.items()),
    )


def rows(found: Iterable[Fact], group: str) -> tuple[tuple[str, str], ...]:
    """A group as names and texts: a fact a row, and all facts of one thing in one row.

    Of many checkpoints only the newest are named.
    """
    lines: dict[str, list[str]] = {}
    for fact in found:
        if fact.group == group:
            parts = lines.setdefault(fact.of or fact.name, [])
            parts += filter(None, [fact.line if fact.of else fact.words])
    made = [(name, ", ".join(parts) or UNKNOWN) for name, parts in lines.items()]
    if group == CHECKPOINTS and len(made) > _FEW_CHECKPOINTS:
        made[_FEW_CHECKPOINTS:] = [("and", plural(len(made) - _FEW_CHECKPOINTS, "older one"))]
    return tuple(made)


def identity(summary: Summary, labels: Labels) -> tuple[Fact, ...]:
    """What a run is, and how it stands: known before its figures are read."""
    known = (
        ("run", summary.id),
        ("state", summary.state_words),
        (PRACTISED, summary.practice),
        ("where", summary.where),
        ("plan", summary.plan if labels.name else ""),
        ("directory", str(summary.directory.path)),
        ("tags", ", ".join(labels.tags)),
        ("note", labels.note or labels.problem),
        ("resumed from", parent_title(summary.directory, summary.resumed_from)),
    )
    return tuple(Fact(RUN, name, text, text) for name, text in known if text)


def _training(run: RunFigures) -> Iterator[Fact]:
    devices, model = run.devices, run.model
    if devices:
        held = "layers" if strategy_named(devices.strategy).places_layers else "replicas"
        each = " of each worker" if run.workers.cluster else ""
        words = f"{devices.strategy}, {held} on {', '.join(devices.replicas)}{each}"
        yield Fact(TRAINING, "strategy", words, devices.strategy)
    if run.workers.cluster:
        yield Fact(TRAINING, "workers", run.workers.words, len(run.workers.places))
        for state in run.workers.states:
            words = ", ".join(filter(None, cells(state, run.workers.states)[1:]))
            yield Fact(TRAINING, title_of(state), words, state.state)
    if model:
        words = f"{model.name}, {grouped(model.parameters)} parameters"
        yield Fact(TRAINING, "model", words, model.name)
        many = model.train_samples
        words = f"{model.data}, {'in batches' if many is None else f'{grouped(many)} samples'}"
        yield Fact(TRAINING, "data", words, model.data)
    if run.by_xla or (run.by_xla is False and trains_on_cards(devices)):
        yield Fact(TRAINING, XLA, BY_XLA[run.by_xla], BY_XLA[run.by_xla])
    for number, phase in enumerate(run.plan.training.phases if run.plan else (), start=2):
        rate = learning_rate(phase.learning_rate)
        frozen = f", frozen: {', '.join(phase.frozen)}" if phase.frozen else ""
        reached = "" if run.summary.epoch >= phase.after else ", not reached"
        words = f"after epoch {grouped(phase.after)}, learning rate {rate}{frozen}{reached}"
        yield Fact(TRAINING, f"phase {number}", words, phase.after)
    if run.placement:
        words = headline(judged(run.placement))
        yield Fact(TRAINING, "placement", words, words)


def _result(run: RunFigures) -> Iterator[Fact]:
    summary, best, foreseen = run.summary, run.best, run.prediction.step_seconds
    if best is not None:
        name = metric_words(best.metric, run.metrics)
        words = f"{metric(best.value)}, {name} in epoch {grouped(best.epoch)}"
        yield Fact(RESULT, BEST, words, best.value)
    yield from metric_facts(run)
    yield Fact(RESULT, STEPS, _steps(run), summary.step)
    rate, step = run.samples_per_second, run.step_seconds
    yield Fact(RESULT, THROUGHPUT, throughput(rate), rate)
    predicted = f", {span(foreseen)} predicted" if foreseen else ""
    yield Fact(RESULT, STEP_TIME, f"{span(step)}{predicted}", step)
    lag = run.workers.lag
    if lag is not None:
        words = f"{grouped(lag, 2)} updates by others while a step was computed"
        yield Fact(RESULT, LAG, words, lag)
    yield Fact(RESULT, "started", moment(summary.started), summary.started)
    yield Fact(RESULT, TIME, duration(summary.seconds), summary.seconds)


def metric_facts(run: RunFigures) -> Iterator[Fact]:
    """The metrics of the last epoch, and those of the test after it."""
    last = run.epochs[-1].metrics if run.epochs else {}
    reported = {**last, **(run.finished.metrics if run.finished else {})}
    for name, value in reported.items():
        yield Fact(RESULT, metric_words(name, reported), metric(value), value)


def _steps(run: RunFigures) -> str:
    step, total = run.summary.step, run.summary.steps_total
    if not total:
        return grouped(step)
    done = run.finished is not None and run.finished.reason == "completed"
    return f"{grouped(step)} of {grouped(total)} ({share(1 if done else min(1, step / total))})"


def _memory(run: RunFigures) -> Iterator[Fact]:
    for device in dict.fromkeys([*run.peaks, *run.predicted]):
        peak, limit = run.peaks.get(device), run.limits.get(device)
        foreseen, counted = run.predicted.get(device), run.counted.get(device, "")
        part, beside = counted == "variables", _BESIDE.get(counted, "")
        line = f"{size(peak)}{beside if peak is not None else ''}"
        yield Fact(MEMORY, "peak", size(peak), peak, device, line)
        if foreseen is not None:
            # Of a logical CPU only the variables are counted: no part of a whole step's memory.
            # A difference from what leaves workspaces out would be no error of the prediction.
            more = run.prediction.missing_on(device) or _off(peak, foreseen)
            more = " for a whole step" if part else more
            words = f"{run.prediction.at_most(device)}{size(foreseen)}"
            line = f"{words} predicted{more}"
            yield Fact(MEMORY, "predicted", words, foreseen, device, line)
        line = f"limit {size(limit)}" if limit else ""
        yield Fact(MEMORY, "limit", size(limit) if limit else "none", limit, device, line)
        used = peak / limit if peak is not None and limit else None
        yield Fact(MEMORY, "of limit", share(used), used, device)
        yield Fact(MEMORY, "counted", _COUNTED.get(counted, UNKNOWN), counted, device)


def _off(peak: int | None, predicted: int) -> str:
    """Say by how much the peak was above or below the prediction."""
    if not peak or not predicted:
        return ""
    return f" ({peak / predicted - 1:+.0%})".replace("%", " %").replace("-", _MINUS)


def _cards(run: RunFigures) -> Iterator[Fact]:
    joules, each = run.joules, run.joules_per_thousand_samples
    yield Fact(
        CARDS, ENERGY, energy(joules) if joules is not None else run.why_not("joules"), joules
    )
    if not run.card_totals:
        return
    if each is not None:
        yield Fact(CARDS, ENERGY_EACH, energy(each), each)
    idle = f" under {percent(IDLE_BELOW)} busy"
    for name, figure, more in (
        (CARDS_IDLE, "idle_seconds", idle),
        (CARDS_THROTTLED, "throttled_seconds", ""),
    ):
        seconds: float | None = getattr(run, figure)
        words = duration(seconds) + more if seconds is not None else run.why_not(figure)
        yield Fact(CARDS, name, words, seconds)
    for card, totals in zip(run.cards, run.card_totals, strict=True):
        yield from _card(f"{card.label} · {totals.name}", totals)


def _card(of: str, card: CardTotals) -> Iterator[Fact]:
    def fact(name: str, figure: str, words: str, line: str = "") -> Fact:
        value: float | None = getattr(card, figure)
        if value is None:
            return Fact(CARDS, name, card.why.get(figure, UNKNOWN), None, of)
        return Fact(CARDS, name, words, value, of, line)

    if card.lost_at is not None:
        words = f"at {moment(card.lost_at)}: {card.lost.removeprefix('lost: ')}"
        yield Fact(CARDS, "lost", words, card.lost_at, of, f"lost {words}")
    limited = (card.throttled or {}).items()
    reasons = ", ".join(f"{reason} {duration(seconds)}" for reason, seconds in limited)
    drawn, used = energy(card.joules), size(card.peak_used)
    busy, hottest = percent(card.busy_percent or 0), f"{card.peak_celsius} °C"
    yield fact("energy", "joules", drawn, drawn)
    yield fact("utilisation", "busy_percent", busy, f"{busy} busy on average")
    yield fact("idle", "idle_seconds", duration(card.idle_seconds))
    yield fact("throttled", "throttled_seconds", reasons or "never")
    yield fact("most memory", "peak_used", used, f"{used} taken at most")
    yield fact("hottest", "peak_celsius", hottest, f"{hottest} at most")


def _times(run: RunFigures) -> Iterator[Fact]:
    times = run.times
    yield from _spent("starting", times.seconds_in("starting"))
    yield from _spent("tracing and compiling", times.first_call_seconds)
    if times.call_seconds > 0:
        yield _part(WAITING, times.input_seconds, run.input_share)
        yield from _computing(run)
    yield from _spent("between the calls", times.other_seconds)
    yield from _spent("paused", times.seconds_in("paused"))
    if times.call_seconds > 0 and run.training_parts and run.communication:
        words = f"{steps_in_words(run.communication)}; the others are taken to be like them (≈)"
        yield Fact(TIMES, PROFILED, words)


def _computing(run: RunFigures) -> Iterator[Fact]:
    """Computing and communication separately, which needs profiled steps or a single device."""
    parts, shares = run.training_parts, run.training_shares
    if parts is None or shares is None or run.communication is None:
        why = run.why_not("communication")
        name = "compute" if why == ONE_DEVICE else "compute and transfers"
        yield _part(name, run.times.compute_seconds, run.compute_share)
        yield Fact(TIMES, COMMUNICATION, why)
        return
    for name in ("compute", COMMUNICATION, "idle"):
        yield _part(name, getattr(parts, name), getattr(shares, name), "≈ ")


def _part(name: str, seconds: float, part: float | None, about: str = "") -> Fact:
    return Fact(TIMES, name, f"{about}{spent(seconds)} ({share(part)})", seconds)


def _spent(name: str, seconds: float) -> Iterator[Fact]:
    if seconds > 0:
        yield Fact(TIMES, name, spent(seconds), seconds)


def _checkpoints(run: RunFigures) -> Iterator[Fact]:
    for saved in sorted(run.checkpoints, key=lambda each: (each.step, each.name), reverse=True):
        # At which step stands in its name.
        of, when = saved.name, saved_at(saved.epoch, saved.step).partition(",")[0]
        yield Fact(CHECKPOINTS, "epochs", grouped(saved.epoch), saved.epoch, of, when)
        yield Fact(CHECKPOINTS, "step", grouped(saved.step), saved.step, of)
        if monitored := _monitored(saved):
            yield Fact(CHECKPOINTS, "monitored", monitored, monitored, of, monitored)
        if (found := run.evaluations.get(saved.name)) is not None:
            yield _evaluated(found)
    kept = {saved.name for saved in run.checkpoints}
    for found in run.evaluations.values():
        if found.checkpoint not in kept:
            yield _evaluated(found, "removed since, ")


def _monitored(saved: SavedCheckpoint) -> str:
    known = saved.monitor and saved.value is not None
    value = f"{metric_words(saved.monitor or '')} {metric(saved.value)}" if known else ""
    return ", ".join(filter(None, (value, "best then" if saved.best else "")))


def _evaluated(found: Evaluation, before: str = "") -> Fact:
    known = found.metrics
    metrics = ", ".join(f"{metric_words(name, known)} {metric(known[name])}" for name in known)
    words = f"on the {found.split} split: {metrics}"
    line = f"{before}evaluated {words}"
    return Fact(CHECKPOINTS, "evaluated", words, words, found.checkpoint, line)


def run_lines(run: RunDirectory) -> Iterator[str]:
    """All facts of `run` as lines for a terminal. Raises OSError if its events cannot be read."""
    figures = figures_of(run)
    every = facts(figures)
    yield f"{figures.title}: {figures.summary.standing}"
    for group in GROUPS:
        yield from _lines(group, rows(every, group))
    # With the epochs of the runs that it went on from.
    last = read_history(run).epochs.rows[-_LAST_EPOCHS:]
    yield from _lines(
        "Epochs", [(f"epoch {row.epoch}", metrics_in_words(row.metrics)) for row in last]
    )
    if figures.why is not None:
        yield from _why(figures.why)


def _lines(title: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    found = list(pairs)
    if found and title != RUN:
        yield title
    width = max(_NAMES, *(len(name) for name, _ in found), 0)
    for name, text in found:
        yield f"  {name:<{width}}  {text.replace(chr(10), chr(10) + ' ' * (width + 4))}"


def _why(why: Explanation) -> Iterator[str]:
    yield why.message
    yield from (f"  - {suggestion}" for suggestion in (*why.suggestions, *why.settings))
    if why.details:
        yield from ("", *why.details.splitlines())


def run_document(run: RunDirectory) -> dict[str, Any]:
    """Everything known of `run` as plain JSON values.

    Raises OSError if its events cannot be read.
    """
    history = read_history(run)
    labels = read_labels(run)
    return {
        "run": run.id,
        "number": number_of(run),
        "name": labels.name or plan_name(run),
        "directory": str(run.path),
        "plan": plan_name(run),
        "tags": list(labels.tags),
        "note": labels.note,
        "state": history.state,
        **_explained(run),
        "epoch": history.epoch,
        "epochs": history.epochs_total,
        "step": history.step,
        "steps": history.steps_total,
        "seconds": history.seconds,
        "eta_seconds": history.eta_seconds,
        "samples_per_second": history.samples_per_second,
        "resumed_from": _parent(run),
        "practice": history.practice,
        "hosts": list(hosts_of(history.workers, history.started)),
        "devices": as_dict(history.devices) if history.devices else None,
        "model": as_dict(history.model) if history.model else None,
        "code": [asdict(code) for code in ran_code(history.code.values())],
        "xla": history.by_xla,
        "placement": headline(judged(history.placement)) if history.placement else None,
        "epochs_table": [as_dict(row) for row in history.epochs.rows],
        "metrics": history.finished.metrics if history.finished else None,
        "peak_bytes": {device: memory.peak for device, memory in history.memory.items()},
        "checkpoints": [saved.name for saved in checkpoints(run)],
        "evaluations": [to_builtins(found) for found in evaluations(run).values()],
        "warnings": [warning.message for warning in history.warnings],
    }


def _explained(run: RunDirectory) -> dict[str, Any]:
    why = explained(run)
    return {
        "message": why.message,
        "suggestions": list(why.suggestions),
        "mends": [to_builtins(mend) for mend in why.mends],
        "details": why.details,
    }


def _parent(run: RunDirectory) -> str | None:
    parent = resumed_from(run)
    return parent.run if parent else None
