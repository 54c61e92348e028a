"""The events of a run, as marks and shaded spans on its time axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gpu_studio.common import figures
from gpu_studio.common.figures import whole_duration
from gpu_studio.contract import Checkpoint
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.progress import saved_at
from gpu_studio.runs.reading.series import Array
from gpu_studio.runs.results.run_cards import RunCard, run_cards
from gpu_studio.ui.kit.plots.backdrop import MarkKind, PlotMarks, PlotSpan
from gpu_studio.ui.kit.plots.reduce import Indices
from gpu_studio.ui.train.card_record import CardRecord

JUMP: Final = 2.0
"""A learning rate that at least doubles or halves from one step to the next has jumped.

A schedule glides.
"""
_LEAST_OF_GREATEST: Final = 1e-3
_LEAST_RISE: Final = 0.1
_MOST_CARDS: Final = 4
_TAIL: Final = 4096
"""Newest losses that are looked at at each tick: one that is no number is seldom alone."""


def marks(history: History, record: CardRecord) -> list[PlotMarks]:
    """Return the marks, from the back.

    They are epoch ends, phases that began, existing checkpoints, jumps of the learning rate, errors
    and warnings, and a bad end.
    """
    if history.started is None:
        return []
    found = [
        *_of_training(history, history.started.time),
        *_of_trouble(history, record, history.started.time),
    ]
    return [each for each in found if len(each.times)]


def spans(history: History, record: CardRecord) -> list[PlotSpan]:
    """Return when the run was paused, and when the clocks of its cards were held down."""
    return [*pauses(history), *throttled(history, record)]


def pauses(history: History) -> list[PlotSpan]:
    """Return when the run was paused; an unfinished pause ends with the newest event."""
    if history.started is None:
        return []
    start, found, since = history.started.time, [], None
    for change in history.states:
        if since is not None and change.state != "paused":
            found.append(_pause(since - start, change.time - start))
            since = None
        elif since is None and change.state == "paused":
            since = change.time
    if since is not None:
        found.append(_pause(since - start, max(history.last_time or since, since) - start))
    return found


def throttled(history: History, record: CardRecord) -> list[PlotSpan]:
    """Return when the clocks of the run's cards were held down, and by what."""
    if history.started is None:
        return []
    start = history.started.time
    cards = _cards(history, record)
    return [
        PlotSpan(
            "throttled",
            held.start - start,
            held.end - start,
            _held_words(held.reason, held.start, held.end, who),
        )
        for held in record.events.together(cards)
        for who in [[cards[key] for key in held.cards]]
    ]


def marks_version(history: History, record: CardRecord) -> tuple[object, ...]:
    """Return a value that changes with `marks` or `spans`; cheap to call at each tick."""
    newest = history.checkpoints[-1].name if history.checkpoints else ""
    missing = ~np.isfinite(history.losses.column("loss")[-_TAIL:])
    return (
        history.started is None,
        history.epochs.last,
        len(history.phases),
        (len(history.checkpoints), newest),
        history.warnings[-1] if history.warnings else None,
        (history.states[-1] if history.states else None, history.state),
        len(jumps(history.learning_rates.column("value"))),
        int(np.count_nonzero(missing)),
        round(history.last_time or 0.0) if history.state == "paused" else 0,
        (record.events.revision, len(record.known)),
    )


def jumps(rates: Array) -> Indices:
    """Return the points at which a learning rate has jumped; `rates` has the shape (points,).

    Jumps that are tiny beside the greatest rate of the run are left out, and so is the slow rise of
    a warm-up.
    """
    if len(rates) < 2:
        return np.empty(0, dtype=np.intp)
    before, after, greatest = rates[:-1], rates[1:], float(np.nanmax(rates))
    with np.errstate(over="ignore"):  # a product that is infinite compares as it should
        fell = (after * JUMP <= before) & (before >= _LEAST_OF_GREATEST * greatest)
        rose = (after >= JUMP * before) & (after >= _LEAST_RISE * greatest)
    return np.flatnonzero(fell | rose) + 1


def _unexplained(at: Indices, history: History) -> Indices:
    """Return the jumps at these points without those to the rates that phases began with."""
    times, values = (history.learning_rates.column(name) for name in ("time", "value"))
    for phase in history.phases:
        at = at[~((times[at] >= phase.time) & np.isclose(values[at], phase.learning_rate))]
    return at


def begins_missing(losses: Array) -> Indices:
    """Return the points where runs of non-finite losses, shape (points,), begin."""
    missing = ~np.isfinite(losses)
    return np.flatnonzero(missing & ~np.concatenate(([False], missing[:-1])))


def _cards(history: History, record: CardRecord) -> dict[str, RunCard]:
    """Return the run's cards by the key that samples have.

    They include those of which it has a part: their events concern the part too.
    """
    found = {card.key: card for card in run_cards(history.devices, record.known)}
    for facts in list(record.known.values()):
        for part in facts.instances:
            if part.card in found:
                found.setdefault(facts.card, found[part.card])
    return found


def _of_training(history: History, start: float) -> list[PlotMarks]:
    saved, rates = sorted(history.checkpoints, key=lambda each: each.time), history.learning_rates
    best = next((each for each in reversed(saved) if each.best), None)
    others = [each for each in saved if each is not best]
    values = rates.column("value")
    at = _unexplained(jumps(values), history)
    changes = [(float(values[place - 1]), float(values[place])) for place in at.tolist()]
    return [
        PlotMarks("epoch", history.epochs.times - start, _epoch_words(history)),
        PlotMarks("rate", rates.column("time")[at] - start,
                  lambda number: _rate_words(*changes[number])),
        _mark("phase", [(each.time - start, each.words) for each in history.phases]),
        _mark("checkpoint", [(each.time - start, _saved_words(each)) for each in others]),
        _mark("best", [(best.time - start, _best_words(best))] if best else []),
    ]  # fmt: skip


def _of_trouble(history: History, record: CardRecord, start: float) -> list[PlotMarks]:
    cards = _cards(history, record)
    befell = [each for each in record.events.happened if each.card in cards]
    losses = history.losses
    at = begins_missing(losses.column("loss"))
    steps = losses.column("step")[at]
    warned = [(each.time - start, f"warning: {each.message}") for each in history.warnings]
    xids = [(each.time - start, f"{cards[each.card].label}: {each.words}") for each in befell]
    end = []
    if history.state in ("failed", "lost") and history.last_time is not None:
        words = f"{history.state}: {history.reason}".rstrip(": ")
        end = [(history.last_time - start, words)]

    def missing(number: int) -> str:
        return f"loss is not a number from step {figures.grouped(float(steps[number]))} on"

    return [
        _mark("warning", warned),
        _mark("xid", xids),
        PlotMarks("missing", losses.column("time")[at] - start, missing),
        _mark("error", end),
    ]


def _mark(kind: MarkKind, happened: Sequence[tuple[float, str]]) -> PlotMarks:
    ordered = sorted(happened)
    times = np.array([time for time, _ in ordered], dtype=np.float64)
    return PlotMarks(kind, times, lambda number: ordered[number][1])


def _epoch_words(history: History) -> Callable[[int], str]:
    def words(number: int) -> str:
        row = history.epochs.rows[number]
        reported = [
            f"{name} {figures.metric(value)}"
            for name, value in row.metrics.items()
            if name in ("loss", "val_loss")
        ]
        return ", ".join((f"epoch {figures.grouped(row.epoch)} ends", *reported)).replace(
            "val_loss", "val loss"
        )

    return words


def _rate_words(before: float, after: float) -> str:
    return f"learning rate from {figures.learning_rate(before)} to {figures.learning_rate(after)}"


def _saved_words(saved: Checkpoint) -> str:
    return f"checkpoint {saved_at(saved.epoch, saved.step)}"


def _best_words(saved: Checkpoint) -> str:
    value = f": {figures.metric(saved.value)}" if saved.value is not None else ""
    return f"best checkpoint, {saved_at(saved.epoch, saved.step)}{value}"


def _pause(start: float, end: float) -> PlotSpan:
    return PlotSpan("paused", start, end, f"paused for {whole_duration(end - start)}")


def _held_words(reason: str, start: float, end: float, cards: Sequence[RunCard]) -> str:
    names = ", ".join(card.label for card in cards[:_MOST_CARDS])
    more = f" and {len(cards) - _MOST_CARDS} more" if len(cards) > _MOST_CARDS else ""
    return f"{reason} {figures.clock(start)}–{figures.clock(end)} · {names}{more}"
