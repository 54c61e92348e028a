from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import fake_plan_asker
import pytest
import warm_python
from real_runs import kill_trainers

from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.ui.kit.settings import NOTIFY, QUIT, Settings
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window.live_runs import NO
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quitting import LEAVE


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    """A folder for runs.

    Trainers that still live in it after the test are killed, as they are no child of the test.
    """
    folder = tmp_path / "runs"
    yield folder
    kill_trainers(folder)


@pytest.fixture
def open_window(
    qtbot, runs: Path, tmp_path: Path, monkeypatch, glance: tuple[str, ...]
) -> Callable[..., MainWindow]:
    """Open the real window, and close it after the test.

    It learns about models without TensorFlow, to save the import, unless another `asker` is given,
    and what the doctor has found on this machine for all windows.
    """
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "questions"))

    def opened(
        plan: Path | None = None,
        remembered: Path | None = None,
        asker: Sequence[str] = fake_plan_asker.COMMAND,
    ) -> MainWindow:
        settings, facts = Settings(remembered or tmp_path / "settings.ini"), FactsReader(asker)
        settings.set(QUIT, LEAVE)
        settings.set(NOTIFY, NO)
        askers = {"facts": facts, "checkup": Checkup(command=glance)}
        window = MainWindow(runs, plan, ThemeManager("dark"), settings=settings, **askers)
        window.inventory.refresh()
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: window.inventory.machine is not None)
        return window

    return opened


@pytest.fixture(scope="module")
def warm_trainer() -> Iterator[None]:
    """Start trainers in processes that have imported TensorFlow already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TRAINER_VARIABLE, shlex.join(warm_python.command("gpu_studio.trainer")))
        yield
