"""A window started without a terminal: what keeps it from opening is shown, and noted in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import PATIENCE_S
from real_runs import eventually
from x_program import xdotool

pytestmark = pytest.mark.slow

COMMAND = [
    sys.executable,
    "-c",
    "import sys; from gpu_studio.cli import window; sys.exit(window())",
]
MEANS = ("kdialog", "zenity", "xmessage", "notify-send", "gdbus")
PUT_DOWN = """#!/bin/sh
printf '%s\\n' "$0" "$@" > '{told}'
exit {code}
"""


@pytest.fixture
def programs(tmp_path: Path) -> Callable[..., Path]:
    """Put stand-ins for the desktop's programs into a folder.

    Those named show what they are given, the others say that they cannot. What was shown stands in
    the file that is returned.
    """

    def made(*working: str) -> Path:
        (tmp_path / "bin").mkdir()
        for name in MEANS:
            told = tmp_path / ("told" if name in working else "failed")
            (tmp_path / "bin" / name).write_text(
                PUT_DOWN.format(told=told, code=0 if name in working else 1)
            )
            (tmp_path / "bin" / name).chmod(0o755)
        return tmp_path / "told"

    return made


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., int]:
    """Start the window as a menu does, with these variables, and wait for its exit code."""

    def started(*arguments: str, **variables: str) -> int:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
        }
        environment |= {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", **variables}
        done = subprocess.run(
            [*COMMAND, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
        return done.returncode

    return started


def log(home) -> Path:
    return home.path / "state/gpu-studio/log/start.log"


def test_that_without_a_display_a_notification_says_so_and_where_that_is_noted(
    start, programs, isolated_home
) -> None:
    told = programs("notify-send", "gdbus")
    assert start() == 2
    program, *said = told.read_text().splitlines()
    assert program.endswith("notify-send")
    assert "GPU Studio could not start" in said
    assert "There is no display" in told.read_text()
    assert f"This is noted in {log(isolated_home)}." in said
    assert "there is no display" in log(isolated_home).read_text()


def test_that_a_display_that_does_not_answer_ends_in_words_and_what_fails_is_passed_over(
    start, programs, isolated_home
) -> None:
    told = programs("gdbus")
    assert start(DISPLAY=":4077") == 2
    assert told.read_text().splitlines()[0].endswith("gdbus")
    assert "the display :4077 does not answer" in told.read_text()
    assert "XAUTHORITY" in log(isolated_home).read_text()


def test_that_a_missing_library_is_named_in_another_programs_dialog(
    start, programs, tmp_path: Path, isolated_home
) -> None:
    broken = tmp_path / "broken/PySide6"
    broken.mkdir(parents=True)
    reason = "libEGL.so.1: cannot open shared object file"
    (broken / "__init__.py").write_text(f"raise ImportError({reason!r})\n")
    told = programs("zenity")
    assert start(DISPLAY=":4077", PYTHONPATH=str(broken.parent)) == 2
    assert told.read_text().splitlines()[0].endswith("zenity")
    assert reason in told.read_text()
    assert "apt install" in told.read_text()
    assert reason in log(isolated_home).read_text()


@pytest.mark.parametrize("name", ["PySide6", "msgspec", "platformdirs"])
def test_that_an_environment_that_lacks_a_package_is_told_with_the_way_to_make_it_whole(
    start, programs, tmp_path: Path, isolated_home, name
) -> None:
    """One package alone may be missing, also one by which this very message is written."""
    missing = tmp_path / "broken" / name
    missing.mkdir(parents=True)
    told_by_python = f"No module named {name!r}"
    text = f"raise ModuleNotFoundError({told_by_python!r}, name={name!r})\n"
    (missing / "__init__.py").write_text(text)
    told = programs("zenity")
    assert start(DISPLAY=":4077", PYTHONPATH=str(missing.parent)) == 2
    assert told_by_python in told.read_text()
    assert "make setup" in told.read_text()
    assert told_by_python in log(isolated_home).read_text()


def test_that_an_error_that_nobody_foresaw_is_told_and_its_traceback_noted(
    start, programs, tmp_path: Path, isolated_home
) -> None:
    broken = tmp_path / "broken/PySide6"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('made for another Qt')\n")
    told = programs("kdialog")
    assert start(DISPLAY=":4077", PYTHONPATH=str(broken.parent)) == 2
    assert "RuntimeError: made for another Qt" in told.read_text()
    assert "Traceback" not in told.read_text()
    assert "Traceback" in log(isolated_home).read_text()


def test_that_on_a_display_our_own_dialog_says_what_is_wrong(
    programs, x_environment: dict[str, str], isolated_home
) -> None:
    told = programs(*MEANS)
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    command = [*COMMAND, "--practice", "nonsense"]
    with subprocess.Popen(command, env=x_environment, **quiet) as window:
        words = ("search", "--sync", "--onlyvisible", "--name", "GPU Studio could not start")
        dialog = xdotool(x_environment, *words).split()[-1]
        xdotool(x_environment, "windowfocus", "--sync", dialog, "key", "Escape")
        eventually(lambda: window.poll() is not None, "the end of the window's start")
        assert window.returncode == 2
    assert "nonsense" in log(isolated_home).read_text()
    assert not told.exists()
