"""The stack of a worker, asked of a real process that stands for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S
from training_runs import until

from gpu_studio.contract import cluster_file, kernel
from gpu_studio.contract.cluster_file import ClusterFile, ClusterMember
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs import worker_stack
from gpu_studio.runs.worker_stack import StackError, stack_of

PROGRAM = """
import faulthandler, signal, sys, time
faulthandler.register(signal.SIGUSR2, all_threads=True)
def waiting_for_the_others():
    print("ready", flush=True)
    time.sleep(600)
waiting_for_the_others()
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, "two")


@pytest.fixture
def worker(run: RunDirectory) -> Iterator[ClusterMember]:
    own = run.of_worker(0, "worker", 1)
    own.path.mkdir(parents=True)
    with own.log_file.open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=log, stderr=log)
    until(lambda: b"ready" in own.log_file.read_bytes(), PATIENCE_S)
    yield known(run, process.pid)
    process.kill()
    process.wait()


def known(run: RunDirectory, pid: int, started: int | None = None, job: str = "") -> ClusterMember:
    """Write down that this process is worker 1."""
    member = ClusterMember(
        role="worker",
        index=1,
        host=os.uname().nodename,
        pid=pid,
        folder="workers/0-worker-1",
        started=started or kernel.started(pid),
        boot=kernel.boot_id(),
    )
    cluster_file.write(run, ClusterFile(start="local", attempt=0, members=[member], job=job))
    return member


@pytest.mark.processes
def test_that_a_worker_tells_where_it_is_and_goes_on(
    run: RunDirectory, worker: ClusterMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine at its limits a process may be held up in the midst of its words.
    monkeypatch.setattr(worker_stack, "PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr(worker_stack, "SETTLED_S", 1.5)
    for _ in range(2):
        stack = stack_of(run, "worker 1")
        assert stack.count("waiting_for_the_others") == 1, "only what is new"
        assert "ready" not in stack
    assert kernel.started(worker.pid) == worker.started


@pytest.mark.processes
def test_that_a_worker_that_is_stopped_is_told_to_be(
    run: RunDirectory, worker: ClusterMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_stack, "PATIENCE_S", 0.2)
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(StackError, match="it is stopped by a signal, or it waits"):
        stack_of(run, "worker 1")


def test_that_no_other_process_is_signalled(run: RunDirectory) -> None:
    with pytest.raises(StackError, match="not known which process worker 1 is"):
        stack_of(run, "worker 1")
    known(run, os.getpid(), started=7)
    with pytest.raises(StackError, match="Worker 1 has ended"):
        stack_of(run, "worker 1")


def test_that_a_task_is_asked_by_slurm(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(command: list[str]) -> str:
        asked.append(command)
        log = run.of_worker(0, "worker", 1).log_file
        log.parent.mkdir(parents=True)
        log.write_text("Thread 1: in all_reduce")
        return ""

    monkeypatch.setattr(worker_stack.slurm, "run", answer)
    known(run, 99, started=1, job="4711")
    assert stack_of(run, "worker 1") == "Thread 1: in all_reduce"
    assert asked == [["scancel", "--signal=USR2", "4711"]]
