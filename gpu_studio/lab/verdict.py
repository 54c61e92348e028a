"""What a study comes to, in words: how many devices are worth it, or which choice is best.

Values in, sentences out. A difference within the noise of the measurements is called that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpu_studio.common.figures import grouped, metric, plural, rounded, share, small_share, span
from gpu_studio.lab.fits import Array, Fit, Law, fit, karp_flatt
from gpu_studio.lab.largest_batch import in_words
from gpu_studio.lab.learning_rates import rule_of_thumb
from gpu_studio.lab.study import Study
from gpu_studio.plan import Plan

NOTHING_YET: Final = "Nothing has been measured yet."
NO_POINT: Final = "No point could be measured."
WORTH: Final = 0.01
"""The fewest devices that come within this share of the best time are recommended."""
_MISFIT: Final = 0.03
"""Where a law is further off than this and than the noise, the measurements are believed."""
_NORMAL: Final = 1.96
_GOOD: Final = 0.75
_STRAGGLES: Final = 1.25
_MOST_BATCH: Final = 64
_SMALL_GAIN: Final = 1.15
"""A smaller gain is given in percent: rounded to two figures, it would read as 1 or 1.1 times."""
_NONE_FASTER: Final = "more are not faster beyond the noise"
_NUMBERS: Final = "no one two three four five six seven eight nine ten".split()  # noqa: SIM905
_ORDINALS: Final = (
    "no first second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class PointGroup:
    """What was measured at one point, a value of each repeat: `x` is the point as a number.

    `rates` are samples a second, `step_seconds` those of a step, `losses` the last loss (that of
    validation where there is one), `memory` the peak bytes by logical device. `computing` has,
    of each run that was profiled, the seconds of a step that each device computes. `failed` says in
    a sentence why it could not be measured.
    """

    label: str
    x: float | None = None
    rates: tuple[float, ...] = ()
    step_seconds: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    memory: dict[str, int] = field(default_factory=dict)
    computing: tuple[Mapping[str, float], ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    failed: str = ""

    @property
    def rate(self) -> float:
        """The mean of the samples a second; NaN if there are none."""
        return float(np.mean(self.rates)) if self.rates else float("nan")

    @property
    def loss(self) -> float:
        """The mean of the losses; NaN if there are none."""
        return float(np.mean(self.losses)) if self.losses else float("nan")

    @property
    def is_sound(self) -> bool:
        """Whether every run that was trained to its end has a last loss that is a number."""
        return 0 < len(self.rates) <= len(self.losses)


@dataclass(frozen=True, slots=True)
class StudyVerdict:
    """The sentence, what more there is to say, the label of the chosen group, and the fits."""

    headline: str
    more: tuple[str, ...] = ()
    chosen: str = ""
    fits: tuple[Fit, ...] = ()
    noise: float | None = None


def verdict_of(
    study: Study, groups: Sequence[PointGroup], batch: int = 0, plan: Plan | None = None
) -> StudyVerdict:
    """Judge what has been measured so far.

    `batch` is the global batch of a strong scaling, and `plan` the plan that is studied.
    """
    largest = tuple(map(in_words, study.largest))
    measured = [group for group in groups if group.rates]
    failed = [
        f"{group.label} could not be measured: {group.failed}"
        for group in groups
        if group.failed and not group.rates
    ]
    if not measured:
        done = bool(groups) and len(failed) == len(groups)
        return StudyVerdict(NO_POINT if done else NOTHING_YET, (*largest, *failed))
    noise = noise_of(measured)
    if study.template.startswith("scaling") and all(group.x for group in measured):
        found = _of_scaling(study, sorted(measured, key=lambda each: each.x or 0), noise, batch)
    elif study.template == "sweep" and any(group.is_sound for group in measured):
        found = _of_sweep([group for group in measured if group.is_sound], noise)
        failed += [
            f"{group.label}: the last loss of {len(group.rates) - len(group.losses)} of "
            f"{plural(len(group.rates), 'run')} is not a number."
            for group in measured
            if not group.is_sound
        ]
    else:
        found = _of_rates(study, measured, noise, plan)
    # Elsewhere a device may compute longer by design: it keeps the variables, or has more layers.
    alike = measured if study.template.startswith("scaling") else []
    late = filter(None, map(straggler, alike))
    return StudyVerdict(
        found.headline, (*largest, *late, *failed, *found.more), found.chosen, found.fits, noise
    )


def noise_of(groups: Sequence[PointGroup]) -> float | None:
    """The relative standard deviation of a measurement, over the repeats of all groups.

    None if nothing was measured twice.
    """
    squares = [(np.asarray(group.rates) / group.rate - 1) ** 2 for group in groups]
    freedom = sum(len(each) - 1 for each in squares)
    if freedom < 1:
        return None
    return math.sqrt(sum(float(each.sum()) for each in squares) / freedom)


def recommended(seconds: Array) -> int:
    """The place of the fewest devices that are as good as the fastest, by the time for a sample."""
    return int(np.argmax(seconds <= seconds.min() * (1 + WORTH)))


def fits_of(study: Study, groups: Sequence[PointGroup]) -> tuple[Fit, ...]:
    """Every law that so many numbers of devices allow, the one that says most first."""
    devices = np.array([group.x for group in groups for _ in group.step_seconds], dtype=float)
    seconds = np.array([value for group in groups for value in group.step_seconds], dtype=float)
    laws: tuple[Law, ...] = (
        ("communication", "amdahl")
        if study.template == "scaling-strong"
        else ("weak communication", "gustafson")
    )
    found = []
    for law in laws:
        try:
            found.append(fit(law, devices, seconds, study.seed))
        except ValueError:
            continue
    return tuple(found)


def straggler(group: PointGroup) -> str:
    """Name the device that computes longest in each step if the others wait for it; else empty.

    It is the same one in every run that was profiled: in a single one of several, it is noise.
    """
    found = [_slowest(each) for each in group.computing]
    devices = {device for device, _, _ in found}
    if len(devices) != 1 or any(longest < usual * _STRAGGLES for _, longest, usual in found):
        return ""
    (device,) = devices
    longest = float(np.median([each for _, each, _ in found]))
    usual = float(np.median([each for _, _, each in found]))
    return (
        f"{group.label}: {device} computes {span(longest)} in a profiled step, the others "
        f"{span(usual)}. Every step waits for {device}."
    )


def _slowest(computing: Mapping[str, float]) -> tuple[str, float, float]:
    """The device that computes longest, its seconds, and the median of the others' seconds.

    Those of a device by itself are infinite: nobody waits for it.
    """
    device, longest = max(computing.items(), key=lambda each: each[1])
    others = [value for name, value in computing.items() if name != device]
    return device, longest, float(np.median(others)) if others else math.inf


def _of_scaling(
    study: Study, groups: Sequence[PointGroup], noise: float | None, batch: int
) -> StudyVerdict:
    devices = np.array([group.x for group in groups], dtype=float)
    rates = np.array([group.rate for group in groups])
    fits = fits_of(study, groups)
    fitted, misfit = _smooth(groups, fits, noise)
    place = recommended(1 / fitted)
    speed = rates / rates[0] * devices[0] if devices[0] > 1 else rates / rates[0]
    slack = _slack(noise, groups)
    if np.all(np.abs(rates / rates[0] - 1) <= slack):
        place = 0
    first = devices_in_words(int(devices[0]))
    if len(groups) == 1:
        head = f"{_capital(first)}: {rounded(rates[0])} samples a second."
    elif place == 0:
        head = _enough(first, devices, rates, slack)
    else:
        head = _faster(int(devices[place]), float(rates[place] / rates[0]), first)
    head = " ".join(filter(None, (head, _gains(devices, rates, slack))))
    more = [*_fit_words(fits), *misfit, _noise_words(noise, slack, study.repeats)]
    if study.template == "scaling-strong" and fits and batch and len(groups) > 1:
        more.append(_batch_words(fits[0], devices, batch))
    implied = karp_flatt(speed, devices)
    if len(groups) > 1 and devices[0] == 1:
        each = ", ".join(
            f"{value:.2f} on {int(count)}"
            for count, value in zip(devices[1:], implied[1:], strict=True)
        )
        more.append(f"The serial part that each implies alone (Karp and Flatt): {each}.")
    return StudyVerdict(head, tuple(filter(None, more)), groups[place].label, fits, noise)


def _enough(first: str, devices: Array, rates: Array, slack: float) -> str:
    gained = float(np.max(rates[1:]) / rates[0] - 1)
    why = f"more are slower, by {share(-gained)} at least"
    if gained >= 0:
        why = f"more gain {share(gained)} at most"
    if abs(gained) <= slack:
        alike = np.all(np.abs(rates[1:] / rates[0] - 1) <= slack)
        why = "the differences are within the noise" if alike else _NONE_FASTER
    return f"{_capital(first)} {'is' if devices[0] == 1 else 'are'} enough: {why}."


def _faster(chosen: int, times: float, first: str) -> str:
    """`Two devices: 1.8 times as fast as one device.`, or by how many percent where that is less.

    The law may recommend devices whose own mean, rounded, is that of fewer, or below it.
    """
    several = _capital(devices_in_words(chosen))
    gain = share(abs(times - 1))
    if gain == share(0.0):
        return f"{several} are no faster than {first}, but the law of all points says they should."
    if times < 1:
        return f"{several} were {gain} slower than {first}, but the law of all points favours them."
    if times < _SMALL_GAIN:
        return f"{several} are {gain} faster than {first}."
    return f"{several}: {times:.2g} times as fast as {first}."


def _smooth(
    groups: Sequence[PointGroup], fits: Sequence[Fit], noise: float | None
) -> tuple[Array, list[str]]:
    """The rate at each group: the law's, or as measured where the law is off. And a word on it."""
    devices = np.array([group.x for group in groups], dtype=float)
    rates = np.array([group.rate for group in groups])
    if not fits:
        return rates, []
    steps = np.array([float(np.mean(group.step_seconds)) for group in groups])
    seconds = fits[0].seconds_at(devices)
    off = np.abs(steps / seconds - 1)
    worst = float(off.max())
    repeats = min(len(group.rates) for group in groups)
    if worst > max(_MISFIT, 3 * (noise or 0.0) / math.sqrt(repeats)):
        return rates, [f"The laws fit badly, {share(worst)} off at worst: go by the points."]
    # Of each run: the product of the means is not the samples of a step where runs differ much.
    samples = [
        float(np.mean(np.asarray(group.rates) * np.asarray(group.step_seconds))) for group in groups
    ]
    return np.array(samples) / seconds, []


def _slack(noise: float | None, groups: Sequence[PointGroup]) -> float:
    """By so much two groups differ by chance alone, in 19 of 20 cases."""
    repeats = min(len(group.rates) for group in groups)
    return _NORMAL * math.sqrt(2 / repeats) * (noise or 0.0)


def _gains(devices: Array, rates: Array, slack: float) -> str:
    words = []
    for place in range(1, len(devices)):
        gain, count = float(rates[place] / rates[place - 1] - 1), int(devices[place])
        single = devices[place] - devices[place - 1] == 1 and count < len(_ORDINALS)
        which = f"the {_ORDINALS[count]}" if single else f"going on to {devices_in_words(count)}"
        if abs(gain) <= slack:
            words.append(f"{which} makes no difference beyond the noise")
        else:
            words.append(f"{which} {'gains' if gain > 0 else 'costs'} {share(abs(gain))}")
    return f"{_capital(', '.join(words))}." if words else ""


def _fit_words(fits: Sequence[Fit]) -> list[str]:
    names = {
        "amdahl": "Amdahl's law",
        "communication": "Amdahl's law with communication",
        "gustafson": "Gustafson's law",
        "weak communication": "Communication alone",
    }
    words = []
    for each in fits:
        parts = []
        if each.serial:
            found = each.serial
            parts.append(f"s = {found.value:.3f}{_between(found.low, found.high, '{:.3f}'.format)}")
        if each.communication:
            found = each.communication
            parts.append(
                f"{span(found.value)} a step for each further device"
                f"{_between(found.low, found.high, span)}"
            )
        words.append(f"{names[each.law]}: {', '.join(parts)}.")
    return words


def _between(low: float, high: float, write: object) -> str:
    assert callable(write)
    return "" if math.isnan(low) else f" (95 %: {write(low)} to {write(high)})"


def _noise_words(noise: float | None, slack: float, repeats: int) -> str:
    if noise is None and repeats > 1:
        return "How much a measurement varies is known once a point has been measured twice."
    if noise is None:
        return "Each point was measured once, so the noise is not known: use repeats = 3."
    return f"A measurement varies by {small_share(noise)}; less than {small_share(slack)} is noise."


def _batch_words(law: Fit, devices: Array, batch: int) -> str:
    """With which global batch the most devices measured would be used well, if with any."""
    most = float(devices[-1])
    values = law.coefficients
    serial, divided = float(values[0]), float(values[1])
    added = float(values[2]) * (most - 1) if len(values) > 2 else 0.0
    factor = 1
    while factor <= _MOST_BATCH:
        speed = (serial + factor * divided) / (serial + factor * divided / most + added)
        if speed >= _GOOD * most:
            break
        factor *= 2
    if factor in (1, 2 * _MOST_BATCH):
        return ""
    several = _capital(devices_in_words(int(most)))
    return (
        f"{several} would be {speed:.2g} times as fast as one with a batch "
        f"of {grouped(batch * factor)}, if what does not divide does not grow with it."
    )


def _of_rates(
    study: Study, groups: Sequence[PointGroup], noise: float | None, plan: Plan | None
) -> StudyVerdict:
    ranked = sorted(groups, key=lambda each: -each.rate)
    best, slack = ranked[0], _slack(noise, groups)
    kind = "strategy " if study.template == "strategies" else ""
    head = f"{_capital(kind + best.label)} is the fastest: {rounded(best.rate)} samples a second."
    alike = [each.label for each in ranked[1:] if best.rate / each.rate - 1 <= slack]
    behind = [each for each in ranked[1:] if each.label not in alike]
    if alike and noise is not None:
        head += f" Within the noise of it: {'; '.join(alike)}."
    if behind:
        ahead = best.rate / behind[0].rate - 1
        head += f" It is {share(ahead)} ahead of {behind[0].label}."
    more = list[str]()
    if study.template == "batch" and plan is not None and best.x:
        more.append(rule_of_thumb(plan, int(best.x)))
    more.append(_noise_words(noise, slack, study.repeats))
    losses = [each.loss for each in groups if each.losses]
    if study.template == "strategies" and len(losses) > 1:
        apart = max(losses) - min(losses)
        same = f"The last losses are the same, {metric(losses[0])}."
        differ = f"The last losses differ by {metric(apart)} at most, of {metric(losses[0])}."
        more.append(differ if apart > 0 else same)
    return StudyVerdict(head, tuple(more), best.label, (), noise)


def _of_sweep(groups: Sequence[PointGroup], noise: float | None) -> StudyVerdict:
    ranked = sorted(groups, key=lambda each: each.loss)
    best = ranked[0]
    spread = float(np.std(best.losses, ddof=1)) if len(best.losses) > 1 else None
    apart = f" ± {metric(spread)}" if spread is not None else ""
    head = f"{_capital(best.label)} has the lowest loss: {metric(best.loss)}{apart}."
    if len(ranked) > 1:
        second = ranked[1]
        gap = second.loss - best.loss
        if spread is not None and gap <= _NORMAL * math.sqrt(2 / len(best.losses)) * spread:
            head += f" That {second.label} has {metric(second.loss)} is within the spread."
        else:
            head += f" Next is {second.label}, with {metric(second.loss)}."
    more = (
        ()
        if spread is not None
        else (
            "Each point was trained with one seed: add an axis training.seed to know the spread.",
        )
    )
    return StudyVerdict(head, more, best.label, (), noise)


def devices_in_words(count: int) -> str:
    """So many devices: `two devices`, `one device`, `12 devices`."""
    words = _NUMBERS[count] if count < len(_NUMBERS) else grouped(count)
    return f"{words} device{'' if count == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
