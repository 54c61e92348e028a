"""Ctrl+C while the driver is asked, just where Python would lose it, or a process."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest
from patience import PATIENCE_S

from gpu_studio.hardware import asking
from gpu_studio.hardware.asking import NoAnswerError, answer_of

HANGS = (sys.executable, "-c", "import signal; signal.pause()")
"""A process that does nothing until it is killed."""


class PressesCtrlCAtItsEnd:
    """What Python raises in a finalizer goes no further than stderr."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def started(monkeypatch):
    """Ctrl+C is pressed once the process is there, in a finalizer unless `plainly`."""

    class Interrupted(subprocess.Popen):
        plainly = False

        def __init__(self, *arguments, **options) -> None:
            super().__init__(*arguments, **options)
            made.append(self)
            if self.plainly:
                signal.raise_signal(signal.SIGINT)
            else:
                PressesCtrlCAtItsEnd()

    made: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(asking.subprocess, "Popen", Interrupted)
    return made


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("plainly", [False, True])
def test_that_ctrl_c_as_the_process_is_started_is_not_lost_and_leaves_none(
    started, monkeypatch, plainly
) -> None:
    monkeypatch.setattr(asking.subprocess.Popen, "plainly", plainly)
    with pytest.raises(KeyboardInterrupt):
        answer_of(HANGS, PATIENCE_S)
    assert [process.poll() for process in started] == [-signal.SIGKILL]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_that_ctrl_c_that_ends_the_process_itself_is_no_failure_of_the_driver(monkeypatch) -> None:
    code = (
        "import os, signal; os.kill(os.getppid(), signal.SIGINT); "
        "os.kill(os.getpid(), signal.SIGINT)"
    )
    with pytest.raises(KeyboardInterrupt):
        answer_of((sys.executable, "-c", code), PATIENCE_S)


def test_that_in_another_thread_the_driver_is_waited_for_as_ever() -> None:
    said: list[str] = []

    def ask() -> None:
        try:
            answer_of(HANGS, 0.25)
        except NoAnswerError as error:
            said.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == ["the NVIDIA driver did not answer within 0.25 s"]
