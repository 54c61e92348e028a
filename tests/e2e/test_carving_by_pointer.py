"""The carve editor under a real X server, with a real pointer and real keys."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from real_runs import PATIENCE_S

PROGRAM = Path(__file__).parents[1] / "support" / "carve_window.py"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(x_environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A window with a card of 80 GiB in four slices of 16 GiB."""
    environment = {**x_environment, "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}"}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0,
    ) as child:  # fmt: skip
        try:
            yield child
        finally:
            child.stdin.close()
            try:
                child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()


@pytest.fixture
def xdotool(x_environment: dict[str, str]) -> Callable[..., None]:
    """Move the real pointer and press real keys."""

    def run(*words: object) -> None:
        subprocess.run(["xdotool", *map(str, words)], env=x_environment, check=True, timeout=PATIENCE_S)

    return run


def told(program: subprocess.Popen[bytes], key: str, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
    """The next value that the program tells under this key and that is as wanted."""
    while True:  # unbuffered: what is read ahead would not be seen by select
        ready, _, _ = select.select([program.stdout], [], [], PATIENCE_S)
        line = program.stdout.readline() if ready else b""
        assert line, f"the window ended, or said nothing of {key} as wanted"
        facts = json.loads(line)
        if key in facts and wanted(facts[key]):
            return facts[key]


@pytest.mark.slow
def test_that_a_divider_is_dragged_and_nudged_by_real_pointer_and_keys(program, xdotool) -> None:
    left, top, width, height = told(program, "bar")
    middle = top + height // 2

    def x_of(mib: int) -> int:
        return left + round(width * mib / 81_920)

    xdotool("mousemove", x_of(2048 + 16_384), middle, "mousedown", 1)
    for mib in (17_000, 14_000, 12_288):
        xdotool("mousemove", x_of(2048 + mib), middle)
    xdotool("mouseup", 1)
    assert told(program, "slices") == [12_288, 20_480, 16_384, 16_384]
    xdotool("key", "Right")
    assert told(program, "slices") == [12_352, 20_416, 16_384, 16_384]
    xdotool("key", "Delete")
    assert told(program, "slices") == [32_768, 16_384, 16_384]
    xdotool("mousemove", x_of(2048 + 32_768), middle, "mousedown", 1, "mousemove", x_of(20_000), middle)
    xdotool("key", "Escape", "mouseup", 1)
    xdotool("key", "s")
    assert told(program, "slices") == [16_384, 16_384, 16_384, 16_384]
