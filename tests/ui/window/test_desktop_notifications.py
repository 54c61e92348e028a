"""The desktop is notified of ended runs: by a real D-Bus daemon, and by the window."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon

from gpu_studio.ui.window.notifier import ADDRESS, Notifier

SERVICE = Path(__file__).parents[2] / "support" / "notification_service.py"


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A session bus of this test's own."""
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("there is no dbus-daemon here")
    command = [daemon, "--session", "--nofork", "--print-address=1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
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


def test_that_the_service_gets_the_call_that_the_specification_asks_for(
    desktop: Desktop, notifier, qtbot
) -> None:
    with qtbot.waitSignal(notifier.taken) as taken:
        notifier.show("digits has finished", "after 3 s · <b>", "run-1")
    assert taken.args == ["run-1"]
    told = desktop.line()
    assert (told["member"], told["signature"]) == ("Notify", "susssasa{sv}i")
    assert told["values"][:6] == [
        "GPU Studio", 0, "gpu-studio", "digits has finished", "after 3 s · &lt;b&gt;",
        ["default", "Show"],
    ]  # fmt: skip
    with qtbot.waitSignal(notifier.activated) as clicked:
        desktop.click(41)
    assert clicked.args == ["run-1"]


class Tray:
    """What the tray would have shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, there: bool = True) -> None:
        self.shown: list[tuple[str, str]] = []
        monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: there))
        monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", staticmethod(lambda: there))
        monkeypatch.setattr(
            QSystemTrayIcon, "showMessage", lambda _, *words: self.shown.append(words[:2])
        )


def test_that_what_the_service_refuses_is_shown_in_the_tray(
    desktop, notifier, qtbot, monkeypatch
) -> None:
    tray = Tray(monkeypatch)
    notifier.show("refuse", "text", "run-1")
    qtbot.waitUntil(lambda: tray.shown == [("refuse", "text")])
    with qtbot.waitSignal(notifier.activated) as clicked:
        notifier._tray.messageClicked.emit()
    assert clicked.args == ["run-1"]


def test_that_a_bus_without_a_service_leaves_the_tray(bus, notifier, qtbot, monkeypatch) -> None:
    tray = Tray(monkeypatch)
    notifier.show("title", "text", "run-1")
    qtbot.waitUntil(lambda: tray.shown == [("title", "text")])


@pytest.mark.parametrize("address", ["", "unix:path=/nowhere/bus", "tcp:host=nowhere"])
@pytest.mark.parametrize("there", [True, False])
def test_that_without_a_bus_the_tray_is_used_and_without_both_nothing_happens(
    notifier, qtbot, monkeypatch, address, there
) -> None:
    tray = Tray(monkeypatch, there=there)
    monkeypatch.setenv(ADDRESS, address)
    said: list[str] = []
    (notifier.taken if there else notifier.missed).connect(said.append)
    notifier.show("title", "text", "run-1")
    notifier.show("again", "text", "run-2")
    assert tray.shown == [("title", "text"), ("again", "text")] * there
    assert said == ["run-1", "run-2"]
