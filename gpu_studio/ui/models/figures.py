"""Figures of a run as a person reads them: losses, metrics, rates, bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from gpu_studio.thousands import grouped

UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
NOT_A_NUMBER = "not a number"


def value(number: float | None) -> str:
    """A loss or a metric in four digits; says so where it is no number."""
    if number is None or not math.isfinite(number):
        return NOT_A_NUMBER
    if number == 0:
        return "0"
    digits = 3 - math.floor(math.log10(abs(number)))
    return f"{number:.3e}" if digits > 7 or digits < -2 else f"{number:.{max(digits, 0)}f}"


def rate(number: float) -> str:
    """A learning rate in three digits at most: `0.00082`."""
    return f"{number:.3g}"


def whole(number: float) -> str:
    """A count or a rate a second, rounded to three digits where it is large, its thousands apart: `38,400`."""
    if number >= 1000:
        number = round(number, 2 - math.floor(math.log10(number)))
    return grouped(float(number)) if number >= 10 else f"{number:.2g}"


def milliseconds(seconds: float) -> str:
    """A short time: `6.7 ms`, `0.31 ms`, `1.4 s`."""
    return f"{seconds:.2g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def percent(share: float) -> str:
    """A part (0 to 1) in whole percent."""
    return f"{share * 100:.0f} %"


def size(count: int, unit: str = "") -> str:
    """Bytes in binary units, in GiB from 10 GiB on: `611 MiB`, `1.4 MiB`, `12.5 GiB`.

    With a `unit` the number alone, in that unit.
    """
    name = unit or size_unit(count)
    amount = count / UNITS[name]
    digits = 1 if name == "GiB" or (name == "MiB" and amount < 10 and amount != int(amount)) else 0
    number = grouped(float(amount), digits)
    return number if unit else f"{number} {name}"


def size_unit(count: int) -> str:
    """The unit in which so many bytes are written."""
    if count >= 10 * UNITS["GiB"]:
        return "GiB"
    return next((name for name in ("MiB", "KiB") if count >= UNITS[name]), "B")


def clock(time: float) -> str:
    """The local time of day of a moment in seconds since 1970 (UTC)."""
    return f"{datetime.fromtimestamp(time).astimezone():%H:%M:%S}"


def metric_names(metrics: Iterable[str]) -> list[str]:
    """Of an epoch's metrics those that are not losses, without their validation twins, each once."""
    bare = dict.fromkeys(name.removeprefix("val_") for name in metrics)
    return [name for name in bare if name != "loss"]


def metric_label(name: str, among: Iterable[str] = ()) -> str:
    """What a Keras metric is called on screen: `accuracy`, or in full where another would be called the same."""
    short = name.rsplit("_", 1)[-1]
    alike = [other for other in among if other != name and other.rsplit("_", 1)[-1] == short]
    return name.replace("_", " ") if alike else short


def count(number: float) -> str:
    """A whole number, its thousands apart."""
    return grouped(float(number))
