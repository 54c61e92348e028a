"""Ctrl+C while TensorFlow is asked, just where Python would lose it, or a process."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import fake_asker
import pytest
from patience import PATIENCE_S
from real_runs import eventually

from gpu_studio.runs.questions import ask as asking
from gpu_studio.runs.questions.ask import AskError, ask


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Ask a process that hangs, and, of every process that was started, wait for its end."""
    starts = tmp_path / "starts"
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(starts))
    command = [sys.executable, fake_asker.__file__, "hang"]
    yield lambda timeout=PATIENCE_S, **options: ask(
        "devices", command=command, timeout=timeout, **options
    )
    pids = [int(line) for line in starts.read_text().splitlines()] if starts.exists() else []
    eventually(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the end of every process"
    )


class PressesCtrlCAtItsEnd:
    """What Python raises in a finalizer goes no further than stderr."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_that_ctrl_c_in_a_finalizer_is_not_lost(asked) -> None:
    def told(_text: str) -> None:
        PressesCtrlCAtItsEnd()

    with pytest.raises(KeyboardInterrupt):
        asked(progress=told)


def test_that_ctrl_c_while_the_process_is_started_leaves_none(asked, monkeypatch) -> None:
    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options) -> None:
            super().__init__(*arguments, **options)
            made.append(self)
            signal.raise_signal(signal.SIGINT)

    made: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(asking.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        asked()
    assert [process.poll() for process in made] == [-signal.SIGKILL]


def test_that_ctrl_c_again_while_the_process_is_ended_leaves_none(asked, monkeypatch) -> None:
    end = asking._end

    def ends(process: subprocess.Popen[bytes]) -> None:
        signal.raise_signal(signal.SIGINT)
        end(process)
        ended.append(process.poll())

    ended: list[int | None] = []
    monkeypatch.setattr(asking, "_end", ends)
    with pytest.raises(KeyboardInterrupt):
        asked(progress=lambda _text: signal.raise_signal(signal.SIGINT))
    assert ended == [-signal.SIGKILL]


def test_that_whoever_has_ctrl_c_ignored_or_asks_in_another_thread_is_not_broken_off(asked) -> None:
    answers: list[str] = []

    def ask_there() -> None:
        try:
            asked(timeout=0.3)
        except AskError as error:
            answers.append(str(error))

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ask_there()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    thread = threading.Thread(target=ask_there)
    thread.start()
    thread.join()
    assert answers == ["TensorFlow said nothing for 0.3 s"] * 2
