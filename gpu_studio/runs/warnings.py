"""Warnings about a live run: rules for when each begins and ends.

A rule begins at one threshold and ends at another, and its warning stays for a while after its
cause was last seen, so that values near a threshold do not make it flicker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.plan import strategy_named
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_times import KNOWN_VERSION

Level = Literal["warning", "error"]
LINGER_SECONDS: Final = 10.0
"""What is over stays for so long: it may begin again."""
MOST_REPORTED: Final = 20
_TAIL: Final = 4096


@dataclass(frozen=True, slots=True)
class Concern:
    """A warning. `key` stays the same as long as its cause does.

    It has held since `since`, and was last seen at `seen`, in seconds since 1970 (UTC). The trainer
    itself `reported` it.
    """

    key: str
    text: str
    suggestion: str
    level: Level
    since: float
    seen: float
    reported: bool = False

    @property
    def said(self) -> str:
        """The whole warning on one line."""
        return f"{self.text} {self.suggestion}".rstrip()


@dataclass(frozen=True, slots=True)
class CardSight:
    """A card's recent figures in the run. `label` names the logical devices on it: `GPU:0`.

    `utilisation` is its mean in percent over the last `UTILISATION_SECONDS`; None if it was not
    measured throughout. `held_by` says what limited its clocks throughout, empty if nothing.
    `trains`: it holds a replica. `lost` says why the card answers no more; empty if it answers.
    """

    label: str
    utilisation: float | None = None
    held_by: tuple[str, ...] = ()
    trains: bool = True
    lost: str = ""


@dataclass(frozen=True, slots=True)
class WarningFacts:
    """The rules' input at the time `now`; `held` are the keys of the previous warnings.

    `disk_full` says that the run's disk has no space left.
    """

    history: History
    cards: Sequence[CardSight]
    now: float
    held: Collection[str] = ()
    disk_full: bool = False

    def over(self, value: float, begin: float, key: str, end: float) -> bool:
        """Whether `value` is high enough for `key` to begin or, if it holds already, not to end."""
        return value >= (end if key in self.held else begin)


Rule = Callable[[WarningFacts], Iterator[Concern]]


def concerns_of(
    history: History,
    cards: Sequence[CardSight] = (),
    *,
    now: float,
    before: Sequence[Concern] = (),
    disk_full: bool = False,
) -> tuple[Concern, ...]:
    """All warnings at `now`, the gravest and then the newest first; none once the run has ended.

    `before` is the previous result; `disk_full` is as in `WarningFacts`.
    """
    if history.ended:
        return ()
    known = {concern.key: concern for concern in before}
    sight = WarningFacts(history, cards, now, frozenset(known), disk_full)
    found = {concern.key: concern for rule in RULES for concern in rule(sight)}
    standing = [
        replace(each, since=known[key].since) if key in known else each
        for key, each in found.items()
    ]
    lingering = [
        each for each in before if each.key not in found and now - each.seen < LINGER_SECONDS
    ]
    return tuple(
        sorted(
            (*standing, *lingering), key=lambda each: (each.level != "error", -each.since, each.key)
        )
    )


def not_finite(sight: WarningFacts) -> Iterator[Concern]:
    """A loss that is not a number: training will not recover.

    Only losses of this run count. A resumed run begins after step 0 and has no loss until its first
    call has ended, which means nothing.
    """
    history = sight.history
    if history.loss is not None or history.started is None:
        return
    losses, steps = (history.losses.column(name)[-_TAIL:] for name in ("loss", "step"))
    missing = steps[~np.isfinite(losses) & (steps > history.started.from_step)]
    if len(missing):
        yield _found(
            sight,
            "not finite",
            f"The loss is not a number from step {grouped(int(missing[0]))} on.",
            "Stop, and go on from the last checkpoint with a smaller training.learning_rate, "
            "or with clipped gradients.",
            "error",
        )


INPUT_BEGINS, INPUT_ENDS, INPUT_SECONDS = 0.25, 0.15, 10.0


def input_bound(sight: WarningFacts) -> Iterator[Concern]:
    """Devices that wait for samples which are not ready in memory yet."""
    steady = sight.history.pace.steady
    if sight.history.state != "running" or steady.seconds < INPUT_SECONDS:
        return
    share = steady.input_seconds / steady.seconds
    if sight.over(share, INPUT_BEGINS, "input", INPUT_ENDS):
        yield _found(
            sight,
            "input",
            f"{figures.share(share)} of the training time goes by waiting for data.",
            "Samples are made ready more slowly than they are trained: keep the data in memory, "
            "or on a faster disk.",
        )


MOST_COMMUNICATION, COMMUNICATION_SECONDS = 0.4, 10.0
_LESS_THAN_RING = (
    'On slices of one device distribution.all_reduce = "reduction_to_one_device" copies less.'
)


def communication_bound(sight: WarningFacts) -> Iterator[Concern]:
    """Devices that wait for communication, in the profiled steps."""
    reported, devices = sight.history.communication, sight.history.devices
    if (
        reported is None
        or reported.version > KNOWN_VERSION
        or devices is None
        or sight.history.state != "running"
    ):
        return
    share = reported.exposed / reported.seconds if reported.seconds > 0 else 0.0
    if share > MOST_COMMUNICATION and sight.history.pace.steady.seconds >= COMMUNICATION_SECONDS:
        less = strategy_named(devices.strategy).less_communication
        advice = _LESS_THAN_RING if devices.all_reduce == "ring" else less
        yield _found(
            sight,
            "communication",
            f"{figures.share(share)} of a step goes by in communication between the devices.",
            f"Train on larger batches, on fewer devices, or on one. {advice}".rstrip(),
        )


FULL_BEGINS, FULL_ENDS = 0.92, 0.88


def memory_near_limit(sight: WarningFacts) -> Iterator[Concern]:
    """Logical devices whose memory is nearly full."""
    for device, series in sight.history.memory.items():
        latest = series.latest
        if latest is None or not latest.limit:
            continue
        share, key = latest.used / latest.limit, f"memory {device}"
        if sight.over(share, FULL_BEGINS, key, FULL_ENDS):
            yield _found(
                sight,
                key,
                f"{device} uses {figures.share(share)} of its memory limit.",
                "A larger batch may not fit: make training.batch_size smaller, or its slice "
                "larger.",
            )


UTILISATION_SECONDS = 20.0
IDLE_BEGINS, IDLE_ENDS, BUSY_BEGINS, BUSY_ENDS = 10.0, 20.0, 40.0, 30.0


def replica_idle(sight: WarningFacts) -> Iterator[Concern]:
    """A card with a replica that idles while others work.

    Stages of a placed model wait by nature.
    """
    devices = sight.history.devices
    if (
        sight.history.state != "running"
        or devices is None
        or strategy_named(devices.strategy).places_layers
    ):
        return
    measured = [
        (card, card.utilisation)
        for card in sight.cards
        if card.trains and card.utilisation is not None
    ]
    for card, percent in measured:
        others = [other for one, other in measured if one is not card]
        key = f"idle {card.label}"
        most, least = (IDLE_ENDS, BUSY_ENDS) if key in sight.held else (IDLE_BEGINS, BUSY_BEGINS)
        if others and percent <= most and float(np.median(others)) >= least:
            yield _found(
                sight,
                key,
                f"{card.label} is at {figures.percent(percent)}, "
                f"the others at {figures.percent(float(np.median(others)))}.",
                "Look whether another program holds it back, and whether each "
                "replica gets samples enough.",
            )


_REMEDIES = {
    "power": (
        "It has reached its power limit: raise it with nvidia-smi -pl, if the supply and the "
        "cooling allow that."
    ),
    "temperature": (
        "It is too hot: look after fans, dust and the air around it, or lower its power limit."
    ),
    "slowdown": "Power supply or cooling give out: look at both.",
}


def throttled(sight: WarningFacts) -> Iterator[Concern]:
    """Cards whose clocks are limited by something that nobody chose."""
    for card in sight.cards:
        if card.held_by:
            words = ", ".join(card.held_by)
            advice = (text for sign, text in _REMEDIES.items() if sign in words)
            yield _found(
                sight,
                f"throttled {card.label}",
                f"{card.label} is slowed down by: {words}.",
                next(advice, ""),
            )


def card_lost(sight: WarningFacts) -> Iterator[Concern]:
    """Cards that answered before and answer no more: what runs on them hangs or fails."""
    for card in sight.cards:
        if card.lost:
            yield _found(
                sight,
                f"lost {card.label}",
                f"The card of {card.label} is {card.lost}.",
                "Its figures end there. If no step ends any more, stop the run and go on from its "
                "last checkpoint without this card.",
                "error",
            )


CALLS_MISSED, LEAST_QUIET, LEAST_AT_END = 10, 20.0, 120.0


def disk_is_full(sight: WarningFacts) -> Iterator[Concern]:
    """No space for events: the trainer continues, and at its end waits to write the last ones."""
    if sight.disk_full:
        yield _found(
            sight,
            "disk full",
            "The disk that holds this run is full: it trains on, and waits for space to write its "
            "events, the last too.",
            "Free space on that disk (df -h). A stop ends it at once, "
            "without what could not be written.",
        )


def no_progress(sight: WarningFacts) -> Iterator[Concern]:
    """A live trainer that has reported no step for ten times as long as a call takes."""
    history, steady = sight.history, sight.history.pace.steady
    if history.state != "running" or history.pace.last is None or not len(steady):
        return
    quiet = sight.now - _last_progress(history)
    if quiet >= _patience(history, steady.seconds / len(steady)):
        yield _found(
            sight,
            "no progress",
            f"No step has ended for {round(quiet)} s; a call usually takes "
            f"{steady.seconds / len(steady):.2g} s.",
            "Look whether the disk is full (df -h), at trainer.log, and at what else this machine "
            "does. Stop waits for the call under way.",
        )


def reported_by_trainer(sight: WarningFacts) -> Iterator[Concern]:
    """The trainer's own warnings, each once.

    Those of a reader (`seq` is -1) have their own rule.
    """
    first: dict[str, Concern] = {}
    for event in list(sight.history.warnings)[-MOST_REPORTED:]:
        if event.seq >= 0:
            key = f"reported {event.message}"
            concern = Concern(
                key,
                event.message,
                event.suggestion,
                "warning",
                event.time,
                sight.now,
                reported=True,
            )
            first.setdefault(key, concern)
    yield from first.values()


RULES: Final[tuple[Rule, ...]] = (
    not_finite,
    card_lost,
    disk_is_full,
    no_progress,
    memory_near_limit,
    replica_idle,
    input_bound,
    communication_bound,
    throttled,
    reported_by_trainer,
)


def _found(
    sight: WarningFacts, key: str, text: str, suggestion: str, level: Level = "warning"
) -> Concern:
    return Concern(key, text, suggestion, level, sight.now, sight.now)


def _last_progress(history: History) -> float:
    """When training last progressed: a call, the end of an epoch, a checkpoint, a new state."""
    last, epoch = history.pace.last, history.epochs.last
    saved = [one.time for one in history.checkpoints[-1:]]
    states = [history.states[-1].time] if history.states else []
    return max(
        [0.0, *([last.time] if last else []), *([epoch.time] if epoch else []), *saved, *states]
    )


def _patience(history: History, call: float) -> float:
    """The longest normal time without a step.

    Epochs end with validation, compiled the first time.
    """
    patience = max(LEAST_QUIET, CALLS_MISSED * call)
    if (
        history.model
        and history.model.steps_per_epoch
        and history.step % history.model.steps_per_epoch == 0
    ):
        return max(patience, LEAST_AT_END, CALLS_MISSED * (history.pace.usual_gap or 0.0))
    return patience
