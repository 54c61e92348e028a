"""Ending processes from the page.

One's own on a card at once, others after asking once, and what is refused.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import psutil
import pytest
from patience import PATIENCE_S
from PySide6.QtCore import Qt

from gpu_studio.contract.samples import (
    CardFacts,
    Cards,
    HostProcess,
    HostProcesses,
    Process,
    Processes,
    SamplerStarted,
)
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.ui.devices.processes_model import COMMAND, DEVICE, USER
from gpu_studio.ui.devices.side_card import (
    ELSEWHERE,
    NONE_CHOSEN,
    SIMULATED,
    THIS_WINDOW,
    ProcessEnder,
    ProcessesPane,
)
from gpu_studio.ui.kit.basic_widgets import Button
from gpu_studio.ui.kit.dialogs import Dialog

PAUSE = "import signal; print('ready', flush=True); signal.pause()"
ME = psutil.Process().username()


@pytest.fixture
def victim():
    process = subprocess.Popen([sys.executable, "-S", "-c", PAUSE], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait(PATIENCE_S)
    process.stdout.close()


@pytest.fixture
def pane(qtbot):
    made = ProcessesPane()
    qtbot.addWidget(made)
    made.resize(500, 300)
    made.show()
    yield made
    made.close_ending()


def told(pane: ProcessesPane, *processes: Process, simulated: str = "") -> None:
    picture = MachinePicture()
    picture.apply(SamplerStarted(time=0.0, pid=1, gpu_studio="1", simulated=simulated))
    picture.apply(Cards(time=1.0, cards=[CardFacts(card="a"), CardFacts(card="b")]))
    picture.apply(Processes(time=2.0, processes=list(processes)))
    pane.show_processes(picture)


def told_of_host(pane: ProcessesPane, *processes: HostProcess, simulated: str = "") -> None:
    picture = MachinePicture()
    picture.apply(SamplerStarted(time=0.0, pid=1, gpu_studio="1", simulated=simulated))
    picture.apply(Cards(time=1.0, cards=[], why="no driver"))
    picture.apply(Processes(time=2.0, processes=[]))
    picture.apply(HostProcesses(time=2.0, processes=list(processes)))
    pane.show_processes(picture)


def on_host(pid: int, command: str = "python sweep.py", user: str = ME) -> HostProcess:
    return HostProcess(pid=pid, user=user, command=command, cpu_percent=98.0, memory_mib=2_000)


def on_card(
    pid: int, user: str | None = ME, memory: int = 100, command: str | None = "python train.py"
) -> Process:
    return Process(
        card="a", pid=pid, kinds=["compute"], memory_mib=memory, user=user, command=command
    )


def ask_to_end(pane: ProcessesPane, qtbot) -> None:
    pane.table.selectRow(0)
    assert pane.end.isEnabled()
    qtbot.mouseClick(pane.end, Qt.MouseButton.LeftButton)


def test_that_ones_own_process_is_ended_without_a_question(pane, qtbot, victim) -> None:
    told(pane, on_card(victim.pid))
    ask_to_end(pane, qtbot)
    assert pane.findChild(Dialog) is None
    qtbot.waitUntil(lambda: "has ended" in pane.words.text())
    assert victim.wait(PATIENCE_S) == -15


def ends_after_asking(pane, qtbot, victim, question: str) -> None:
    ask_to_end(pane, qtbot)
    dialog = pane.findChild(Dialog)
    assert dialog.windowTitle() == question
    assert victim.poll() is None
    [sure] = [button for button in dialog.findChildren(Button) if button.text() == "End it"]
    qtbot.mouseClick(sure, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "has ended" in pane.words.text())
    assert victim.wait(PATIENCE_S) == -15


def test_that_anothers_process_is_ended_only_after_asking_once(pane, qtbot, victim) -> None:
    told(pane, on_card(victim.pid, "ada"))
    ends_after_asking(pane, qtbot, victim, f"End process {victim.pid} of ada?")


def test_that_anothers_process_lives_on_when_the_answer_is_no(pane, qtbot, victim) -> None:
    told(pane, on_card(victim.pid, "ada"))
    ask_to_end(pane, qtbot)
    dialog = pane.findChild(Dialog)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not pane.ending.busy
    assert victim.poll() is None


def test_that_what_the_system_forbids_is_explained(pane, qtbot, victim, monkeypatch) -> None:
    if os.geteuid() == 0:
        # The system forbids its administrator nothing: refuse at its door, for a process of our
        # own.
        def refuse(_pid: int, _signal: int) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "kill", refuse)
    pid = victim.pid if os.geteuid() == 0 else 1
    words: list[str] = []
    ending = ProcessEnder()
    ending.reported.connect(words.append)
    ending.end(pid)
    assert not ending.busy
    [said] = words
    assert said.startswith(
        f"Process {pid} belongs to another user, and the system does not let you end it (EPERM)"
    )
    assert said.endswith(f"sudo kill {pid}")
    assert victim.poll() is None


def test_that_what_cannot_be_ended_says_why_before_it_is_tried(pane) -> None:
    told(pane, on_card(7))
    assert (pane.end.isEnabled(), pane.end.toolTip()) == (False, NONE_CHOSEN)
    told(pane, on_card(7, None, command=None))
    pane.table.selectRow(0)
    assert (pane.end.isEnabled(), pane.end.toolTip()) == (False, ELSEWHERE)
    told(pane, on_card(7), simulated="H100")
    pane.table.selectRow(0)
    assert (pane.end.isEnabled(), pane.end.toolTip()) == (False, SIMULATED)


def test_that_processes_can_be_filtered_and_sorted(pane, qtbot) -> None:
    told(
        pane,
        on_card(7, memory=5, command="Xorg"),
        on_card(8, memory=50),
        on_card(9, memory=500, command="jupyter"),
    )
    model = pane.table.model()

    def pids() -> list[str]:
        return [model.index(row, 0).data() for row in range(model.rowCount())]

    assert pids() == ["9", "8", "7"]
    pane.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert pids() == ["7", "8", "9"]
    qtbot.keyClicks(pane.filter, "XORG")
    assert pids() == ["7"]


def test_that_in_a_narrow_pane_the_user_stands_before_the_command(pane) -> None:
    told(pane, on_card(7, "ada"))
    assert not pane.table.isColumnHidden(USER)
    pane.resize(360, 300)
    assert pane.table.isColumnHidden(USER)
    assert pane.model.text(pane.model.rows[0], COMMAND) == "ada · python train.py"
    metrics = pane.table.fontMetrics()
    assert pane.table.columnWidth(0) >= metrics.horizontalAdvance("4194304") + 20


def test_that_a_selection_survives_new_figures(pane) -> None:
    told(pane, on_card(7, memory=5), on_card(8, memory=50))
    pane.table.selectRow(1)
    told(pane, on_card(7, memory=500), on_card(8, memory=50), on_card(9, memory=5))
    assert pane.chosen is not None
    assert pane.chosen.process.pid == 7


def test_that_who_uses_the_cpu_is_listed_without_any_card(pane) -> None:
    told_of_host(
        pane,
        on_host(7),
        on_host(8, "python -m gpu_studio.trainer /runs/20261122T080000Z-digits-ab12"),
    )
    model = pane.table.model()
    rows = [
        [model.index(row, column).data() for column in range(5)] for row in range(model.rowCount())
    ]
    assert [row[COMMAND] for row in rows] == ["python sweep.py", "run · digits"]
    assert [row[DEVICE] for row in rows] == ["CPU 98 %"] * 2
    assert pane.words.text() == "2 processes on the CPU"
    told_of_host(pane)
    assert pane.words.text() == "no process uses much of the CPU"


def test_that_a_program_of_ones_own_on_the_cpu_is_ended_only_after_asking_once(
    pane, qtbot, victim
) -> None:
    told_of_host(
        pane, on_host(victim.pid), simulated="H100"
    )  # the cards are simulated, this process is not
    ends_after_asking(pane, qtbot, victim, f"End your process {victim.pid}?")


def test_that_the_window_does_not_end_itself(pane) -> None:
    told_of_host(pane, on_host(os.getpid()))
    pane.table.selectRow(0)
    assert (pane.end.isEnabled(), pane.end.toolTip()) == (False, THIS_WINDOW)
