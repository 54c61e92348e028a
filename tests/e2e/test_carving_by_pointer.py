"""The carve editor under a real X server, with a real pointer and real keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from x_program import Program, started, told
from x_program import xdotool as send

PROGRAM = Path(__file__).parents[1] / "support" / "carve_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(x_environment: dict[str, str]) -> Iterator[Program]:
    """A window with a card of 80 GiB in four slices of 16 GiB."""
    with started(
        [sys.executable, str(PROGRAM)], {**x_environment, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}
    ) as child:
        yield child


@pytest.mark.slow
def test_that_a_divider_is_dragged_and_nudged_by_real_pointer_and_keys(
    program, x_environment
) -> None:
    xdotool = partial(send, x_environment)

    def has(*slices: int) -> None:
        told(program, "slices", lambda now: now == [*slices])

    left, top, width, height = told(program, "bar")
    middle = top + height // 2

    def x_of(mib: int) -> int:
        return left + round(width * mib / 81_920)

    xdotool("mousemove", x_of(2048 + 16_384), middle, "mousedown", 1)
    for mib in (17_000, 14_000, 12_288):
        xdotool("mousemove", x_of(2048 + mib), middle)
    xdotool("mouseup", 1)
    has(12_288, 20_480, 16_384, 16_384)
    xdotool("key", "Right")
    has(12_352, 20_416, 16_384, 16_384)
    xdotool("key", "Delete")
    has(32_768, 16_384, 16_384)
    xdotool(
        "mousemove", x_of(2048 + 32_768), middle, "mousedown", 1, "mousemove", x_of(20_000), middle
    )
    xdotool("key", "Escape", "mouseup", 1)
    xdotool("key", "s")
    has(16_384, 16_384, 16_384, 16_384)
