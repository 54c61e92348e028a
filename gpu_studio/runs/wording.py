"""Figures as a person reads them: the same on the screen and in the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from gpu_studio.thousands import grouped

UNKNOWN = "–"
_LEAST_WRITTEN_OUT, _GREATEST_WRITTEN_OUT = 1e-4 * (1 - 1e-9), 1e5
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


def duration(seconds: float | None) -> str:
    """Write a time as `whole_duration` does, with one more digit below ten seconds: `0.4 s`; `–` if it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    return f"{max(0.0, seconds):.1f} s" if seconds < 9.95 else whole_duration(seconds)


def whole_duration(seconds: float) -> str:
    """Write a time in its two greatest units, rounded to the second: `41 s`, `6 min 02 s`, `3 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def spent(seconds: float) -> str:
    """Write a time that may be of any length: as `span` below a second, as `duration` from there on."""
    return span(seconds) if 0 < seconds < 0.95 else duration(seconds)


def moment(seconds: float) -> str:
    """When something was, in local time: `14:02` today, else with the date, and with the year if it was another."""
    then, now = datetime.fromtimestamp(seconds).astimezone(), datetime.now().astimezone()
    if then.date() == now.date():
        return f"{then:%H:%M}"
    return f"{then:%d %b %H:%M}" if then.year == now.year else f"{then:%d %b %Y}"


def size(amount: float | None) -> str:
    """Write an amount of memory in binary units: `512 B`, `1.5 MiB`, `12.0 GiB`; `–` if it is not known."""
    if amount is None:
        return UNKNOWN
    power = 0
    while amount >= 1024 and power < len(_SIZES) - 1:
        amount, power = amount / 1024, power + 1
    return f"{amount:.1f} {_SIZES[power]}" if power else f"{amount:.0f} B"


def metric(value: float | None) -> str:
    """Write a loss or another metric with four digits that mean something: `0.1234`, `1.2e-05`; `–` without one."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}"
    return f"{value:.4f}"


def rate(per_second: float | None) -> str:
    """Write a throughput: `12,345 samples/s`; `–` if it is not known."""
    if per_second is None or not math.isfinite(per_second):
        return UNKNOWN
    return f"{grouped(float(per_second))} samples/s" if per_second >= 10 else f"{per_second:.2g} samples/s"


def span(seconds: float | None) -> str:
    """Write a short time, as that of a step: `820 µs`, `4.10 ms`, `1.25 s`; `–` if it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    amount, unit = (seconds, "s") if seconds >= 0.9995 else (seconds * 1e3, "ms")
    return f"{_three_digits(amount)} {unit}" if amount >= 0.9995 else f"{_three_digits(amount * 1e3)} µs"


def energy(joules: float | None) -> str:
    """Write an energy, from a kilojoule on with its watt hours: `812 J`, `40.2 kJ (11.2 Wh)`; `–` if not known."""
    if joules is None or not math.isfinite(joules):
        return UNKNOWN
    if joules < 999.5:
        return f"{_three_digits(joules)} J"
    amount, unit = (joules / 1e3, "kJ") if joules < 999_500 else (joules / 1e6, "MJ")
    hours, per = (joules / 3600, "Wh") if joules < 3600 * 999.5 else (joules / 3.6e6, "kWh")
    return f"{_three_digits(amount)} {unit} ({_three_digits(hours)} {per})"


def alike(values: Sequence[float]) -> list[str]:
    """Write round values of one logarithmic axis all in one way: `0.001`, `1`, `10,000`, or else `1e-6`, `1`, `1e3`.

    They are written out where the least and the greatest can be read so.
    """
    if all(_LEAST_WRITTEN_OUT <= value < _GREATEST_WRITTEN_OUT for value in values):
        return [grouped(round(value)) if value >= 1 else f"{value:g}" for value in values]
    return [_with_exponent(value) for value in values]


def _with_exponent(value: float) -> str:
    digits, power = f"{value:.0e}".split("e")
    return f"{digits}e{int(power)}" if int(power) else digits


def share(part: float | None) -> str:
    """Write a part of a whole: `12 %`; `–` if it is not known."""
    return UNKNOWN if part is None else f"{part:.0%}".replace("%", " %")


def plural(count: int, word: str) -> str:
    """Write a number of things: `1 step`, `2,300 steps`."""
    return f"{grouped(count)} {word}" if count == 1 else f"{grouped(count)} {word}s"


def _three_digits(amount: float) -> str:
    if amount >= 999.5:
        return grouped(float(amount))
    return f"{amount:#.3g}".rstrip(".") if amount >= 1e-3 else f"{amount:.3g}"
