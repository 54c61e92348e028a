"""A real window on runs whose folder, files or computer are not what they were."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from fault_matrix import Fault
from fault_windows import Open, held, kill, runs, said, shown, taken
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from real_runs import start, told

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import Data, ModelSettings, Plan, Training, save
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import Launched
from gpu_studio.runs.lineage import events_of

__all__ = ["held", "runs", "start"]
pytestmark = pytest.mark.slow

CUTS = 10


def test_that_a_run_whose_computer_was_restarted_is_lost_and_its_old_lock_harms_nobody(
    qtbot, open_window: Open, held: Launched, runs: Path, fault: Fault
) -> None:
    """The number of the old trainer belongs to another process now: this one."""
    fault.is_about(
        "machine rebooted (stale lock)",
        "lost; says so, with the last sign of life; offers to resume",
    )
    before = len(told(held))
    kill(held)
    holder = lock.last_holder(held.directory.lock_file)
    assert holder is not None
    held.directory.lock_file.write_text(f"{os.getpid()} {holder.host} 00000000-before 0\n")
    window = open_window()
    assert window.page == "plan"
    with fault.noticed():
        window.show_run(held.directory)
        live = shown(qtbot, window, "lost")
    assert "the computer has been restarted since" in said(window)
    live.stop_now()
    assert live.stopper is None
    assert window.train_page.outcome.resume.isVisible()
    fault.kept(before, taken(live))


def test_that_events_cut_at_any_byte_are_shown_to_their_last_whole_line(
    qtbot, open_window: Open, runs: Path, fault: Fault
) -> None:
    fault.is_about("events file cut at any byte", "lost; every whole line is shown")
    made = make_run(runs, Script(epochs=1, trained=0.5, steps=40))
    whole = made.events_file.read_bytes()
    window = open_window()
    for place in sorted(Random(6).sample(range(len(whole)), CUTS)):
        made.events_file.write_bytes(whole[:place])
        window.show_run(made)
        live = shown(qtbot, window, "lost")
        assert taken(live) == whole[:place].count(b"\n")
        assert said(window)
    fault.kept(whole[:place].count(b"\n"), taken(live))


def test_that_a_plan_whose_files_moved_is_not_trained_and_the_new_place_is_named(
    qtbot, open_window: Open, runs: Path, tmp_path: Path, fault: Fault
) -> None:
    fault.is_about(
        "a plan whose files moved",
        "not resumed; says which, where it was looked for, and what is near",
    )
    made = make_run(runs, Script(epochs=2, trained=1.0, steps=20, ending="stopped"))
    moved = tmp_path / "data" / "mine-2.npz"
    moved.parent.mkdir()
    moved.touch()
    asked = moved.with_name("mine.npz")
    save(
        Plan(
            name="mine",
            model=ModelSettings(name="mlp"),
            data=Data(file=str(asked)),
            training=Training(epochs=3),
        ),
        made.plan_file,
    )
    window = open_window()
    window.show_run(made)
    live = shown(qtbot, window, "stopped")
    with fault.noticed():
        qtbot.mouseClick(window.train_page.outcome.resume, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: "no such file" in window.notice.text)
    assert f"{asked} is where it was looked for; did you mean {moved}?" in window.notice.text
    assert len(directories(runs)) == 1
    fault.kept(len(list(events_of(made))), taken(live))


def test_that_a_folder_that_was_only_moved_away_is_not_told_to_have_ended_well(
    qtbot, open_window: Open, runs: Path, fault: Fault
) -> None:
    fault.is_about(
        "run folder moved away and back",
        "lost while it is away; all of it is there once it is back",
    )
    made = make_run(runs, Script(epochs=1, trained=0.5, steps=20, ending="completed"))
    events = len(list(events_of(made)))
    window = open_window()
    away = made.path.rename(runs / ".away")
    with fault.noticed():
        window.show_run(made)
        qtbot.waitUntil(window.train_page.gone.isVisible)
    assert not window.train_page.outcome.isVisible()
    RunDirectory(away).path.rename(made.path)
    window.show_run(made)
    fault.kept(events, shown(qtbot, window, "finished").history.revision)
