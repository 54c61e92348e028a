"""Started from the menu of a desktop: the window that is there takes plans.

The desktop's own programs start it, from what `gpu-studio desktop install` has put where they look.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from patience import PATIENCE_S
from real_runs import eventually

from gpu_studio.cli import main
from gpu_studio.common.desktop_entry import ENTRY, data_home
from gpu_studio.contract.open_windows import WindowRequest, hand_over
from gpu_studio.plan import Plan, save

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("gio") and shutil.which("update-desktop-database")),
        reason="needs gio and update-desktop-database; on Debian: sudo apt-get install "
        "libglib2.0-bin desktop-file-utils",
    ),
]


class Desktop:
    """A desktop with GPU Studio in its menu: what starts from it, and the windows on it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    def start(self, *command: str | Path) -> None:
        """Start something as the menu, or a file manager, does."""
        subprocess.run(["gio", *command], env=self._environment, check=True, timeout=PATIENCE_S)

    def windows(self) -> dict[str, list[str]]:
        """The titles of each window that is seen, by its process."""
        shown: dict[str, list[str]] = {}
        for window in self._told("search", "--onlyvisible", "--class", "gpu-studio").split():
            pid, title = (self._told(f"getwindow{what}", window) for what in ("pid", "name"))
            shown.setdefault(pid, []).append(title)
        return shown

    def _told(self, *words: str) -> str:
        """What xdotool answers; nothing of a window that has just gone."""
        command = ["xdotool", *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        return done.stdout.strip()

    def shows(self, *titles: str) -> dict[str, list[str]]:
        """The windows, once there is one for each title, which begins with these words."""

        def as_wanted() -> bool:
            shown = [title for several in self.windows().values() for title in several]
            return len(shown) == len(titles) and all(
                any(title.startswith(wanted) for title in shown) for wanted in titles
            )

        eventually(as_wanted, f"windows with the titles {titles}")
        # A window that has only just come up is busy: it answers once it has settled.
        assert not hand_over(WindowRequest("nowhere"), patience=PATIENCE_S)
        return self.windows()


@pytest.fixture
def desktop(x_environment: dict[str, str]) -> Iterator[Desktop]:
    """The desktop; what was started from it is ended, as by the end of a session."""
    assert main(["desktop", "install"]) == 0
    there = Desktop({**x_environment, "XDG_DATA_DIRS": "/usr/share"})
    yield there
    pids = [int(pid) for pid in there.windows()]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    eventually(lambda: not there.windows(), "the end of the windows")
    eventually(lambda: not any(map(is_alive, pids)), "the end of their processes")
    assert main(["desktop", "remove"]) == 0


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[str], Path]:
    def made(name: str) -> Path:
        path = tmp_path / f"{name}, 50% é.plan.toml"
        save(Plan(name=name), path)
        return path

    return made


def test_that_the_menu_starts_the_window_and_a_double_click_brings_it_another_plan(
    desktop: Desktop, plan: Callable[[str], Path]
) -> None:
    desktop.start("open", plan("first"))
    before = desktop.shows("first")
    desktop.start("open", plan("second"))
    assert list(desktop.shows("second")) == list(before)
    desktop.start("launch", data_home() / ENTRY, plan("third"))
    assert list(desktop.shows("third")) == list(before)
    (window,) = map(int, before)
    assert not listening(window)


def listening(pid: int) -> set[str]:
    """The sockets at which this process waits for others."""
    own, found = set(), set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            own.add(str(file.readlink()))
    for kind, inode, listens in (("tcp", 9, "0A"), ("tcp6", 9, "0A"), ("unix", 6, "00010000")):
        lines = Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]
        for words in map(str.split, lines):
            if words[3] == listens and f"socket:[{words[inode]}]" in own:
                found.add(" ".join(words))
    return found
