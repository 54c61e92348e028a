"""Tests of the distribution of files to workers, with workers that crash."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from file_scheduler import FileScheduling
from patience import PATIENCE_S

ARGUMENTS = ("-p", "xdist", "-p", "file_scheduler", "-p", "no:cacheprovider")
CRASH = "import os\ndef test_crash(): os._exit(1)\n"

pytestmark = pytest.mark.slow


def several(count: int) -> str:
    return "\n".join(f"def test_{number}(): pass" for number in range(count))


@pytest.fixture
def run_files(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Run files of tests, given as text by name, with so many workers."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    # To import all plugins that are installed takes each worker long, and none but these is used.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(workers: int, **files: str) -> pytest.RunResult:
        pytester.makepyfile(**files)
        how = (f"--numprocesses={workers}", "--dist=loadfile", "--no-loadscope-reorder")
        return pytester.runpytest_subprocess(*ARGUMENTS, *how, timeout=PATIENCE_S)

    return run


def test_that_all_tests_of_all_files_are_run(run_files):
    run_files(2, test_a=several(5), test_b=several(1), test_c=several(3)).assert_outcomes(passed=9)


@pytest.mark.parametrize("workers", [1, 2])
def test_that_a_worker_that_crashes_at_the_end_of_many_files_holds_nothing_up(run_files, workers):
    files = {f"test_{name}": several(4) for name in "abcdef"}
    result = run_files(workers, **files, test_y=CRASH + several(2), test_z=several(1))
    result.assert_outcomes(passed=27, failed=1)
    result.stdout.fnmatch_lines(["*crashed while running 'test_y.py::test_crash'*"])


def test_that_every_crash_is_told_and_no_crashed_test_is_run_again(run_files):
    files = {f"test_{name}": CRASH + several(1) for name in "abcd"}
    result = run_files(2, **files, test_e=several(40))
    result.assert_outcomes(passed=44, failed=4)


def test_that_a_file_with_one_test_left_after_a_crash_is_run(run_files):
    run_files(1, test_a=CRASH, test_b=several(1)).assert_outcomes(passed=1, failed=1)


class Worker:
    """Stands in for the controller of a worker that is there, or that has crashed unnoticed."""

    gateway = SimpleNamespace(id="a worker")
    shutting_down = False

    def __init__(self, crashed: bool) -> None:
        self.crashed = crashed
        self.given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        if self.crashed:
            raise OSError("cannot send (already closed?)")
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_that_a_worker_whose_crash_is_not_known_yet_does_not_end_the_run(pytester):
    scheduling = FileScheduling(pytester.parseconfig("--tx=2*popen"))
    workers = Worker(crashed=True), Worker(crashed=False)
    tests = [f"test_{name}.py::test_{number}" for name in "abcd" for number in range(2)]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, tests)
    scheduling.schedule()
    crashed = scheduling.remove_node(workers[0])
    waiting = scheduling.workqueue.values(), scheduling.assigned_work[workers[1]].values()
    assert (
        sorted([crashed, *(test for units in waiting for unit in units for test in unit)]) == tests
    )
