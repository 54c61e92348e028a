"""Fit laws of scaling to measured times of steps, with bootstrap intervals.

Amdahl 1967 (a serial part limits a fixed problem), Gustafson 1988 (the problem grows with the
devices), Karp and Flatt 1990 (the serial part that each measurement alone implies), and Amdahl's
with what each further device adds to every step. All are linear in their coefficients. Noise of
times is relative, so residuals are too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Law = Literal["amdahl", "communication", "gustafson", "weak communication"]
RESAMPLES: Final = 499
_LOW, _HIGH = 2.5, 97.5
_SWEEPS: Final = 3
_EXACT: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FittedNumber:
    """A fitted number with its 95 % interval; the ends are NaN where too little was measured."""

    value: float
    low: float = float("nan")
    high: float = float("nan")


@dataclass(frozen=True, slots=True)
class Fit:
    """A law fitted to times of steps in seconds.

    `serial` is the part (0 to 1) of a step that more devices do not shorten, `communication` the
    seconds that each further device adds to a step; None where the law has no such thing.
    `coefficients` are those of `seconds_at`, `drawn` the same for each resample, of shape
    (resamples, coefficients).
    """

    law: Law
    serial: FittedNumber | None
    communication: FittedNumber | None
    coefficients: Array
    drawn: Array

    def seconds_at(self, devices: Array) -> Array:
        """The seconds of a step on so many devices, of shape (devices,)."""
        return _seconds(self.law, devices, self.coefficients)

    def band_at(self, devices: Array) -> tuple[Array, Array]:
        """The ends of the 95 % band of `seconds_at`; NaN where there is none."""
        if not len(self.drawn):
            return np.full(len(devices), np.nan), np.full(len(devices), np.nan)
        curves = np.stack([_seconds(self.law, devices, each) for each in self.drawn])
        low, high = np.percentile(curves, [_LOW, _HIGH], axis=0)
        return low, high


def karp_flatt(speed_up: Array, devices: Array) -> Array:
    """The serial part that a speed-up on so many devices implies; NaN for one device.

    (1/ψ - 1/p) / (1 - 1/p): Karp and Flatt, CACM 33(5), 1990.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Array = (1 / speed_up - 1 / devices) / (1 - 1 / devices)
    return np.where(devices > 1, result, np.nan)


def fit(law: Law, devices: Array, seconds: Array, seed: int = 0) -> Fit:
    """Fit a law to times of steps: both arrays have shape (measurements,).

    "amdahl" and "communication" are of a fixed global batch; "gustafson" and "weak communication"
    of a fixed batch per replica. Raises ValueError where fewer numbers of devices were measured
    than the law has coefficients.
    """
    columns = _columns(law, devices)
    if len(np.unique(devices)) < columns.shape[1]:
        raise ValueError(f"{columns.shape[1]} different numbers of devices are needed")
    measured = devices / seconds if law == "gustafson" else seconds
    scaled, free = _weighted(columns, measured)
    drawn, spread = _resampled(scaled, free, seed)
    kept = _not_negative(scaled)
    serial = communication = None
    if law in ("amdahl", "communication"):
        part = kept[0] / ((kept[0] + kept[1]) or 1.0)
        low, high = _interval(_share, free, drawn, spread)
        serial = FittedNumber(float(part), *_within(low, high, 1.0))
    elif law == "gustafson":
        low, high = _interval(_quotient, free, drawn, spread)
        part = min(1.0, kept[1] / kept[0]) if kept[0] > 0 else 1.0
        serial = FittedNumber(float(part), *_within(low, high, 1.0))
    if law.endswith("communication"):
        low, high = _interval(_last, free, drawn, spread)
        communication = FittedNumber(float(kept[-1]), *_within(low, high, float("inf")))
    return Fit(law, serial, communication, kept, drawn)


def _columns(law: Law, devices: Array) -> Array:
    """What each coefficient is multiplied by, of shape (measurements, coefficients).

    A ring's bandwidth term, in (N - 1)/N, could not be separated from the serial part; latency
    and a sum at one place grow with N - 1.
    """
    one = np.ones_like(devices)
    if law == "amdahl":
        return np.stack([one, 1 / devices], axis=1)
    if law == "communication":
        return np.stack([one, 1 / devices, devices - 1], axis=1)
    if law == "gustafson":  # of replica batches a second: x(N - (N - 1)s)
        return np.stack([devices, 1 - devices], axis=1)
    return np.stack([one, devices - 1], axis=1)


def _seconds(law: Law, devices: Array, coefficients: Array) -> Array:
    found: Array = _columns(law, devices) @ coefficients
    return devices / found if law == "gustafson" else found


def _weighted(columns: Array, measured: Array) -> tuple[Array, Array]:
    """The columns for relative residuals, and the free least-squares coefficients.

    Each row is divided by its fitted value, found by repetition, so that the target is 1.
    """
    scale = measured
    for _ in range(_SWEEPS):
        free = np.linalg.lstsq(columns / scale[:, None], measured / scale, rcond=None)[0]
        fitted = columns @ free
        scale = np.where(fitted > 0, fitted, measured)
    scaled = columns / scale[:, None]
    target = measured / scale
    # Both are divided by the target as well: what follows has a target of 1 and small residuals.
    whole: Array = np.concatenate([scaled, target[:, None]], axis=1)
    return whole, np.asarray(free, dtype=np.float64)


def _not_negative(scaled: Array) -> Array:
    """Least squares without negative coefficients: the best of all subsets of so few columns."""
    columns, target = scaled[:, :-1], scaled[:, -1]
    count = columns.shape[1]
    best, least = np.zeros(count), float("inf")
    every: Array = np.asarray(np.linalg.lstsq(columns, target, rcond=None)[0], np.float64)
    if every.min() >= 0:
        return every
    for mask in range(1, 2**count):
        kept = [place for place in range(count) if mask >> place & 1]
        some = np.linalg.lstsq(columns[:, kept], target, rcond=None)[0]
        error = float(np.sum((target - columns[:, kept] @ some) ** 2))
        if some.min() >= 0 and error < least - _EXACT * len(target):
            best, least = np.zeros(count), error
            best[kept] = some
    return best


@dataclass(frozen=True, slots=True)
class _Spread:
    """The covariance of the coefficients for a variance of 1, and the variances of residuals."""

    covariance: Array
    own: float
    drawn: Array


def _resampled(scaled: Array, free: Array, seed: int) -> tuple[Array, _Spread]:
    """The coefficients for resampled residuals, corrected for their leverage and centred."""
    columns, target = scaled[:, :-1], scaled[:, -1]
    count, size = columns.shape
    solver = np.linalg.pinv(columns)
    covariance: Array = solver @ solver.T
    residuals = target - columns @ free
    freedom = count - size
    if freedom < 1:
        return np.empty((0, size)), _Spread(covariance, 0.0, np.empty(0))
    leverage = np.clip(np.sum(columns * solver.T, axis=1), 0.0, 0.999)
    corrected = residuals / np.sqrt(1 - leverage)
    corrected = corrected - corrected.mean()
    places = np.random.default_rng(seed).integers(count, size=(RESAMPLES, count))
    noisy = columns @ free + corrected[places]
    drawn: Array = noisy @ solver.T
    errors = noisy - drawn @ columns.T
    variances = np.sum(errors**2, axis=1) / freedom
    return drawn, _Spread(covariance, float(residuals @ residuals / freedom), variances)


def _share(values: Array) -> tuple[Array, Array]:
    """a/(a + b), and its derivatives, for coefficients of shape (…, coefficients)."""
    a, b = values[..., 0], values[..., 1]
    slope = np.zeros_like(values)
    slope[..., 0], slope[..., 1] = b / (a + b) ** 2, -a / (a + b) ** 2
    return a / (a + b), slope


def _quotient(values: Array) -> tuple[Array, Array]:
    """b/a, and its derivatives."""
    a, b = values[..., 0], values[..., 1]
    slope = np.zeros_like(values)
    slope[..., 0], slope[..., 1] = -b / a**2, 1 / a
    return b / a, slope


def _last(values: Array) -> tuple[Array, Array]:
    slope = np.zeros_like(values)
    slope[..., -1] = 1.0
    return values[..., -1], slope


def _interval(of: Any, free: Array, drawn: Array, spread: _Spread) -> tuple[float, float]:
    """A 95 % interval by the studentised bootstrap (Efron and Tibshirani 1993, chapter 12).

    Percentiles of the resamples alone cover too little with a handful of measurements.
    """
    if not len(drawn):
        return float("nan"), float("nan")
    value, slope = of(free)
    values, slopes = of(drawn)
    error = np.sqrt(spread.own * (slope @ spread.covariance @ slope))
    within = np.sum(slopes @ spread.covariance * slopes, axis=1)
    errors = np.sqrt(np.maximum(spread.drawn * within, 0.0))
    if error <= _EXACT * max(abs(float(value)), 1e-30) or not np.all(errors > 0):
        return float(value), float(value)
    low, high = np.percentile((values - value) / errors, [_LOW, _HIGH])
    return float(value - high * error), float(value - low * error)


def _within(low: float, high: float, most: float) -> tuple[float, float]:
    return float(np.clip(low, 0.0, most)), float(np.clip(high, 0.0, most))
