"""One figure is one text.

In the window, in the terminal, in a report, and where a run's end is explained.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpu_studio
from gpu_studio.common import figures
from gpu_studio.common.figures import GIB, KIB, MIB
from gpu_studio.plan import CardUser
from gpu_studio.plan.card_memory import held_by
from gpu_studio.runs.queue_choice import Need, in_words
from gpu_studio.runs.reading.settled_eta import in_words as left_in_words
from gpu_studio.runs.results.report.chart import seconds_axis
from gpu_studio.runs.ticks import time_ticks
from gpu_studio.trainer.data.free_memory import check_memory
from gpu_studio.trainer.errors import DataError
from gpu_studio.ui.train.device_figures import DeviceMemoryNow

PACKAGE = Path(gpu_studio.__file__).parent
ROOMS = ("cli", "contract", "hardware", "placement", "plan", "runs", "trainer", "ui")
# A unit right behind a value that is put into a text, or a value that is divided into a larger unit
# for it.
OWN_WAY = re.compile(
    r""":\.0[f%]\}\s?%|:\.0%\}|\}\s?(?:[KMGT]iB|[mµ]s|FLOP|samples/s)\b"""
    r"""|\{[^{}"']*/\s?(?:1024|KIB|MIB|GIB)\b|1024\s?\*\*|2\s?\*\*\s?[123]0\b"""
)
# Sizes of buffers and arenas, which nobody reads.
NO_TEXT = {
    "placement/rehearsal.py",
    "hardware/simulated/cards.py",
    "hardware/simulated/profiles.py",
}


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (900, "900 B"),
        (1536, "1.5 KiB"),
        (812 * MIB, "812 MiB"),
        (2 * GIB, "2 GiB"),
        (85_521 * MIB, "83.5 GiB"),
    ],
)
def test_that_memory_reads_the_same_everywhere(amount: int, text: str) -> None:
    with pytest.raises(DataError) as refused:
        check_memory("The arrays", amount, 0, [])
    assert f"take {text}, but" in refused.value.message
    assert (
        f": {text}, peak {text} ("
        in DeviceMemoryNow("GPU:0", 0, amount, amount, None, "allocator").text
    )
    assert in_words([Need("GPU:0", amount)]) == f"{text} on GPU 0"
    assert figures.size(amount) == text
    if amount >= MIB:
        assert f"({text})" in held_by([CardUser(7, amount // MIB)])


@pytest.mark.parametrize(
    ("seconds", "text"), [(45, "45 s"), (90, "1 min 30 s"), (120, "2 min"), (5400, "1 h 30 min")]
)
def test_that_a_round_time_reads_the_same_on_every_axis_and_as_what_is_left(
    seconds: int, text: str
) -> None:
    assert left_in_words(seconds) == f"about {text}"
    spans = [seconds * part for part in (1.0, 1.4, 2.0, 3.0, 4.0)]
    assert text in {told for span in spans for _, told in time_ticks(0.0, span, 4)}
    assert text in {told for span in spans for _, told in seconds_axis(span).ticks}


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (figures.duration, 187, "3 min 07 s"),
        (figures.whole_duration, 187, "3 min 07 s"),
        (figures.span, 187, "3 min 07 s"),
        (figures.spent, 187, "3 min 07 s"),
        (figures.even_duration, 187, "3 min 07 s"),
        (figures.axis_time, 187, "3 min 07 s"),
        (figures.metric, 12.3456, "12.35"),
        (figures.throughput, 38_412.7, "38,400 samples/s"),
    ],
)
def test_that_a_figure_reads_the_same_whatever_it_is_of(write, value, text) -> None:
    assert write(value) == text


@pytest.mark.parametrize("room", ROOMS)
def test_that_every_room_that_writes_figures_asks_the_one_module(room: str) -> None:
    asking = re.compile(r"from gpu_studio\.common(?:\.figures import| import figures)")
    assert any(asking.search(path.read_text()) for path in (PACKAGE / room).rglob("*.py"))


def test_that_nothing_else_in_the_source_writes_a_unit_behind_a_value() -> None:
    others = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != PACKAGE / "common/figures.py" and str(path.relative_to(PACKAGE)) not in NO_TEXT
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OWN_WAY.search(line)
    ]
    assert others == []


@pytest.mark.parametrize(
    "line",
    [
        'f"{used / 1024:.1f} GiB"',
        'f"{seconds * 1000:.2f} ms"',
        'f"{rate:,.0f} samples/s"',
        "GIB = 1024**3",
        'f"{part:.0%}"',
        'f"{busy:.0f} %"',
    ],
)
def test_that_a_private_way_to_write_a_figure_is_found(line: str) -> None:
    assert OWN_WAY.search(line)


def test_that_units_are_powers_of_two() -> None:
    assert (
        [figures.UNITS[name] for name in ("KiB", "MiB", "GiB")]
        == [KIB, MIB, GIB]
        == [2**10, 2**20, 2**30]
    )
