"""A real window on trainers that die without a last word: what it says of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import warm_python
from fault_matrix import Fault
from fault_windows import Open, held, kill, runs, said, shown, taken
from patience import PATIENCE_S
from PySide6.QtCore import Qt
from real_runs import Start, start, told

from gpu_studio.contract import kernel, lock
from gpu_studio.contract.consent import allow_file
from gpu_studio.plan import Data, ModelSettings, Plan, Training, with_absolute_files
from gpu_studio.runs.launch import Launched, launch

__all__ = ["held", "runs", "start"]
pytestmark = pytest.mark.slow

# As TensorFlow's native part writes it: https://github.com/tensorflow/tensorflow/issues/20356
CUDA_FAILED = (
    "E cuda_event.cc:49] Error polling for event status: "
    "failed to query event: CUDA_ERROR_LAUNCH_FAILED\n"
    "F gpu_event_mgr.cc:203] Unexpected Event status: 1"
)
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
    """The trainer is really killed; a stand-in of the kernel's counters says by the kernel."""
    fault.is_about(
        "killed by the out-of-memory killer",
        "lost; says so, with the plan's change that needs less memory",
    )
    window = open_window()
    shown(qtbot, window, "running")
    before = len(told(held))
    holder = lock.last_holder(held.directory.lock_file)
    assert holder is not None
    (tmp_path / "vmstat").write_text(f"oom_kill {(holder.memory_kills or 0) + 1}\n")
    monkeypatch.setattr(kernel, "COUNTERS", tmp_path / "vmstat")
    held.directory.lock_file.write_text(
        f"{holder.pid} {holder.host} {holder.boot} {holder.memory_kills or 0}\n"
    )
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
    fault.is_about(
        item, "lost; says why and what to do" + ("; offers to resume" if resumable else "")
    )
    window = open_window()
    launched = start(*flags)
    with fault.noticed():
        window.show_run(launched.directory)
        live = shown(qtbot, window, "lost")
    assert said(window) == message
    assert window.train_page.outcome.suggestions.text()
    assert window.train_page.outcome.resume.isVisible() is resumable
    fault.kept(len(told(launched)), taken(live))


def test_that_an_import_error_in_code_of_one_s_own_is_told_with_its_line_and_how_to_install_it(
    qtbot, open_window: Open, runs: Path, tmp_path: Path, fault: Fault
) -> None:
    fault.is_about(
        "import error in code of one's own",
        "failed; names the file, the line and the module, and how to install it",
    )
    models = tmp_path / "models.py"
    models.write_text(
        "import keras\n\nimport nowhere\n\n\ndef build():\n    return nowhere.model()\n"
    )
    allow_file(models, models.read_bytes())
    plan = Plan(
        name="mine", model=ModelSettings(python="models.py:build"), data=Data(name="digits")
    )
    window = open_window()
    plan = with_absolute_files(plan, tmp_path)
    launched = launch(plan, runs, base=tmp_path, trainer=warm_python.command("gpu_studio.trainer"))
    with fault.noticed():
        window.show_run(launched.directory)
        live = shown(qtbot, window, "failed")
    assert launched.process.wait(PATIENCE_S) == 1
    assert said(window) == (
        f"models.py needs the module nowhere (line 3), which is not installed for {sys.executable}."
    )
    assert (
        f"{sys.executable} -m pip install nowhere" in window.train_page.outcome.suggestions.text()
    )
    assert live.history.failure is not None
    assert live.history.failure.traceback.startswith(
        f'Traceback (most recent call last):\n  File "{models}", line 3, '
        "in <module>\n    import nowhere\n"
    )
    fault.kept(len(told(launched)), taken(live))
