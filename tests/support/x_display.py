"""A pytest plugin: a real X server without a screen, for real windows and a real pointer."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterator

import pytest

START_S = 120.0
SCREEN = "1600x1000x24"
MISSING = "needs Xvfb and xdotool; on Debian: sudo apt-get install xvfb xdotool"


@pytest.fixture(scope="module")
def x_display() -> Iterator[str]:
    """The name of a running X server, as `:99`: one for each module, which no other has touched.

    Skips where there is none to start, but never in CI.
    """
    if not (shutil.which("Xvfb") and shutil.which("xdotool")):
        pytest.fail(MISSING) if os.environ.get("CI") else pytest.skip(MISSING)
    reader, writer = os.pipe()
    command = [
        "Xvfb",
        "-displayfd",
        str(writer),
        "-screen",
        "0",
        SCREEN,
        "-nolisten",
        "tcp",
        "-noreset",
    ]
    with subprocess.Popen(
        command, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        os.close(writer)
        try:
            yield f":{_number(reader)}"
        finally:
            os.close(reader)
            server.terminate()


def _number(reader: int) -> str:
    ready, _, _ = select.select([reader], [], [], START_S)
    number = os.read(reader, 16).decode().strip() if ready else ""
    if not number:
        pytest.fail("Xvfb did not start: run it by hand to see why")
    return number


@pytest.fixture
def x_environment(x_display: str) -> dict[str, str]:
    """The environment for a program that shall open its windows on `x_display`."""
    environment = dict(os.environ, DISPLAY=x_display, QT_QPA_PLATFORM="xcb")
    environment.pop("WAYLAND_DISPLAY", None)
    return environment
