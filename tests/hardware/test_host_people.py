"""Who uses the host: by the cores, by the memory, and every trainer, whatever it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from patience import PATIENCE_S

from gpu_studio.contract.samples import HostProcess, HostProcesses, decode, encode
from gpu_studio.hardware.command_words import is_trainer
from gpu_studio.hardware.sampler import processes as host_people
from gpu_studio.hardware.sampler.processes import HostPeople

PAUSE = "import signal; print('ready', flush=True); signal.pause()"
SPIN = "print('ready', flush=True)\nwhile True: pass"


def process(code: str, *words: str) -> subprocess.Popen[bytes]:
    started = subprocess.Popen([sys.executable, "-S", "-c", code, *words], stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    return started


def end(started: subprocess.Popen[bytes]) -> None:
    started.kill()
    started.wait(PATIENCE_S)
    assert started.stdout is not None
    started.stdout.close()


@pytest.fixture
def trainer(tmp_path: Path):
    """A process that idles, and whose command line is a trainer's."""
    started = process(
        PAUSE, "gpu_studio.trainer", str(tmp_path / "20261122T080000Z-digits-on-cpus-ab12")
    )
    yield started
    end(started)


@pytest.fixture
def busy():
    """A process that takes a whole core."""
    started = process(SPIN)
    yield started
    end(started)


def told(sample: HostProcesses, pid: int) -> HostProcess | None:
    return next((each for each in sample.processes if each.pid == pid), None)


def used(pid: int) -> float:
    return sum(psutil.Process(pid).cpu_times()[:2])


def test_that_a_trainer_is_told_of_at_the_first_look_however_little_it_takes(
    trainer, monkeypatch
) -> None:
    monkeypatch.setattr(host_people, "MOST", 1)  # others that take much do not push it out
    sample = HostPeople().look(5.0)
    found = told(sample, trainer.pid)
    assert found is not None
    assert found.user == psutil.Process().username()
    assert is_trainer(found.command or "")
    assert found.cpu_percent is None
    assert found.why == {"cpu_percent": "measured from the next time on"}
    assert decode(encode(sample)) == sample


def test_that_a_process_that_takes_a_core_is_told_of_with_its_share(busy, monkeypatch) -> None:
    monkeypatch.setattr(host_people, "LEAST_CPU", 1.0)
    monkeypatch.setattr(host_people, "MOST", 10_000)  # others that take more do not push it out
    people = HostPeople()
    assert told(people.look(1.0), busy.pid) is None
    before = used(busy.pid)
    while used(busy.pid) < before + 0.05:
        pass
    found = told(people.look(2.0), busy.pid)
    assert found is not None
    assert (found.cpu_percent or 0.0) >= 1.0
    assert "-S -c" in (found.command or "")


def test_that_who_holds_much_memory_is_told_of_and_others_are_not(monkeypatch) -> None:
    mine = psutil.Process().pid
    monkeypatch.setattr(host_people, "LEAST_CPU", float("inf"))
    monkeypatch.setattr(host_people, "MOST", 10_000)
    monkeypatch.setattr(host_people, "LEAST_MEMORY", 0.0)
    found = told(HostPeople().look(1.0), mine)
    assert found is not None
    assert abs((found.memory_mib or 0) - psutil.Process().memory_info().rss / 2**20) < 50
    monkeypatch.setattr(host_people, "LEAST_MEMORY", 1.0)
    assert told(HostPeople().look(1.0), mine) is None


def test_that_a_system_that_lists_no_processes_says_so(monkeypatch) -> None:
    def refuse() -> list[int]:
        raise PermissionError

    monkeypatch.setattr(psutil, "pids", refuse)
    assert HostPeople().look(1.0) == HostProcesses(
        time=1.0, processes=[], why=host_people.NOT_LISTED
    )


def test_that_processes_that_are_gone_are_forgotten(trainer) -> None:
    people = HostPeople()
    assert told(people.look(1.0), trainer.pid) is not None
    trainer.kill()
    trainer.wait(PATIENCE_S)
    assert told(people.look(2.0), trainer.pid) is None
    assert trainer.pid not in people._known
