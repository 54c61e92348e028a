"""What a study is drawn as: points with their spread, a fitted curve, and where a step's time goes.

Values in, values out; the window and the report draw the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpu_studio.common.figures import grouped, metric, rounded
from gpu_studio.lab.fits import Array, Fit
from gpu_studio.lab.study import SEED, Study
from gpu_studio.lab.verdict import PointGroup, StudyVerdict

CURVE_POINTS: Final = 80
_LOG_FROM: Final = 9.0
"""Numbers that are so many times as far apart are drawn by their logarithm."""
LAWS: Final[Mapping[str, str]] = {
    "amdahl": "Amdahl",
    "communication": "Amdahl with communication",
    "gustafson": "Gustafson",
    "weak communication": "communication alone",
}


@dataclass(frozen=True, slots=True)
class PicturePoint:
    """A group at `x` (its place, where points stand by name), with a value of each repeat."""

    label: str
    x: float
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the repeats."""
        return sum(self.values) / len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class PictureCurve:
    """A curve: `x` and `y`, and the ends of its 95 % band if it has one, of shape (points,)."""

    name: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StudyPicture:
    """Points over a number or, with `by_name`, one below the other.

    `unit` follows every value; values begin at zero unless they are `losses`. With `log` the
    numbers along x are drawn by their logarithm. `axis` says what x is.
    """

    title: str
    axis: str
    points: tuple[PicturePoint, ...]
    unit: str = ""
    by_name: bool = False
    losses: bool = False
    log: bool = False
    fitted: PictureCurve | None = None
    ideal: PictureCurve | None = None

    def written(self, value: float) -> str:
        """A value in words: `1.88 ×`, `36,500`, `0.1234`."""
        if self.losses:
            return metric(value)
        return f"{value:.2f}{self.unit}" if self.unit else rounded(value)

    @property
    def words(self) -> str:
        """The picture for those who do not see it."""
        return "; ".join(f"{each.label}: {self.written(each.mean)}" for each in self.points)


def picture_of(
    study: Study, groups: Sequence[PointGroup], verdict: StudyVerdict
) -> StudyPicture | None:
    """The picture of what has been measured so far; None if nothing has."""
    sound = [each for each in groups if each.is_sound]
    losses = study.template == "sweep" and bool(sound)
    measured = sound if losses else [each for each in groups if each.rates]
    if not measured:
        return None
    axes = [axis for axis in study.axes if axis.name != SEED]
    axis = axes[0].name if axes else ""
    if study.template.startswith("scaling") and all(each.x for each in measured):
        return _speed_up(sorted(measured, key=lambda each: each.x or 0), verdict)
    title = "Loss" if losses else "Samples a second"
    by_name = len(axes) != 1 or any(each.x is None for each in measured)
    if not by_name:
        measured.sort(key=lambda each: each.x or 0)
    points = tuple(
        PicturePoint(
            each.label,
            float(place) if by_name or each.x is None else each.x,
            each.losses if losses else each.rates,
        )
        for place, each in enumerate(measured)
    )
    least, most = min(each.x for each in points), max(each.x for each in points)
    log = not by_name and least > 0 and most / least >= _LOG_FROM
    return StudyPicture(title, axis, points, by_name=by_name, losses=losses, log=log)


def _speed_up(groups: Sequence[PointGroup], verdict: StudyVerdict) -> StudyPicture:
    """Speed-up over the fewest devices, with the law and its band, and the ideal line."""
    base = groups[0].rate
    points = tuple(
        PicturePoint(each.label, each.x or 0.0, tuple(rate / base for rate in each.rates))
        for each in groups
    )
    x = np.array([each.x for each in points])
    ideal = PictureCurve("ideal", x, x / x[0]) if len(points) > 1 else None
    fitted = _fitted(verdict.fits[0], x) if verdict.fits and len(points) > 1 else None
    return StudyPicture("Speed-up", "devices", points, " ×", fitted=fitted, ideal=ideal)


def _fitted(law: Fit, x: Array) -> PictureCurve:
    steps = np.linspace(x[0], x[-1], CURVE_POINTS)
    first = float(law.seconds_at(x[:1])[0])
    # In weak scaling the batch, and so the samples of a step, grow with the devices.
    grows = steps / x[0] if "weak" in law.law or law.law == "gustafson" else np.ones_like(steps)
    low, high = law.band_at(steps)
    drawn = grows * first / law.seconds_at(steps)
    if not np.isfinite(low).all():
        return PictureCurve(LAWS[law.law], steps, drawn)
    # The fewest seconds are the greatest speed-up.
    ends = (grows * first / high, grows * first / low)
    return PictureCurve(LAWS[law.law], steps, drawn, *ends)


@dataclass(frozen=True, slots=True)
class StepParts:
    """Where a step's time goes at one group: the seconds of each part, by its name."""

    label: str
    parts: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """The seconds of a step."""
        return sum(self.parts.values())


def step_parts(groups: Sequence[PointGroup]) -> list[StepParts]:
    """The parts of a step at each group; none where they were not measured."""
    found = []
    for each in groups:
        if each.step_seconds:
            step = sum(each.step_seconds) / len(each.step_seconds)
            found.append(StepParts(each.label, {k: v * step for k, v in each.shares.items()}))
    return found


HEADINGS: Final = (
    "point", "x", "repeat", "samples_per_second", "step_seconds", "loss", "why",
)  # fmt: skip


def rows_of(groups: Sequence[PointGroup]) -> Iterator[tuple[str | float, ...]]:
    """A row for each repeat of each group, under HEADINGS; what is not known is empty."""
    for each in groups:
        if not each.rates:
            yield (each.label, _or_empty(each.x), "", "", "", "", each.failed)
        for place, rate in enumerate(each.rates):
            losses = each.losses if each.is_sound else ()  # which run had which is not known
            step, loss = (_at(some, place) for some in (each.step_seconds, losses))
            yield (each.label, _or_empty(each.x), place + 1, rate, step, loss, "")


def _at(values: Sequence[float], place: int) -> str | float:
    return values[place] if place < len(values) else ""


def _or_empty(value: float | None) -> str | float:
    return "" if value is None else value


def spread_of(group: PointGroup) -> float | None:
    """Half the way from the least rate to the greatest, of the mean; None with one repeat."""
    if len(group.rates) < 2:
        return None
    return (max(group.rates) - min(group.rates)) / 2 / group.rate


def in_figures(value: float) -> str:
    """A number of an axis as it is read: `3`, `1,024`, `0.001`."""
    return grouped(int(value)) if value == int(value) else f"{value:g}"
