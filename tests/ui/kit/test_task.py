"""Background work: results arrive in the window's thread, and it ends with its owner."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
from patience import PATIENCE_S
from PySide6.QtCore import QCoreApplication, QObject

from gpu_studio.ui.kit.task import BackgroundTask

"""Milliseconds within which a result comes on a busy machine."""


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "a-test"]


@pytest.fixture
def task(qapp) -> Iterator[BackgroundTask]:
    made = BackgroundTask("a-test")
    yield made
    made.close()
    assert not threads()


@pytest.fixture
def queue(qapp) -> Iterator[BackgroundTask]:
    made = BackgroundTask("a-test", in_turn=True)
    yield made
    made.close()
    assert not threads()


def heard(task: BackgroundTask) -> list[object]:
    said: list[object] = []
    task.done.connect(said.append)
    task.reported.connect(said.append)
    return said


def test_that_a_result_comes_in_the_windows_thread_and_the_work_is_done_in_another(
    qtbot, task
) -> None:
    where: list[threading.Thread] = []
    task.done.connect(lambda _: where.append(threading.current_thread()))
    with qtbot.waitSignal(task.done) as done:
        task.start(threading.current_thread)
        assert task.busy
    assert not task.busy
    assert where == [threading.current_thread()]
    assert done.args[0] is not threading.current_thread()


def test_that_only_the_last_job_is_heard_of_even_if_an_earlier_one_ends_later(qtbot, task) -> None:
    said = heard(task)
    go = threading.Event()
    task.start(lambda: go.wait(PATIENCE_S) and "first")
    with qtbot.waitSignal(task.done):
        task.start(lambda: "second")
    assert not task.busy
    go.set()
    with qtbot.waitSignal(task.done):
        task.start(lambda: "third")
    assert said == ["second", "third"]


def test_that_a_job_that_is_forgotten_is_not_heard_of(qtbot, task) -> None:
    said = heard(task)
    task.start(lambda: "forgotten")
    task.forget()
    assert not task.busy
    with qtbot.waitSignal(task.done):
        task.start(lambda: "wanted")
    assert said == ["wanted"]


def test_that_what_work_reports_comes_in_order_and_before_its_result(qtbot, task) -> None:
    said = heard(task)
    with qtbot.waitSignal(task.done):
        task.start_work(
            lambda report, _cancelled: [report(number) for number in range(100)] and "end"
        )
    assert said == [*range(100), "end"]


def test_that_cancelled_work_ends_early_and_is_still_heard_of(qtbot, task) -> None:
    task.start_work(lambda _report, cancelled: cancelled.wait(PATIENCE_S) and "gave up")
    with qtbot.waitSignal(task.done) as done:
        task.cancel()
    assert done.args == ["gave up"]


def test_that_newer_work_cancels_what_was_asked_for_before(qtbot, task) -> None:
    ended: list[bool] = []
    task.start_work(lambda _report, cancelled: ended.append(cancelled.wait(PATIENCE_S)))
    with qtbot.waitSignal(task.done):
        task.start(lambda: "newer")
    task.close()
    assert ended == [True]


def test_that_work_that_raises_says_so_and_its_error_is_raised_in_the_windows_thread(
    qtbot, task
) -> None:
    with (
        qtbot.captureExceptions() as raised,
        qtbot.waitSignal(task.failed) as failed,
    ):
        task.start(lambda: 1 // 0)
    assert isinstance(failed.args[0], ZeroDivisionError)
    assert [kind for kind, _, _ in raised] == [ZeroDivisionError]
    assert not task.busy


def test_that_work_in_turn_begins_when_the_work_before_has_ended_and_all_is_heard_of(
    qtbot, queue
) -> None:
    said = heard(queue)
    first = threading.Event()
    begun: list[str] = []
    queue.start(lambda: (begun.append("first"), first.wait(PATIENCE_S)) and "first")
    queue.start(lambda: begun.append("second") or "second")
    queue.start(lambda: begun.append("third") or "third")
    qtbot.waitUntil(lambda: begun == ["first"])
    first.set()
    qtbot.waitUntil(lambda: not queue.busy)
    assert begun == said == ["first", "second", "third"]


def test_that_closing_does_all_work_in_turn_to_its_end_and_brings_none_of_it(qtbot, queue) -> None:
    said = heard(queue)
    written: list[int] = []
    for number in range(5):
        queue.start(lambda number=number: written.append(number))
    queue.close()
    assert written == [*range(5)]
    QCoreApplication.processEvents()  # what a thread has sent is in the queue once it has ended
    assert said == []


def test_that_work_is_cancelled_and_not_heard_of_when_its_owner_is_destroyed(qtbot) -> None:
    owner = QObject()
    said = heard(task := BackgroundTask("a-test", owner))
    ended: list[bool] = []
    task.start_work(lambda _report, cancelled: ended.append(cancelled.wait(PATIENCE_S)))
    with qtbot.waitSignal(owner.destroyed):
        owner.deleteLater()
    qtbot.waitUntil(lambda: not threads())
    assert ended == [True]
    QCoreApplication.processEvents()  # what a thread has sent is in the queue once it has ended
    assert said == []


def test_that_a_task_that_nobody_holds_is_destroyed_while_its_work_goes_on(qtbot) -> None:
    go, ended = threading.Event(), threading.Event()
    task = BackgroundTask("a-test")
    task.start_work(
        lambda _report, cancelled: go.wait(PATIENCE_S) and cancelled.is_set() and ended.set()
    )
    del task
    go.set()
    qtbot.waitUntil(lambda: not threads())
    assert ended.is_set()


class Loop(QObject):
    """What only a cycle of references keeps; `ends` has the thread in which it is destroyed."""

    def __init__(self, ends: list[str]) -> None:
        super().__init__()
        self.me, self.ends = self, ends

    def __del__(self) -> None:
        self.ends.append(threading.current_thread().name)


def much_garbage() -> int:
    """Make so much of it that the collector would look for it several times."""
    for _ in range(200_000):
        each: list[object] = []
        each.append(each)
    return gc.get_count()[0]


@pytest.mark.slow
def test_that_no_object_of_qt_is_destroyed_in_a_thread_of_work_as_garbage(qtbot, task) -> None:
    ends: list[str] = []
    assert gc.isenabled()
    with qtbot.waitSignal(task.done):
        Loop(ends)
        task.start(much_garbage)
    assert gc.isenabled()
    gc.collect()
    assert ends == [threading.current_thread().name]


def test_that_garbage_is_collected_again_once_the_last_of_several_threads_has_ended(
    qtbot, task, queue
) -> None:
    go = threading.Event()
    with qtbot.waitSignal(queue.done):
        task.start(lambda: go.wait(PATIENCE_S))
        queue.start(int)
    assert not gc.isenabled()
    with qtbot.waitSignal(task.done):
        go.set()
    assert gc.isenabled()
    task.start(lambda: go.wait(PATIENCE_S))
    task.close()
    assert gc.isenabled()
