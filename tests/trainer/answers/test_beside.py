"""A copy of the process computes something, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gpu_studio.common.processes import module_environment
from gpu_studio.trainer.answers import beside as module
from gpu_studio.trainer.answers.beside import beside, each_beside


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)


def who() -> bytes:
    return str(os.getpid()).encode()


def test_that_it_is_computed_by_another_process_which_is_gone_afterwards() -> None:
    before = psutil.Process().num_fds()
    result = beside(who)
    child = int(result())
    assert child != os.getpid()
    assert int(result()) == child  # not anew
    assert not psutil.pid_exists(child)
    assert psutil.Process().num_fds() == before


def test_that_a_large_result_comes_whole() -> None:
    assert beside(lambda: b"x" * 10_000_000)() == b"x" * 10_000_000


def test_that_what_the_copy_cannot_compute_is_computed_here() -> None:
    here = os.getpid()

    def compute() -> bytes:
        if os.getpid() != here:
            raise MemoryError
        return who()

    assert int(beside(compute)()) == here


def test_that_a_copy_that_is_killed_counts_for_nothing() -> None:
    here = os.getpid()

    def compute() -> bytes:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return who()

    assert int(beside(compute)()) == here


def test_that_an_error_of_both_is_raised_here() -> None:
    def compute() -> bytes:
        raise ValueError("no such graph")

    with pytest.raises(ValueError, match="no such graph"):
        beside(compute)()


def test_that_one_core_computes_it_when_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 1)
    assert int(beside(who)()) == os.getpid()


def test_that_it_is_computed_here_where_no_more_processes_are_to_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> int:
        raise BlockingIOError

    before = psutil.Process().num_fds()
    monkeypatch.setattr(os, "fork", refuse)
    assert int(beside(who)()) == os.getpid()
    assert psutil.Process().num_fds() == before


PROGRAM = """
import os, stat, sys, time
from gpu_studio.trainer.answers import beside
beside.cores = lambda: 2
def compute():
    held = [each for each in range(64) if os.path.exists(f"/proc/self/fd/{each}")]
    pipes = [each for each in held if stat.S_ISFIFO(os.fstat(each).st_mode)]
    open(sys.argv[1], "w").write(f"{os.getpid()} {len(pipes)}")
    os.rename(sys.argv[1], sys.argv[1] + ".written")
    time.sleep(600)
beside.beside(compute)
time.sleep(600)
"""


def test_that_a_copy_ends_with_the_first_process_and_nobody_waits_for_it(tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = [sys.executable, "-c", PROGRAM, str(told)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=module_environment({"PYTHONDONTWRITEBYTECODE": "1"})
    ) as first:
        written = told.with_suffix(".written")
        while not written.exists():
            assert first.poll() is None
        child, pipes = map(int, written.read_text().split())
        copy = psutil.Process(child)
        first.kill()
        # Its output ends at once, as the copy does not hold it.
        assert first.stdout is not None
        assert first.stdout.read() == b""
    assert pipes == len(("result", "alive"))
    copy.wait(60)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 45])
def test_that_each_value_is_computed_once_and_found_in_order(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(module, "cores", lambda: 8)
    assert each_beside(lambda value: value / 3, range(count)) == [each / 3 for each in range(count)]


def test_that_half_of_the_cores_compute_a_share_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 8)
    who = each_beside(lambda _value: float(os.getpid()), range(16))
    assert who == who[:4] * 4
    assert len({*who}) == 4
    assert who[0] == os.getpid()
    monkeypatch.setattr(module, "cores", lambda: 2)
    assert {*each_beside(lambda _value: float(os.getpid()), range(16))} == {os.getpid()}


def test_that_a_copy_has_copies_of_its_own_which_end_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "cores", lambda: 4)

    def compute() -> bytes:
        processes = each_beside(lambda _value: float(os.getpid()), range(8))
        return ",".join(str(int(each)) for each in processes[:2]).encode()

    first, second = map(int, beside(compute)().split(b","))
    assert len({os.getpid(), first, second}) == 3
    assert not any(map(psutil.pid_exists, (first, second)))
