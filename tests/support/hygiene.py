"""A pytest plugin that fails a test which leaves something behind, and says what and where from.

It checks threads, processes (also in other sessions), temporary files and, once Qt is in use,
top-level windows, running timers and running `QThread`s. What a fixture of a wider scope created
does not count. It also fails a test that is the first to import TensorFlow and not marked `slow`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator, Iterator

import left_files
import left_processes
import left_threads
import pytest
from isolation import Home

Watch = Callable[[], list[str]]
"""Describes what is left now of one kind, and does away with it as far as it can."""

_failed = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Let every thread remember who started it."""
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    left_threads.remember_starts(patch)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away meanwhile: next to nothing of it is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Set apart what is there before the first test.

    Looking through it after each one takes longer than the tests.

    Raises pytest.UsageError if TensorFlow is among it: each worker would wait for it, and for no
    test of its own."""
    if "tensorflow" in sys.modules:
        raise pytest.UsageError(
            "a test file imports TensorFlow as it is collected: import it in the tests instead"
        )
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test has failed.

    Its leftovers are cleared away, and not held against it a second time.
    """
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest, isolated_home: Home) -> Iterator[None]:
    """Compare what is there after the test, and after its fixtures, with what was there before."""
    watches = _watches(request, isolated_home)
    may_import = "tensorflow" in sys.modules or _is_slow(request)
    yield
    if "PySide6.QtWidgets" in sys.modules:
        import left_qt

        watches.insert(0, lambda: left_qt.leftovers(scan="qapp" in request.fixturenames))
    left = [line for watch in watches for line in watch()]
    if request.node.stash.get(_failed, False):
        return
    if left:
        pytest.fail(
            "the test left behind:\n" + "\n".join(f"- {line}" for line in left), pytrace=False
        )
    if not may_import and "tensorflow" in sys.modules:
        pytest.fail("the test imports TensorFlow, which takes seconds: mark it `slow`", False)


def _is_slow(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("slow") is not None


def _watches(request: pytest.FixtureRequest, home: Home) -> list[Watch]:
    return [
        left_processes.watch(home.path, everywhere=_is_slow(request)),
        left_threads.watch(),
        left_files.watch(home.path, home.temporary),
    ]
