"""The desktop is notified once of each ended run: by one open window, or by the next to open."""

from __future__ import annotations

import re
import time

import pytest
from made_runs import Script, make_run
from made_studies import made_study, write_runs
from PySide6.QtCore import QObject, QTimer, Signal
from real_runs import fake_trainer

from gpu_studio.contract import lock
from gpu_studio.contract.events import Failed, Finished, encode
from gpu_studio.contract.files import append_line
from gpu_studio.runs import catalogue
from gpu_studio.runs.end_reports import is_reported, mark_followed, mark_reported
from gpu_studio.ui.runs import live_watch
from gpu_studio.ui.runs.end_words import all_in_words, in_words
from gpu_studio.ui.runs.live_watch import LiveWatch
from gpu_studio.ui.window import live_runs
from gpu_studio.ui.window.main_window import MainWindow


def test_that_the_end_of_every_live_run_is_told_once(runs, qtbot) -> None:
    first = make_run(runs, Script(epochs=2, trained=1))
    make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    held = lock.take(first.lock_file)
    watch, ends = LiveWatch(runs), []
    watch.ended.connect(lambda run: ends.append(run))
    watch.look()
    later = make_run(runs, Script(name="later", epochs=2, trained=1))
    held_later = lock.take(later.lock_file)
    later.path.rename(runs / "renamed")  # the folder changes, which is how a new run is seen
    qtbot.waitUntil(lambda: "renamed" in watch._live)
    held.release()
    qtbot.waitUntil(lambda: [run.id for run in ends] == [first.id])
    held_later.release()
    qtbot.waitUntil(lambda: len(ends) == 2)
    assert not watch._timer.isActive()
    watch.close()


class Reported(QObject):
    """A notifier that only remembers, and that a desktop answers at once, or never."""

    activated, taken, missed = Signal(str), Signal(str), Signal(str)

    def __init__(self, window: MainWindow, *, answers: bool = True) -> None:
        super().__init__(window)
        self.shown: list[tuple[str, str, str]] = []
        self.answers = answers

    def show(self, title: str, text: str, key: str) -> None:
        self.shown.append((title, text, key))
        if self.answers:
            self.taken.emit(key)

    def close(self) -> None:
        pass


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have windows look often, and not wait for each other."""
    monkeypatch.setattr(live_runs, "GRACE_MS", 0)
    monkeypatch.setattr(live_watch, "LOOK_MS", 50)


def all_have_told(qtbot) -> None:
    """Let happen what the windows have put off: it comes in the order in which it was."""
    with qtbot.waitCallback() as done:
        QTimer.singleShot(live_runs.GRACE_MS, done)


def listening(open_window, qtbot, *, answers: bool = True) -> tuple[MainWindow, Reported]:
    """A window that has settled in and tells the desktop, and what it has told."""
    window = open_window()
    window.run_ends.use(told := Reported(window, answers=answers))
    qtbot.waitUntil(lambda: window.settled)
    window.run_ends.set_notifies(True)
    return window, told


def test_that_of_two_windows_one_tells_of_each_end_and_the_other_where_the_one_is_gone(
    open_window, runs, qtbot, at_once
) -> None:
    both, locks = [listening(open_window, qtbot) for _ in range(2)], []
    made = [make_run(runs, Script(name=name, epochs=2, trained=1)) for name in ("first", "second")]
    for run in made:
        locks.append(lock.take(run.lock_file))
        for window, _ in both:
            window.services.live_watch.add(run)
    locks[0].release()
    qtbot.waitUntil(
        lambda: all(len(window.services.live_watch.live) == 1 for window, _ in both),
    )
    all_have_told(qtbot)
    assert [key for _, told in both for *_, key in told.shown] == [made[0].id]
    both[0][0].run_ends.close()
    before = len(both[0][1].shown)
    locks[1].release()
    qtbot.waitUntil(lambda: made[1].id in [key for *_, key in both[1][1].shown])
    assert len(both[0][1].shown) == before


def test_that_nobody_tells_of_a_run_that_is_looked_at_in_another_window(
    open_window, runs, qtbot, at_once
) -> None:
    other, told = listening(open_window, qtbot)
    looked_at, own = listening(open_window, qtbot)
    run = make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    looked_at.show_run(run)
    qtbot.waitUntil(looked_at.isActiveWindow)
    other.services.live_watch.ended.emit(run)
    looked_at.services.live_watch.ended.emit(run)
    assert run.reported_file.exists()
    all_have_told(qtbot)
    assert (told.shown, own.shown) == ([], [])


def test_that_an_end_is_told_by_another_window_where_the_first_went_before_the_desktop_had_it(
    open_window, runs, qtbot, at_once, monkeypatch
) -> None:
    monkeypatch.setattr(live_runs, "RETRY_MS", 20)
    (first, sent), (other, told) = (
        listening(open_window, qtbot, answers=False),
        listening(open_window, qtbot),
    )
    run = make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    first.services.live_watch.ended.emit(run)
    other.services.live_watch.ended.emit(run)
    qtbot.waitUntil(lambda: other.run_ends.waits)
    assert ([key for *_, key in sent.shown], told.shown, run.reported_file.exists()) == (
        [run.id],
        [],
        False,
    )
    first.run_ends._held.release()  # as the kernel does when the window is killed
    qtbot.waitUntil(lambda: [key for *_, key in told.shown] == [run.id])
    assert is_reported(run)


def test_that_a_window_tells_at_its_start_in_one_notification_of_all_that_nobody_was_told_of(
    open_window, runs, qtbot, at_once
) -> None:
    (window, told), (other, later) = listening(open_window, qtbot), listening(open_window, qtbot)
    ended = [
        make_run(runs, Script(name=name, epochs=2, trained=2, ending="completed"))
        for name in "abcd"
    ]
    lost, live = (
        make_run(runs, Script(name=name, epochs=2, trained=1)) for name in ("lost", "live")
    )
    held = lock.take(live.lock_file)
    mark_reported(ended[0])
    mark_followed(ended[1])
    window.run_ends.begin()
    other.run_ends.begin()
    qtbot.waitUntil(lambda: bool(told.shown + later.shown))
    all_have_told(qtbot)
    ((title, text, key),) = told.shown + later.shown
    assert title == "3 runs have ended"
    said = sorted(re.sub(r"#\d+ ", "", part) for part in text.split(" · "))
    assert said == ["c has finished", "d has finished", "lost was lost"]
    assert [is_reported(run) for run in (*ended, lost, live)] == [
        True,
        False,
        True,
        True,
        True,
        False,
    ]
    window.run_ends.bring_up(key)
    assert window.page == "runs"
    held.release()


def test_that_a_window_that_tells_nothing_leaves_nothing_to_be_told_when_it_is_switched_on(
    open_window, runs, qtbot
) -> None:
    run = make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    window = open_window()
    qtbot.waitUntil(lambda: is_reported(run))
    assert not window.run_ends.notifies


def test_that_the_desktop_is_told_of_a_run_that_the_window_does_not_show(
    open_window, runs, qtbot, at_once
) -> None:
    window = open_window(trainer=fake_trainer())
    window.run_ends.use(told := Reported(window))
    window.run_ends.set_notifies(True)
    window.actions_["train"].trigger()
    window.show_page("plan")
    qtbot.waitUntil(lambda: bool(told.shown))
    (run,) = catalogue.directories(runs)
    assert told.shown[0][0] == "#1 digits on four logical CPUs has finished"
    assert told.shown[0][2] == run.id
    window.run_ends.bring_up(run.id)
    assert (window.page, window.shown_run.run) == ("train", run)


def test_that_a_run_that_is_looked_at_and_a_switch_that_is_off_are_silent(
    open_window, runs, qtbot, at_once
) -> None:
    window, told = listening(open_window, qtbot)
    window.run_ends.set_notifies(False)
    run, *others = (
        make_run(runs, Script(name=name, epochs=2, trained=2, ending="completed")) for name in "abc"
    )
    window.show_run(run)
    qtbot.waitUntil(window.isActiveWindow)
    window.actions_["notify"].trigger()
    assert window.run_ends.notifies
    assert window.actions_["notify"].isChecked()
    window.services.live_watch.ended.emit(run)
    assert run.reported_file.exists()
    window.show_page("runs")
    window.services.live_watch.ended.emit(others[0])
    qtbot.waitUntil(lambda: [key for *_, key in told.shown] == [others[0].id])
    window.actions_["notify"].trigger()
    window.services.live_watch.ended.emit(others[1])
    all_have_told(qtbot)
    assert len(told.shown) == 1


@pytest.mark.parametrize(
    ("end", "title", "text"),
    [
        (Finished(reason="completed", seconds=61, epoch=2, step=9,
                  metrics={"test_sparse_categorical_accuracy": 0.9}),
         "has finished", "after 9 of 400 steps · took 1 min 01 s · test accuracy 0.9"),
        (Finished(reason="stopped_now", seconds=1, epoch=0, step=3),
         "was stopped", "after 3 of 400 steps · took 1.0 s"),
        (Failed(message="GPU:2 ran out of memory.", suggestions=[], traceback=""),
         "has failed", "GPU:2 ran out"),
        (None, "was lost", "gone without a last word"),
    ],
)  # fmt: skip
def test_that_every_end_has_its_words(runs, end, title, text) -> None:
    run = make_run(runs, Script(name="wide", epochs=2, trained=1))
    if end is not None:
        append_line(run.events_file, encode(end))
    said = in_words(run)
    assert said[0].endswith(title)
    assert text in said[1]
    assert not said[1].startswith("1 h")
    assert in_words(run, time.time() + 3600)[1] == f"1 h 00 min ago · {said[1]}"


def test_that_of_many_ends_the_newest_are_named_and_the_others_counted(runs) -> None:
    made = [
        make_run(runs, Script(name=name, epochs=2, trained=2, ending="completed"))
        for name in "abcde"
    ]
    assert all_in_words(made) == (
        "5 runs have ended", "a has finished · b has finished · c has finished · and 2 more",
    )  # fmt: skip
    assert all_in_words(made[:1]) == in_words(made[0])


def test_that_a_study_is_told_of_once_and_not_each_of_its_runs(
    open_window, runs, tmp_path, qtbot, at_once, monkeypatch
) -> None:
    window, told = listening(open_window, qtbot)
    (run,) = write_runs(runs, made_study(tmp_path), most=1)
    window.services.live_watch.ended.emit(run)
    assert run.reported_file.exists()
    all_have_told(qtbot)
    assert told.shown == []
    monkeypatch.setattr(window, "isActiveWindow", lambda: False)
    window.run_ends.tell_of_study("Study digits", "Two devices.")
    assert told.shown == [("Study digits", "Two devices.", live_runs.SEVERAL)]
