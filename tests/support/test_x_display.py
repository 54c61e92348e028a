"""The X server without a screen."""

from __future__ import annotations

import subprocess

import pytest
from patience import PATIENCE_S


@pytest.mark.slow
def test_that_a_pointer_moves_on_the_display(x_environment):
    def xdotool(*words: str) -> str:
        return subprocess.run(
            ["xdotool", *words],
            env=x_environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        ).stdout

    assert xdotool("getdisplaygeometry").split() == ["1600", "1000"]
    xdotool("mousemove", "321", "123")
    assert "X=321\nY=123" in xdotool("getmouselocation", "--shell")
