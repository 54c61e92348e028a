"""The desktop is told of ends of runs: by a real D-Bus daemon, and by the window."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import QTimer
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon
from real_runs import PATIENCE_S, fake_trainer

from gpu_studio.runs import catalogue, lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.end_told import claim_telling
from gpu_studio.runs.events import Failed, Finished, encode
from gpu_studio.runs.files import append_line
from gpu_studio.ui.control import run_ends
from gpu_studio.ui.control.run_ends import in_words
from gpu_studio.ui.desktop.notifier import Notifier
from gpu_studio.ui.desktop.session_bus import ADDRESS
from gpu_studio.ui.main_window import MainWindow
from gpu_studio.ui.models.runs import ends_watch
from gpu_studio.ui.models.runs.ends_watch import EndsWatch

LONG_MS = 20_000
SERVICE = Path(__file__).parents[1] / "support" / "notification_service.py"


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A session bus of this test's own."""
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("there is no dbus-daemon here")
    command = [daemon, "--session", "--nofork", "--print-address=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        monkeypatch.setenv(ADDRESS, address)
        yield address
        process.terminate()  # killed, it would leave its socket behind


class Desktop:
    """The notification service, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert self.line() == {"ready": True}

    def line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def click(self, number: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"click {number}\n")
        self.process.stdin.flush()


@pytest.fixture
def desktop(bus: str) -> Iterator[Desktop]:
    with subprocess.Popen(
        [sys.executable, str(SERVICE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Desktop(process)
        process.stdin.close()
        process.wait(PATIENCE_S)


@pytest.fixture
def notifier(qapp) -> Iterator[Notifier]:
    made = Notifier(QIcon())
    yield made
    made.close()


def test_that_the_service_gets_the_call_that_the_specification_asks_for(desktop: Desktop, notifier, qtbot) -> None:
    notifier.show("digits has finished", "after 3 s · <b>", "run-1")
    qtbot.waitUntil(lambda: bool(notifier._shown), timeout=LONG_MS)
    told = desktop.line()
    assert (told["member"], told["signature"]) == ("Notify", "susssasa{sv}i")
    assert told["values"][:6] == [
        "GPU Studio", 0, "gpu-studio", "digits has finished", "after 3 s · &lt;b&gt;", ["default", "Show"],
    ]  # fmt: skip
    with qtbot.waitSignal(notifier.activated, timeout=LONG_MS) as clicked:
        desktop.click(41)
    assert clicked.args == ["run-1"]


class Tray:
    """What the tray would have shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, there: bool = True) -> None:
        self.shown: list[tuple[str, str]] = []
        monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: there))
        monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", staticmethod(lambda: there))
        monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _, *words: self.shown.append(words[:2]))


def test_that_what_the_service_refuses_is_shown_in_the_tray(desktop, notifier, qtbot, monkeypatch) -> None:
    tray = Tray(monkeypatch)
    notifier.show("refuse", "text", "run-1")
    qtbot.waitUntil(lambda: tray.shown == [("refuse", "text")], timeout=LONG_MS)
    with qtbot.waitSignal(notifier.activated) as clicked:
        notifier._tray.messageClicked.emit()
    assert clicked.args == ["run-1"]


def test_that_a_bus_without_a_service_leaves_the_tray(bus, notifier, qtbot, monkeypatch) -> None:
    tray = Tray(monkeypatch)
    notifier.show("title", "text", "run-1")
    qtbot.waitUntil(lambda: tray.shown == [("title", "text")], timeout=LONG_MS)


@pytest.mark.parametrize("address", ["", "unix:path=/nowhere/bus", "tcp:host=nowhere"])
@pytest.mark.parametrize("there", [True, False])
def test_that_without_a_bus_the_tray_is_used_and_without_both_nothing_happens(
    notifier, qtbot, monkeypatch, address, there
) -> None:
    tray = Tray(monkeypatch, there=there)
    monkeypatch.setenv(ADDRESS, address)
    notifier.show("title", "text", "run-1")
    notifier.show("again", "text", "run-1")
    assert tray.shown == [("title", "text"), ("again", "text")] * there


def test_that_the_end_of_every_live_run_is_told_once(runs, qtbot) -> None:
    first = make_run(runs, Script(epochs=2, trained=1))
    make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    held = lock.take(first.lock_file)
    watch, ends = EndsWatch(runs), []
    watch.ended.connect(lambda run: ends.append(run))
    watch.look()
    later = make_run(runs, Script(name="later", epochs=2, trained=1))
    held_later = lock.take(later.lock_file)
    later.path.rename(runs / "renamed")  # the folder changes, which is how a new run is seen
    qtbot.waitUntil(lambda: "renamed" in watch._live, timeout=LONG_MS)
    held.release()
    qtbot.waitUntil(lambda: [run.id for run in ends] == [first.id], timeout=LONG_MS)
    held_later.release()
    qtbot.waitUntil(lambda: len(ends) == 2, timeout=LONG_MS)
    assert not watch._timer.isActive()
    watch.close()


class Told:
    """A notifier that only remembers."""

    def __init__(self, window: MainWindow) -> None:
        self.shown: list[tuple[str, str, str]] = []
        self.window = window

    def show(self, title: str, text: str, key: str) -> None:
        self.shown.append((title, text, key))

    def close(self) -> None:
        pass


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have windows look often, and not wait for each other."""
    monkeypatch.setattr(run_ends, "GRACE_MS", 0)
    monkeypatch.setattr(ends_watch, "LOOK_MS", 50)


def all_have_told(qtbot) -> None:
    """Let happen what the windows have put off: it comes in the order in which it was."""
    with qtbot.waitCallback() as done:
        QTimer.singleShot(run_ends.GRACE_MS, done)


def listening(open_window) -> tuple[MainWindow, Told]:
    """A window that tells the desktop, and what it has told."""
    window = open_window()
    window.run_ends.set_notifies(True)
    window.run_ends._notifier = told = Told(window)
    return window, told


def test_that_of_two_windows_one_tells_of_each_end_and_the_other_where_the_one_is_gone(
    open_window, runs, qtbot, at_once
) -> None:
    both, locks = [listening(open_window) for _ in range(2)], []
    made = [make_run(runs, Script(name=name, epochs=2, trained=1)) for name in ("first", "second")]
    for run in made:
        locks.append(lock.take(run.lock_file))
        for window, _ in both:
            window.run_ends.watch.add(run)
    locks[0].release()
    qtbot.waitUntil(lambda: all(len(window.run_ends.watch._live) == 1 for window, _ in both), timeout=LONG_MS)
    all_have_told(qtbot)
    assert [key for _, told in both for *_, key in told.shown] == [made[0].id]
    both[0][0].run_ends.close()
    before = len(both[0][1].shown)
    locks[1].release()
    qtbot.waitUntil(lambda: made[1].id in [key for *_, key in both[1][1].shown], timeout=LONG_MS)
    assert len(both[0][1].shown) == before


def test_that_nobody_tells_of_a_run_that_is_looked_at_in_another_window(open_window, runs, qtbot, at_once) -> None:
    other, told = listening(open_window)
    looked_at, own = listening(open_window)
    run = make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    looked_at.show_run(run)
    qtbot.waitUntil(looked_at.isActiveWindow)
    other.run_ends.watch.ended.emit(run)
    looked_at.run_ends.watch.ended.emit(run)
    assert run.told_file.exists()
    all_have_told(qtbot)
    assert (told.shown, own.shown) == ([], [])


def test_that_whoever_claims_an_end_first_tells_it_and_where_nothing_can_be_written_everybody(runs) -> None:
    run = make_run(runs, Script(epochs=2, trained=2, ending="completed"))
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: claim_telling(run), range(8)))
    assert sorted(claimed) == [False] * 7 + [True]
    assert run.told_file.stat().st_mode & 0o777 == 0o600
    gone = RunDirectory(runs / "gone")
    assert (claim_telling(gone), claim_telling(gone)) == (True, True)


def test_that_the_desktop_is_told_of_a_run_that_the_window_does_not_show(open_window, runs, qtbot) -> None:
    window = open_window(trainer=fake_trainer())
    window.run_ends._notifier = told = Told(window)
    window.run_ends.set_notifies(True)
    window.actions_["train"].trigger()
    window.show_page("plan")
    qtbot.waitUntil(lambda: bool(told.shown), timeout=LONG_MS)
    (run,) = catalogue.directories(runs)
    assert told.shown[0][0] == "digits on four logical CPUs has finished"
    assert told.shown[0][2] == run.id
    window.run_ends._show(run.id)
    assert (window.page, window.shown_run.run) == ("train", run)


def test_that_a_run_that_is_looked_at_and_a_switch_that_is_off_are_silent(open_window, runs, qtbot, at_once) -> None:
    window = open_window()
    window.run_ends._notifier = told = Told(window)
    run, *others = (make_run(runs, Script(name=name, epochs=2, trained=2, ending="completed")) for name in "abc")
    window.show_run(run)
    qtbot.waitUntil(window.isActiveWindow)
    window.actions_["notify"].trigger()
    assert window.run_ends.notifies
    assert window.actions_["notify"].isChecked()
    window.run_ends.watch.ended.emit(run)
    assert run.told_file.exists()
    window.show_page("runs")
    window.run_ends.watch.ended.emit(others[0])
    qtbot.waitUntil(lambda: [key for *_, key in told.shown] == [others[0].id], timeout=LONG_MS)
    window.actions_["notify"].trigger()
    window.run_ends.watch.ended.emit(others[1])
    all_have_told(qtbot)
    assert len(told.shown) == 1


@pytest.mark.parametrize(
    ("end", "title", "text"),
    [
        (Finished(reason="completed", seconds=61, epoch=2, step=9, metrics={"test_sparse_categorical_accuracy": 0.9}),
         "has finished", "after 1 min 01 s · epoch 2 · test accuracy 0.9"),
        (Finished(reason="stopped_now", seconds=1, epoch=0, step=3), "was stopped", "after 1 s · epoch 0"),
        (Failed(message="GPU:2 ran out of memory.", suggestions=[], traceback=""), "has failed", "GPU:2 ran out"),
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
