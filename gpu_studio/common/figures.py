"""How figures are written wherever a person reads them: window, terminal, report, explanation.

The same figure is the same text everywhere. The rules:

- Commas separate thousands: `16,384`; window and terminal write a space or nothing instead where
  that was chosen (`write_thousands`). What is typed, and what a trainer writes into a run, has none
  or commas.
- A space separates a value from its unit: `12 %`, `64 °C`.
- Memory uses binary units: the largest one that gives at least 1, with one decimal unless the value
  is whole: `512 B`, `611 MiB`, `1.4 MiB`, `2 GiB`, `79.6 GiB`. Two sizes that are compared share a
  unit, of which the larger one has at least 4: `0.5 / 24 GiB`, `546 / 1,024 MiB`. What is typed and
  carved in MiB stays a whole number of MiB, however large: the fields and handles of a carve, and
  the plan problems that say what to type there.
- A time of a minute or more has its two largest units, the second with two digits: `3 min 07 s`,
  `51 h 04 min`. A shorter one is either a duration of work, `0.4 s` or `41 s`, or a short time with
  three significant digits, `820 µs`, `4.10 ms`. A round time, on an axis or estimated, leaves out a
  unit that is zero: `2 min`, `2 min 30 s`. Only an axis counts days.
- A loss or a metric has four significant digits: `12.35`, `0.1234`, `1.234e-05`. A learning rate
  has at most three: `0.00082`.
- A throughput has three digits: `38,400 samples/s`, `0.12 samples/s`.
- On an axis, all values have the unit and the digits that tell them apart: `0.25 GiB`, `1.00 GiB`.
- An unknown value is `–`; a loss or metric that is not finite is `not a number`.

None of this is for programs: JSON, CSV and events hold plain numbers in base units.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo

UNKNOWN = "–"
NOT_A_NUMBER = "not a number"
KIB, MIB, GIB = 1024, 1024**2, 1024**3
UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": 1024 * GIB}
"""The units of memory, in bytes."""

_thousands = [","]
_LEAST_TENTH = 0.05
"""Less than this of a unit would be written as 0.0."""
_ROUNDED_UP = 1 - 0.05 / 1024
"""From this part of a unit on, one decimal of the smaller unit would be written as 1,024.0."""
_MINUTE, _HOUR = 60, 3600
_LEAST_WRITTEN_OUT, _GREATEST_WRITTEN_OUT = 1e-4 * (1 - 1e-9), 1e5
_FLOPS = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")
_NEXT = 999.5
"""What is written with three digits from here on is a thousand."""


def write_thousands(mark: str) -> None:
    """Have `mark` between thousands from now on, in this process: `,`, a kind of space, or ``."""
    _thousands[0] = mark


def grouped(number: float, digits: int = 0) -> str:
    """Write a number with commas between thousands, and `digits` decimals if it is a float."""
    written = f"{number:,}" if isinstance(number, int) else f"{number:,.{digits}f}"
    return written.replace(",", _thousands[0])


def plural(count: int, word: str, words: str = "") -> str:
    """Write a number of things: `1 step`, `2,300 steps`.

    `words` where several are no word with an s: `2 processes`.
    """
    return f"{grouped(count)} {word if count == 1 else words or word + 's'}"


def size(amount: float | None, unit: str = "") -> str:
    """Write bytes of memory: `512 B`, `1.5 MiB`, `12 GiB`; `–` if unknown.

    A given `unit` is used whatever the size, but nothing is `0 B` in every list.
    """
    if amount is None:
        return UNKNOWN
    if amount == 0:
        return "0 B"
    unit = unit or unit_of(amount)
    return f"{amount_in(amount, unit)} {unit}"


def size_of(amount: float, whole: float, between: str = "/") -> str:
    """Write a part of memory beside all of it, both in bytes and in one unit.

    `0.5 / 24 GiB`, `546 / 1,024 MiB`.
    """
    unit = unit_beside(whole)
    return f"{_beside(amount, unit)} {between} {_beside(whole, unit)} {unit}"


def unit_beside(whole: float) -> str:
    """Return the unit in which to write this many bytes and parts of them.

    It is the largest of which there are 4: a tenth of a unit tells little about a part of fewer.
    """
    return unit_of(whole / 4)


def _beside(amount: float, unit: str) -> str:
    value = amount / UNITS[unit]
    return grouped(float(value), 0) if value >= 99.95 else amount_in(amount, unit)


def used_of(used_mib: int | None, total_mib: int | None) -> str:
    """Write the memory in use of all there is: `52.1 / 79.6 GiB`.

    Says so where one of them is not known.
    """
    if total_mib is None:
        return "not known"
    if used_mib is None:
        return f"{size(total_mib * MIB)}, use not known"
    return size_of(used_mib * MIB, total_mib * MIB)


def amount_in(amount: float, unit: str) -> str:
    """Write bytes of memory as a number of `unit`, without the unit, for a column that names it.

    A little is `< 0.1`: `0.0` would read as nothing.
    """
    value = amount / UNITS[unit]
    if 0 < value < _LEAST_TENTH and unit != "B":
        return "< 0.1"
    return grouped(float(value), 0 if unit == "B" or value == int(value) else 1)


def unit_of(amount: float) -> str:
    """Return the unit for this many bytes: the largest that gives at least 1 after rounding."""
    return next((name for name in reversed(UNITS) if amount >= UNITS[name] * _ROUNDED_UP), "B")


def size_from_mib(mib: int) -> str:
    """Write memory given in MiB, as `size` does."""
    return size(mib * MIB)


def whole_mib(mib: int) -> str:
    """Write memory as it is typed and carved, in whole MiB: `2,048 MiB`."""
    return f"{grouped(mib)} MiB"


def duration(seconds: float | None) -> str:
    """Write how long work took, with one decimal below ten seconds: `0.4 s`, `41 s`, `6 min 02 s`.

    `–` if not known.
    """
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    return f"{max(0.0, seconds):.1f} s" if seconds < 9.95 else whole_duration(seconds)


def whole_duration(seconds: float) -> str:
    """Write a time rounded to the second: `4 s`, `41 s`, `6 min 02 s`, `3 h 05 min`."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{grouped(whole // 3600)} h {whole % 3600 // 60:02d} min"


def span(seconds: float | None) -> str:
    """Write a short time, such as a step's, in three digits: `820 µs`, `4.10 ms`, `1.25 s`.

    `–` if it is unknown; from a minute on it is written as `whole_duration` does.
    """
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds >= _MINUTE - 0.05:
        return whole_duration(seconds)
    amount, unit = (seconds, "s") if seconds >= 0.9995 else (seconds * 1e3, "ms")
    return (
        f"{_three_digits(amount)} {unit}"
        if amount >= 0.9995
        else f"{_three_digits(amount * 1e3)} µs"
    )


def spent(seconds: float) -> str:
    """Write a time of any length: as `span` below a second, otherwise as `duration`."""
    return span(seconds) if 0 < seconds < 0.95 else duration(seconds)


def even_duration(seconds: float) -> str:
    """Write a round time like `whole_duration`, without units that are zero: `25 min`, `40 s`."""
    return whole_duration(seconds).removesuffix(" 00 s").removesuffix(" 00 min")


def axis_time(seconds: float, step: float = math.inf) -> str:
    """Write a round time on an axis as `even_duration` does, with days: `45 s`, `2 d`, `2 d 4 h`.

    If the axis advances in a `step` (seconds) too fine for two units, write a clock: `1:40:05`, `2
    d 4:10`.
    """
    if seconds < 0:
        return f"-{axis_time(-seconds, step)}"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if step < _MINUTE and (days or hours):
        return f"{f'{days} d ' if days else ''}{hours}:{minutes:02}:{rest:02}"
    if step < _HOUR and days:
        return f"{days} d {hours}:{minutes:02}"
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    return even_duration(seconds)


def moment(seconds: float) -> str:
    """Write a local time: `14:02` today, otherwise with the date, and the year if it is another."""
    now = time.time()
    if dated(seconds, "%Y-%m-%d") == dated(now, "%Y-%m-%d"):
        return dated(seconds, "%H:%M")
    same_year = dated(seconds, "%Y") == dated(now, "%Y")
    return dated(seconds, "%d %b %H:%M" if same_year else "%d %b %Y")


def clock(seconds: float) -> str:
    """The local time of day of a moment in seconds since 1970 (UTC): `14:02:31`."""
    return dated(seconds, "%H:%M:%S")


def dated(seconds: float, pattern: str, zone: tzinfo | None = None) -> str:
    """Write a time in seconds since 1970 (UTC) by a pattern of `strftime`, by default a local one.

    `–` for one that has no date: files may hold any number, and be of any time.
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone(zone).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return UNKNOWN


def metric(value: float | None) -> str:
    """Write a loss or another metric: `12.35`, `0.1234`, `1.234e-05`, `not a number`.

    Events hold None for a value that is not finite, because JSON has no such numbers.
    """
    if value is None or not math.isfinite(value):
        return NOT_A_NUMBER
    if value == 0:
        return "0"
    written = f"{value:.3e}"
    digits = 3 - int(written.partition("e")[2])
    return grouped(float(value), max(digits, 0)) if -2 <= digits <= 7 else written


def metric_names(metrics: Iterable[str]) -> list[str]:
    """The names of an epoch's metrics, each once: no losses, and no validation twins."""
    bare = dict.fromkeys(name.removeprefix("val_") for name in metrics)
    return [name for name in bare if name != "loss"]


def metric_label(name: str, among: Iterable[str] = ()) -> str:
    """What a Keras metric is called, in short.

    `accuracy`, or in full where another would be called the same; with the name of its output where
    several have losses: `digit accuracy`.
    """
    others = [other for other in among if other != name]
    output = output_of(name, [name, *others])
    start = f"{output}_" if output else ""
    bare = name.removeprefix(start)
    short = bare.rsplit("_", 1)[-1]
    alike = [each for each in others if each.startswith(start) and each.rsplit("_", 1)[-1] == short]
    return f"{start}{bare if alike else short}".replace("_", " ")


def output_of(name: str, among: Iterable[str]) -> str:
    """The output of a model that the metric `name` is of; empty where that is not known.

    Keras calls the metrics of several outputs `OUTPUT_accuracy`, and each has an `OUTPUT_loss`.
    """
    outputs = {each.removesuffix("_loss") for each in among if each.endswith("_loss")}
    if len(outputs) < 2:
        return ""
    return max((each for each in outputs if name.startswith(f"{each}_")), key=len, default="")


def metric_words(name: str, among: Iterable[str] = ()) -> str:
    """What a metric is called with the data it was measured on.

    `accuracy`, `validation accuracy`, `test loss`.
    """
    for mark, word in (("val_", "validation "), ("test_", "test ")):
        if name.startswith(mark):
            alike = [each.removeprefix(mark) for each in among if each.startswith(mark)]
            return word + metric_label(name.removeprefix(mark), alike)
    return metric_label(name, [each for each in among if not each.startswith(("val_", "test_"))])


def metrics_in_words(metrics: Mapping[str, float | None]) -> str:
    """Write metrics on one line: `loss 0.1234  val_loss 0.2345`.

    Of the numbers of one metric, `f1[0]` and the like, there is their mean, `f1`, alone.
    """
    shown = {k: v for k, v in metrics.items() if "[" not in k or k.partition("[")[0] not in metrics}
    return "  ".join(f"{name} {metric(value)}" for name, value in shown.items())


def learning_rate(value: float) -> str:
    """Write a learning rate: `0.00082`, `1e-05`."""
    return f"{value:.3g}"


def throughput(per_second: float | None) -> str:
    """Write samples a second: `12,300 samples/s`; `–` if they are not known."""
    if per_second is None or not math.isfinite(per_second):
        return UNKNOWN
    return f"{rounded(per_second)} samples/s"


def rounded(number: float) -> str:
    """Write an amount or a rate, rounded to three digits where it is large: `38,400`, `0.12`."""
    if number < 10:
        return f"{number:.2g}"
    return grouped(float(f"{number:.2e}"))


def energy(joules: float | None) -> str:
    """Write an energy, from 1 kJ on with its watt hours: `812 J`, `40.2 kJ (11.2 Wh)`.

    `–` if unknown.
    """
    if joules is None or not math.isfinite(joules):
        return UNKNOWN
    if joules < _NEXT:
        return f"{_three_digits(joules)} J"
    amount, unit = (joules / 1e3, "kJ") if joules < 1e3 * _NEXT else (joules / 1e6, "MJ")
    return f"{_three_digits(amount)} {unit} ({watt_hours(joules)})"


def watt_hours(joules: float | None) -> str:
    """Write an energy in watt hours only, where space is short: `11.2 Wh`; `–` if unknown."""
    if joules is None or not math.isfinite(joules):
        return UNKNOWN
    hours, unit = (joules / 3600, "Wh") if joules < 3600 * _NEXT else (joules / 3.6e6, "kWh")
    return f"{_three_digits(hours)} {unit}"


def share(part: float | None) -> str:
    """Write a part of a whole (0 to 1): `12 %`; `–` if it is not known."""
    return UNKNOWN if part is None else f"{part:.0%}".replace("%", " %")


def small_share(part: float) -> str:
    """Write a small part of a whole, such as a spread: `3.4 %`, `0.02 %`."""
    value = 100 * part
    return f"{value:.1f} %" if value >= 0.1 or value == 0 else f"{value:.1g} %"


def percent(value: float) -> str:
    """Write a known percentage: `12 %`."""
    return f"{value:.0f} %"


def flops(count: float) -> str:
    """Write floating-point operations in decimal units, in three digits.

    `0.67 MFLOP` is written `670 kFLOP`.
    """
    power = 0
    while count >= _NEXT and power < len(_FLOPS) - 1:
        count, power = count / 1000, power + 1
    digits = f"{count:.3g}" if count < _NEXT else f"{count:.0f}"
    return f"{digits if power else f'{count:.0f}'} {_FLOPS[power]}"


def alike(values: Sequence[float]) -> list[str]:
    """Write round values of a logarithmic axis in one style: `0.001`, `1`, `1,000`, or `1e-6`, `1`.

    They are written out if both the smallest and the largest value are readable that way.
    """
    if all(_LEAST_WRITTEN_OUT <= value < _GREATEST_WRITTEN_OUT for value in values):
        return [grouped(round(value)) if value >= 1 else f"{value:g}" for value in values]
    return [_with_exponent(value) for value in values]


def _with_exponent(value: float) -> str:
    digits, power = f"{value:.0e}".split("e")
    return f"{digits}e{int(power)}" if int(power) else digits


def _three_digits(amount: float) -> str:
    if amount >= _NEXT:
        return grouped(float(amount))
    return f"{amount:#.3g}".rstrip(".") if amount >= 1e-3 else f"{amount:.3g}"
