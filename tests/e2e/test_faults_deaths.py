"""A real window on trainers that die without a last word: what it says of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fault_matrix import Fault
from fault_windows import Open, held, kill, runs, said, shown, taken
from PySide6.QtCore import Qt
from real_runs import Start, start, told

from gpu_studio.cli import exit_codes
from gpu_studio.plan import Data, Model, Plan, Training, save
from gpu_studio.runs import lock
from gpu_studio.runs.failures import kernel
from gpu_studio.runs.launch import Launched

__all__ = ["held", "runs", "start"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

# As TensorFlow's native part writes it: https://github.com/tensorflow/tensorflow/issues/20356
CUDA_FAILED = """E cuda_event.cc:49] Error polling for event status: failed to query event: CUDA_ERROR_LAUNCH_FAILED
F gpu_event_mgr.cc:203] Unexpected Event status: 1"""
DEATHS = {
    "device lost in mid-run": (
        ("--abort-at", "3", "--checkpoint-every", "2", "--last-words", CUDA_FAILED),
        "A card failed while it trained: a computation on it crashed (CUDA_ERROR_LAUNCH_FAILED).",
        True,
    ),
    "import error at the trainer's start": (
        ("--raise-at-start",),
        "The trainer could not start: ModuleNotFoundError: No module named 'tensorflow'",
        False,
    ),
}


def test_that_a_trainer_killed_for_want_of_memory_is_told_as_that_with_a_smaller_plan(
    qtbot, open_window: Open, held: Launched, tmp_path: Path, monkeypatch, fault: Fault
) -> None:
    """The trainer is really killed; that the kernel did it is told by a stand-in of its counters."""
    fault.is_about("killed by the out-of-memory killer", "lost; says so, with the plan's change that needs less memory")
    window = open_window()
    shown(qtbot, window, "running")
    before = len(told(held))
    holder = lock.last_holder(held.directory.lock_file)
    assert holder is not None
    (tmp_path / "vmstat").write_text(f"oom_kill {(holder.memory_kills or 0) + 1}\n")
    monkeypatch.setattr(kernel, "COUNTERS", tmp_path / "vmstat")
    held.directory.lock_file.write_text(f"{holder.pid} {holder.host} {holder.boot} {holder.memory_kills or 0}\n")
    kill(held)
    with fault.noticed():
        live = shown(qtbot, window, "lost")
    assert "the out-of-memory killer has ended 1 process." in said(window)
    qtbot.mouseClick(window.train_page.outcome.mends.buttons[0], Qt.MouseButton.LeftButton)
    assert window.page == "plan"
    assert window.document.plan.training.batch_size == Training().batch_size // 2
    fault.kept(before, taken(live))


@pytest.mark.parametrize("item", DEATHS)
def test_that_a_death_in_native_code_or_at_the_start_is_told_in_words(
    qtbot, open_window: Open, start: Start, fault: Fault, item: str
) -> None:
    flags, message, resumable = DEATHS[item]
    fault.is_about(item, "lost; says why and what to do" + ("; offers to resume" if resumable else ""))
    window = open_window()
    launched = start(*flags)
    with fault.noticed():
        window.show_run(launched.directory)
        live = shown(qtbot, window, "lost")
    assert said(window) == message
    assert window.train_page.outcome.suggestions.text()
    assert window.train_page.outcome.resume.isVisible() is resumable
    fault.kept(len(told(launched)), taken(live))


def test_that_code_of_one_s_own_is_refused_before_anything_is_run(tmp_path: Path, runs: Path, fault: Fault) -> None:
    fault.is_about("import error in code of one's own", "refused with nothing run: such code is not taken yet")
    save(Plan(name="mine", model=Model(python="models.py:build"), data=Data(name="digits")), tmp_path / "a.plan.toml")
    (tmp_path / "models.py").write_text("import nowhere\n")
    command = [sys.executable, "-m", "gpu_studio", "train", str(tmp_path / "a.plan.toml"), "--runs-dir", str(runs)]
    with fault.noticed():
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == exit_codes.REFUSED
    assert "model.python" in ended.stderr
    assert "model.keras" in ended.stderr
    assert not list(runs.iterdir())
