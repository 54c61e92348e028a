"""A real window and runs that are many, much or strange: what it shows, and that it goes on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fault_matrix import Fault
from fault_windows import Heartbeat, Open, held, runs, shown, taken
from made_runs import Script, make_run
from real_runs import Start, start, told

from gpu_studio.runs.launch import Launched
from gpu_studio.ui.train.log_pane import OUTPUT

__all__ = ["held", "runs", "start"]
pytestmark = pytest.mark.slow

THOUSAND = 1000
HOUR = 3600


def test_that_two_windows_show_and_steer_one_run(
    qtbot, open_window: Open, held: Launched, fault: Fault
) -> None:
    fault.is_about("two windows on one run", "what one asks for, both show; both see the same end")
    first, second = open_window(), open_window()
    one, other = shown(qtbot, first, "running"), shown(qtbot, second, "running")
    before = len(told(held))
    first.actions_["pause"].trigger()
    with fault.noticed():
        shown(qtbot, second, "paused")
    shown(qtbot, first, "paused")
    second.actions_["pause"].trigger()
    shown(qtbot, first, "running")
    first.actions_["stop"].trigger()
    second.actions_["stop"].trigger()
    shown(qtbot, first, "stopped")
    shown(qtbot, second, "stopped")
    assert one.history.revision == other.history.revision == len(told(held))
    fault.kept(before, one.history.revision)


def test_that_a_thousand_runs_are_listed_and_the_live_one_is_found(
    qtbot, open_window: Open, held: Launched, runs: Path, fault: Fault
) -> None:
    made = make_run(
        runs, Script(name="old", epochs=1, trained=0.3, steps=20, ending="completed", ago=HOUR)
    )
    for number in range(THOUSAND):
        shutil.copytree(
            made.path, runs / f"20260101T{number:06}Z-old-{number:04x}", copy_function=os.link
        )
    window = open_window()
    heart = Heartbeat(window)
    live = shown(qtbot, window, "running")
    assert live.run == held.directory
    window.show_page("runs")
    model = window.run_list.page.model
    with fault.noticed():
        qtbot.waitUntil(lambda: model.rowCount() == THOUSAND + 2)
    fault.is_about(
        "1,000 runs in the folder",
        f"all listed; the window never busy for over {heart.longest:.2f} s",
    )
    fault.kept(THOUSAND + 2, model.rowCount())


@pytest.mark.parametrize(
    ("flags", "item", "outcome", "sign", "unknown"),
    [
        (
            ("--long-line", str(1 << 20)),
            "an event of 1 MB",
            "shown to its first part",
            "y" * 4000,
            0,
        ),
        (
            ("--later-version",),
            "events of a later version",
            "passed over; all others are shown",
            "running",
            1,
        ),
    ],
)
def test_that_strange_lines_hide_no_other(
    qtbot, open_window: Open, start: Start, fault: Fault, flags, item, outcome, sign, unknown
) -> None:
    window = open_window()
    heart = Heartbeat(window)
    launched = start(*flags, "--hold-at", "3")
    window.show_run(launched.directory)
    with fault.noticed():
        live = shown(qtbot, window, "running")
        qtbot.waitUntil(lambda: live.history.step == 3)
    log = window.train_page.details.log.events
    qtbot.waitUntil(lambda: sign in log.toPlainText())
    lines = launched.directory.events_file.read_bytes().count(b"\n")
    # Behind its last step the trainer tells what memory that took.
    qtbot.waitUntil(lambda: taken(live) >= lines - unknown)
    fault.is_about(item, f"{outcome}; the window never busy for over {heart.longest:.2f} s")
    fault.kept(lines - unknown, taken(live))


def test_that_a_hundred_megabytes_of_output_neither_stop_the_run_nor_the_window(
    qtbot, open_window: Open, start: Start, fault: Fault
) -> None:
    window = open_window()
    heart = Heartbeat(window)
    launched = start("--print-mib", "100", "--hold-at", "3")
    window.show_run(launched.directory)
    window.train_page.details.log.choose(OUTPUT)
    output = window.train_page.details.log.output
    with fault.noticed():
        live = shown(qtbot, window, "running")
        qtbot.waitUntil(lambda: live.history.step == 3)
        qtbot.waitUntil(lambda: "nothing more to say" in output.toPlainText())
    assert launched.poll() is None
    assert launched.directory.log_file.stat().st_size >= 100 << 20
    fault.is_about(
        "100 MB of output in trainer.log",
        f"its end is shown; the window never busy for over {heart.longest:.2f} s",
    )
    before = len(told(launched))
    qtbot.waitUntil(lambda: taken(live) >= before)
    fault.kept(before, taken(live))
