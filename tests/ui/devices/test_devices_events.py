"""The events of the devices, and ending a process on a device."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest
from patience import PATIENCE_S

from gpu_studio.contract.samples import (
    CardFacts,
    Cards,
    Fast,
    FastFigures,
    Happened,
    Owner,
    Process,
    Processes,
    Slow,
    SlowFigures,
)
from gpu_studio.hardware.command_words import short_command
from gpu_studio.hardware.device_history import DeviceHistory
from gpu_studio.hardware.device_rows import run_of
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.ui.devices.alerts import EventLog
from gpu_studio.ui.devices.processes_model import (
    COMMAND,
    MEMORY,
    PID,
    USER,
    ProcessesModel,
    on_devices,
)
from gpu_studio.ui.devices.side_card import ProcessEnder, why_not

TRAINER = "python -m gpu_studio.trainer runs/20261120T190000Z-digits-on-four-1a2b"


class Watched:
    """A picture, a history and a log that are told the same samples."""

    def __init__(self) -> None:
        self.picture, self.history, self.log = MachinePicture(), DeviceHistory(), EventLog()
        self.tell(
            Cards(time=0.0, cards=[CardFacts(card="a", name="Test", total_mib=1000, slowdown_c=90)])
        )

    def tell(self, *samples) -> list[str]:
        for sample in samples:
            self.picture.apply(sample)
            self.history.add(sample)
        before = len(self.log.events)
        self.log.take(self.picture, self.history)
        return [event.words for event in self.log.events[before:]]


def fast(time: float = 1.0, **figures) -> Fast:
    return Fast(time=time, cards=[FastFigures(card="a", **figures)])


def slow(**figures) -> Slow:
    return Slow(time=1.0, cards=[SlowFigures(card="a", **figures)])


def test_that_a_full_card_is_told_once_and_again_when_it_fills_again() -> None:
    watched = Watched()
    assert watched.tell(fast(memory_used_mib=950, memory_reserved_mib=0)) == []
    assert "96 %" in watched.tell(fast(memory_used_mib=900, memory_reserved_mib=60))[0]
    assert watched.tell(fast(memory_used_mib=990)) == []
    assert watched.tell(fast(memory_used_mib=100)) == []
    assert len(watched.tell(fast(memory_used_mib=990))) == 1


@pytest.mark.parametrize(("temperature", "told"), [(84, 0), (85, 1), (95, 1)])
def test_that_a_card_near_its_slowdown_is_told(temperature: int, told: int) -> None:
    assert len(Watched().tell(slow(temperature_c=temperature))) == told


def test_that_throttling_is_told_and_being_idle_is_none() -> None:
    watched = Watched()
    assert watched.tell(slow(throttle=["idle"])) == []
    assert "power limit" in watched.tell(slow(throttle=["idle", "power limit"]))[0]


def test_that_a_lost_card_an_error_of_it_and_a_dead_sampler_are_told() -> None:
    watched = Watched()
    told = watched.tell(
        Happened(time=2.0, card="a", kind="xid", code=79, words="fell off the bus (XID 79)")
    )
    told += watched.tell(Owner(time=3.0, words="the sampler crashed"))
    told += watched.tell(Cards(time=4.0, cards=[CardFacts(card="a", gone="lost")]))
    assert told == ["fell off the bus (XID 79)", "the sampler crashed", "lost"]
    assert [event.device for event in watched.log.events] == ["GPU 0", "", "GPU 0"]


def test_that_a_card_that_idles_during_a_run_is_told_after_a_minute_only() -> None:
    watched = Watched()
    run = Process(card="a", pid=1, kinds=["compute"], command=TRAINER)
    watched.tell(Processes(time=0.0, processes=[run]))
    told = [watched.tell(fast(float(second), utilisation_percent=0)) for second in range(70)]
    assert [bool(each) for each in told].index(True) == 60
    assert sum(map(len, told)) == 1
    assert "digits on four" in told[60][0]


def test_that_a_card_that_idles_without_a_run_is_nothing_to_tell() -> None:
    watched = Watched()
    told = [watched.tell(fast(float(second), utilisation_percent=0)) for second in range(70)]
    assert sum(map(len, told)) == 0


def test_that_processes_are_told_by_run_owner_and_memory(qapp) -> None:
    watched = Watched()
    mine = psutil.Process().username()
    here = [
        Process(card="a", pid=7, kinds=["compute"], memory_mib=512, user=mine, command=TRAINER),
        Process(
            card="a",
            pid=8,
            kinds=["compute"],
            user="ada",
            command="Xorg",
            why={"memory_mib": "not told"},
        ),
    ]
    watched.tell(Processes(time=1.0, processes=here))
    model = ProcessesModel()
    model.set_rows(on_devices(watched.picture))
    shown = [
        [model.text(row, column) for column in (PID, USER, COMMAND, MEMORY)] for row in model.rows
    ]
    assert shown == [
        ["7", "you", "run · digits on four", "512 MiB"],
        ["8", "ada", "Xorg", "not told"],
    ]


@pytest.mark.parametrize(
    ("command", "short"),
    [
        ("/opt/venv/bin/python3.11 -u /home/a/train.py --lr 1", "python3.11 train.py"),
        ("python -m torch.distributed x", "python -m torch.distributed"),
        ("/usr/lib/xorg/Xorg :0", "Xorg"),
        ("python", "python"),
        ("my kernel", "my kernel"),
        (".venv/bin/python -S train.py", "python train.py"),
        ("/usr/bin/python3 -S -c import signal; signal.pause()", "python3 -c"),
    ],
)
def test_that_commands_are_told_in_few_words(command: str, short: str) -> None:
    assert short_command(command) == short


def test_that_other_programs_are_no_runs() -> None:
    assert run_of(Process(card="a", pid=1, kinds=[], command="python -m gpu_studio.trainer")) == ""
    assert run_of(Process(card="a", pid=1, kinds=[])) == ""


@pytest.fixture
def start():
    started: list[subprocess.Popen[bytes]] = []

    def start_it(program: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start_it
    for process in started:
        process.kill()
        process.wait(PATIENCE_S)
        if process.stdout:
            process.stdout.close()


def test_that_a_process_that_is_asked_to_end_ends(start, qtbot) -> None:
    process, told = start("import signal; print('ready', flush=True); signal.pause()"), []
    ending = ProcessEnder()
    ending.reported.connect(told.append)
    ending.end(process.pid)
    assert ending.busy
    qtbot.waitUntil(lambda: not ending.busy)
    assert process.wait(PATIENCE_S) == -15
    assert told[-1] == f"Process {process.pid} has ended."


def test_that_one_that_does_not_is_killed_after_its_time_of_grace(start, qtbot) -> None:
    deaf = (
        "import signal; signal.signal(15, signal.SIG_IGN); print('ready', "
        "flush=True)\nwhile True: signal.pause()"
    )
    process, told = start(deaf), []
    ending = ProcessEnder(grace_ms=200)
    ending.reported.connect(told.append)
    ending.end(process.pid)
    qtbot.waitUntil(lambda: not ending.busy)
    assert process.wait(PATIENCE_S) == -9
    assert "was killed" in told[-1]


def test_that_why_a_process_cannot_be_ended_is_explained() -> None:
    assert "already ended" in why_not(5, psutil.NoSuchProcess(5))
    denied = why_not(5, psutil.AccessDenied(5))
    assert "EPERM" in denied
    assert "sudo kill 5" in denied


def test_that_a_process_that_is_gone_is_told_at_once(start, qtbot) -> None:
    process, told = start("print('ready', flush=True)"), []
    process.wait(PATIENCE_S)
    ending = ProcessEnder()
    ending.reported.connect(told.append)
    ending.end(process.pid)
    assert not ending.busy
    assert told == [f"Process {process.pid} has already ended."]
