"""A plan opened from the desktop comes to the window that is there, or to a second one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from made_studies import made_study
from patience import PATIENCE_S

from gpu_studio.contract import open_windows
from gpu_studio.contract.open_windows import OpenWindow, WindowRequest, hand_over, surroundings
from gpu_studio.plan import Plan, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.window.arrivals import Arrivals
from gpu_studio.ui.window.main_window import MainWindow

SOON = 0.05
"""Seconds that a program waits for a window which does not answer."""


@pytest.fixture
def listed(window: MainWindow) -> Iterator[MainWindow]:
    """The window, listed for later starts."""
    arrivals = Arrivals(window.services, window.pages, window.plan_files)
    yield window
    arrivals.close()
    assert list(windows().iterdir()) == []


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "arrived, 50% é.plan.toml"
    save(Plan(name="arrived"), path)
    return path


@pytest.fixture
def ask(qtbot, runs: Path) -> Callable[..., bool]:
    """Ask as another process would, while the window's events are processed."""

    def asked(**wanted) -> bool:
        told: list[bool] = []
        request = WindowRequest(**{"here": surroundings(runs), **wanted})
        other = threading.Thread(
            target=lambda: told.append(hand_over(request, patience=PATIENCE_S))
        )
        other.start()
        qtbot.waitUntil(lambda: not other.is_alive())
        return told == [True]

    return asked


def windows() -> Path:
    folder = open_windows.windows_folder()
    assert folder is not None
    return folder


def change(window: MainWindow) -> None:
    window.document.replace(set_training(window.document.plan, epochs=99), "change epochs")


def test_that_a_window_without_unsaved_edits_opens_the_plan_the_page_and_a_new_plan(
    listed: MainWindow, ask, plan_file: Path
) -> None:
    listed.show_page("runs")
    assert ask(plan=str(plan_file))
    assert (listed.document.path, listed.page) == (plan_file, "plan")
    assert ask(page="devices")
    assert (listed.document.path, listed.page) == (plan_file, "devices")
    assert ask(new=True)
    assert (listed.document.path, listed.page) == (None, "plan")


def test_that_a_window_with_unsaved_edits_refuses_all_but_the_plan_that_it_has_open(
    listed: MainWindow, ask, plan_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.plan.toml"
    save(Plan(name="other"), other)
    assert ask(plan=str(plan_file))
    change(listed)
    listed.show_page("runs")
    assert not ask(plan=str(other))
    assert not ask(new=True)
    assert listed.page == "runs"
    assert ask(page="devices")
    assert ask(plan=str(plan_file))
    assert (listed.page, listed.document.plan.training.epochs) == ("plan", 99)


def test_that_a_study_is_shown_whatever_is_unsaved_and_the_plan_stays(
    listed: MainWindow, ask, tmp_path: Path, qtbot
) -> None:
    study = made_study(tmp_path)
    change(listed)
    plan = listed.document.plan
    assert ask(plan=str(study.path))
    assert (listed.page, listed.document.plan) == ("lab", plan)
    qtbot.waitUntil(lambda: listed.studies.snapshot is not None)
    assert listed.studies.snapshot.path == study.path
    listed.show_page("devices")
    listed.plan_files.change_to(study.path)
    assert (listed.page, listed.document.plan) == ("lab", plan)


def test_that_a_window_can_begin_with_a_study(open_window, tmp_path: Path, qtbot) -> None:
    study = made_study(tmp_path)
    window = open_window(study.path)
    assert window.page == "lab"
    qtbot.waitUntil(lambda: window.studies.snapshot is not None)
    assert window.studies.snapshot.path == study.path
    qtbot.waitUntil(lambda: window.document.plan is not None)


def test_that_a_window_with_a_text_to_mend_or_a_question_refuses(
    listed: MainWindow, ask, plan_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "wrong.plan.toml").write_text("epochs = ")
    assert ask(plan=str(tmp_path / "wrong.plan.toml"))
    assert listed.plan_page.is_repairing
    assert not ask(plan=str(plan_file))


def test_that_a_window_that_waits_for_an_answer_refuses(
    listed: MainWindow, ask, plan_file: Path
) -> None:
    question = Question("Sure?", "Nothing hangs on it.", {"Yes": lambda: None}, listed)
    question.show()
    assert not ask(plan=str(plan_file))
    assert not ask(page="devices")
    question.close()
    assert ask(page="devices")


def test_that_a_window_elsewhere_or_of_other_cards_refuses(
    listed: MainWindow, ask, plan_file: Path, runs: Path, monkeypatch
) -> None:
    elsewhere = [surroundings(runs / "other")]
    for name in ("DISPLAY", "GPU_STUDIO_SETTINGS", "GPU_STUDIO_PRACTICE", "CUDA_VISIBLE_DEVICES"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "another")
            elsewhere.append(surroundings(runs))
    assert not any(ask(plan=str(plan_file), here=here) for here in elsewhere)
    assert ask(plan=str(plan_file))


def test_that_what_a_dead_window_left_is_cleared_away_and_nobody_waits_for_it(
    runs: Path, plan_file: Path
) -> None:
    dead = windows() / "1-dead"
    dead.mkdir(parents=True)
    for name in ("lock", "old.asked"):
        (dead / name).touch()
    assert not hand_over(WindowRequest(surroundings(runs), plan=str(plan_file)), patience=60)
    assert not dead.exists()


def test_that_a_plan_is_withdrawn_from_a_window_that_hangs_and_never_opened_twice(
    runs: Path, plan_file: Path
) -> None:
    hanging = OpenWindow(windows())
    request = WindowRequest(surroundings(runs), plan=str(plan_file))
    assert not hand_over(request, patience=SOON)
    assert list(hanging.requests()) == []
    assert not hanging.answer(hanging.folder / "gone.asked", take=True)
    hanging.close()


def test_that_what_is_no_request_is_passed_over(runs: Path) -> None:
    there = OpenWindow(windows())
    (there.folder / "a.asked").write_text("{")
    (there.folder / "b.asked").symlink_to("/etc/passwd")
    os.mkfifo(there.folder / "c.asked")
    (there.folder / "d.asked").write_bytes(msgspec.json.encode(WindowRequest("here")))
    assert [request for _, request in there.requests()] == [WindowRequest("here")]
    there.close()
    assert list(windows().iterdir()) == []


def test_that_without_a_runtime_folder_of_ones_own_no_window_is_listed(
    window: MainWindow, runs: Path, plan_file: Path, monkeypatch, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    for folder in ("", str(shared), str(tmp_path / "none")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        arrivals = Arrivals(window.services, window.pages, window.plan_files)
        assert not hand_over(WindowRequest(surroundings(runs), plan=str(plan_file)), patience=60)
        arrivals.close()
    assert list(shared.iterdir()) == []
